"""The excitation of the controller node: the loop's response from the commands that it sends."""

import numpy as np
import pytest

from rbdyn_ros.control import step_linearization
from rbdyn_ros.control.laws import lqr
from rbdyn_ros.control.linear_controller import constant
from rbdyn_ros.identification import excitation
from rbdyn_ros.identification.frequency import excited_record, frequency_response
from rbdyn_ros.integrators.select import select
from rbdyn_ros.parameters import plant_params, tables
from rbdyn_ros.pendulum import spherical_pendulum as model
from rbdyn_ros.plant import closed_loop
from rbdyn_ros.ros.controller.controller_supervisor import ControllerSupervisor

H, BAND = 0.002, (0.5, 20.0)


def values(**given):
    defaults = {p.name: p.default for p in tables.NODES["pendulum_controller"]}
    excited = {f"excitation.{name}": value for name, value in given.items()}
    return defaults | {"excitation.low": BAND[0], "excitation.high": BAND[1]} | excited


class Node:
    """What the node does with a state: its answer is the command."""

    def __init__(self, given):
        self.law, self.t, self.sent = ControllerSupervisor(given), [], []

    def command(self, t, state, reference):
        force = self.law.answer(state._replace(t=t), tuple(reference)).force
        self.t.append(t)
        self.sent.append(force)
        return np.array(force)

    def reset(self):
        self.law.reset()
        self.t, self.sent = [], []


@pytest.mark.parametrize("axis", ("x", "y"))
def test_the_response_from_the_commands_is_that_of_the_theory(axis):
    given = values(amplitude=0.3, axis=axis, seed=4)
    node, params = Node(given), plant_params(given)
    run = closed_loop.run(
        params, select("moser_veselov"), node, model.upright(), 12.0, H, closed_loop.Conditions()
    )
    assert run.ok
    sine = excitation.build(*BAND, H, 0.3, 4)
    t, repeated = np.array(node.t[3000:]), np.array([40, 2000])  # a state that came twice
    t = np.insert(t, repeated, t[repeated - 1])
    force = np.insert(np.array(node.sent)[3000:], repeated, 7.0, axis=0)
    series = excited_record.of_commands(sine, H, axis, t, force, np.full((len(t), 4), np.nan))
    measured = excited_record.measure(sine, H, [series], settling=0)
    assert measured.response.axes == axis and measured.missing == 0
    found = measured.response.loop[:, 0, 0]
    system = model.build(params)
    K = constant(lqr.design(model, params, lqr.Options()).gains)
    A, B = step_linearization.upright(system, H)
    expected = frequency_response.predict(A, B, K, H, sine.frequencies)
    assert np.abs(found / expected - 1.0).max() < 0.01
    assert np.abs(np.array(node.sent)[:, 1 - "xy".index(axis)]).max() < 1e-6


def test_without_an_amplitude_nothing_is_added_and_the_limit_holds():
    state = model.upright(0.02)
    plain = ControllerSupervisor(values()).answer(state, (0.0, 0.0)).force
    law = lqr.design(model, plant_params(values()), lqr.Options())
    assert plain == pytest.approx(tuple(law.command(0.0, state, np.zeros(2))))
    strong = ControllerSupervisor(values(amplitude=1000.0)).answer(state, (0.0, 0.0)).force
    assert np.hypot(*strong) == pytest.approx(20.0)


def test_a_band_beyond_the_rate_is_refused():
    with pytest.raises(ValueError, match="excitation.low, high or period: the band is 0.5 to 300"):
        ControllerSupervisor(values(amplitude=1.0, high=300.0))


def series_of(t):
    """The series of a law that gives no force of its own: L = 0."""
    sine = excitation.build(*BAND, H, 1.0)
    place = np.rint(t / H).astype(int)
    force = np.zeros((len(t), 2))
    force[:, 0] = sine.sample(H)[place % 1000]
    return sine, excited_record.of_commands(sine, H, "x", t, force, np.zeros((len(t), 4)))


def test_less_than_a_period_is_refused():
    sine, series = series_of(H * np.arange(1800))
    with pytest.raises(ValueError, match=r"3.6 s under the excitation are too short: it needs 1"):
        excited_record.measure(sine, H, [series])


def test_commands_that_are_missing_are_counted_and_many_are_refused():
    t = H * np.arange(3000)
    sine, series = series_of(np.delete(t, np.arange(1500, 2900, 40)))
    found = excited_record.measure(sine, H, [series])
    assert found.missing == 35
    assert np.abs(found.response.loop).max() < 0.03
    sine, series = series_of(np.delete(t, np.arange(1500, 2900, 2)))
    with pytest.raises(ValueError, match="700 of 2000 commands are missing, every 0.002 s one"):
        excited_record.measure(sine, H, [series])
