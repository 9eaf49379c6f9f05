"""The offline loop of law and plant: what acts, what the law sees, and what ends it."""

import math
import sys
import threading
import time

import numpy as np
import pytest

from rbdyn_ros.control.laws import lqr
from rbdyn_ros.integrators.select import select
from rbdyn_ros.integrators.step import step
from rbdyn_ros.pendulum import spherical_pendulum
from rbdyn_ros.plant.closed_loop import Conditions, Push, run
from rbdyn_ros.plant.faults.fault_options import Bias, Faults, Mismatch, SensorNoise
from rbdyn_ros.types import State

PLANT = spherical_pendulum.Params(cart_damping=0.5, joint_damping=0.005)
START = spherical_pendulum.upright(0.1, 0.7)
PERIOD = 0.002


class Law:
    """A law that is one function of t and the state."""

    def __init__(self, force):
        self.force = force

    def command(self, t, state, reference):
        return self.force(t, state)


def looped(law, duration=0.02, start=START, plant=PLANT, integrator="rk4", **conditions):
    return run(plant, select(integrator), law, start, duration, PERIOD, Conditions(**conditions))


def balanced(duration=6.0, **conditions):
    return looped(lqr.design(spherical_pendulum, PLANT, lqr.Options()), duration, **conditions)


@pytest.mark.parametrize("integrator", ("rk4", "moser_veselov"))
def test_each_row_is_two_steps_under_a_held_force(integrator):
    seen = looped(
        Law(lambda t, state: (5.0 * math.cos(9.0 * t), state.v[0])), integrator=integrator
    )
    state, system, input = START, spherical_pendulum.build(PLANT), spherical_pendulum.no_input()
    for t, q, v, force in zip(seen.t, seen.q, seen.v, seen.force):
        np.testing.assert_allclose(q, state.q, atol=1e-13)
        np.testing.assert_allclose(v, state.v, atol=1e-13)
        np.testing.assert_array_equal(force, (5.0 * math.cos(9.0 * t), v[0]))
        for _ in range(2):
            state = step(
                select(integrator), system, state, input._replace(force=force), 0.001
            ).state
    assert len(seen.t) == len(seen.force) + 1 == 11


def test_the_norm_of_the_force_is_cut():
    seen = looped(Law(lambda t, state: (30.0, -40.0)), force_limit=20.0)
    np.testing.assert_allclose(seen.force, np.tile((12.0, -16.0), (10, 1)))


def test_the_run_ends_where_the_travel_ends():
    seen = looped(Law(lambda t, state: (20.0, 0.0)), 5.0, travel=0.5)
    assert seen.ended == f"the cart left its travel of 0.5 m at t = {seen.t[-1]:.3f} s"
    assert np.hypot(*seen.q[-2, :2]) <= 0.5 < np.hypot(*seen.q[-1, :2])


def test_a_word_ends_the_run():
    assert balanced(stop=lambda t, q, v: "enough" if t > 0.1 else "").t[-1] == pytest.approx(0.102)


def test_faults_stand_on_both_ways():
    seen = balanced(0.1, faults=Faults(command_delay=0.006, bias=Bias(cart=(0.01, 0.0))))
    assert not seen.force[:3].any() and seen.force[3:].any(axis=1).all()
    np.testing.assert_allclose(seen.seen[:, 0], seen.q[:-1, 0] + 0.01)


def test_the_same_seed_gives_the_same_run():
    noisy = Faults(command_drop=0.3, noise=SensorNoise(angle=0.002))
    first, again, other = (balanced(0.5, faults=noisy, seed=seed) for seed in (3, 3, 4))
    np.testing.assert_array_equal(first.q, again.q)
    assert not np.array_equal(first.q, other.q)


def test_the_true_plant_differs_from_the_declared_one_by_the_mismatch():
    heavier = balanced(0.2, faults=Faults(mismatch=Mismatch(cart_mass=0.5)))
    law = lqr.design(spherical_pendulum, PLANT, lqr.Options())
    np.testing.assert_array_equal(
        heavier.q, looped(law, 0.2, plant=PLANT._replace(cart_mass=3.0)).q
    )


def test_an_observer_stands_before_the_law():
    def observer(measured, truth, known, acting, sensors):
        assert sensors is None
        return State(truth.t, truth.q + 0.01 * np.eye(6)[1], truth.v)

    seen = balanced(0.1, observer=lambda: observer)
    np.testing.assert_allclose(seen.seen[:, 1], seen.q[:-1, 1] + 0.01)


def test_a_law_cannot_move_the_plant_by_writing_into_its_state():
    def vandal(t, state):
        state.q[:], state.v[:] = 7.0, 7.0
        return (0.0, 0.0)

    np.testing.assert_array_equal(
        looped(Law(vandal)).q, looped(Law(lambda t, state: (0.0, 0.0))).q
    )


def test_a_law_cannot_move_the_set_point_by_writing_into_it():
    seen = []

    class Vandal:
        def command(self, t, state, reference):
            seen.append(reference.copy())
            reference -= 1.0
            return (0.0, 0.0)

    looped(Vandal(), reference=(0.5, 0.0))
    assert len(seen) > 1 and np.all(np.array(seen) == (0.5, 0.0))


def horizontal_momentum(pushes, period=PERIOD):
    """Return the momentum along x (n + 1,) of an undamped plant with a free cart, upright at rest
    at first.
    """
    free = PLANT._replace(cart_damping=0.0, joint_damping=0.0)
    law, start = Law(lambda t, state: (0.0, 0.0)), spherical_pendulum.upright()
    duration = 30 * period
    found = run(free, select("rk4"), law, start, duration, period, Conditions(pushes=pushes))
    system = spherical_pendulum.build(free)
    return [
        spherical_pendulum.quantities(system, q.copy(), v.copy())[2]
        for q, v in zip(found.q, found.v)
    ]


def push_along_x(time, lasting, impulse, point=2.4):
    return Push(time, lasting, (impulse / lasting, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, point))


def test_a_push_gives_its_impulse():
    momentum = horizontal_momentum((push_along_x(0.02, 0.01, 0.3),))
    np.testing.assert_allclose(momentum[:11], 0.0, atol=1e-12)
    np.testing.assert_allclose(momentum[15:], 0.3, rtol=1e-9)


@pytest.mark.parametrize("period", (0.004, 0.008, 0.02))
@pytest.mark.parametrize("time", (0.0, 0.013, 0.02))
@pytest.mark.parametrize("lasting", (0.001, 0.01, 0.05))
def test_a_push_gives_its_impulse_in_any_period(period, time, lasting):
    momentum = horizontal_momentum((push_along_x(time, lasting, 0.3),), period)
    np.testing.assert_allclose(momentum[0], 0.0, atol=1e-12)
    np.testing.assert_allclose(momentum[-1], 0.3, rtol=1e-9)


def test_two_pushes_at_once_are_one_of_twice_the_force():
    both = (push_along_x(0.02, 0.01, 0.2), push_along_x(0.02, 0.01, 0.1))
    ends = [
        looped(Law(lambda t, state: (0.0, 0.0)), 0.06, pushes=pushes)
        for pushes in (both, (push_along_x(0.02, 0.01, 0.3),))
    ]
    np.testing.assert_allclose(ends[0].v, ends[1].v, atol=1e-12)
    with pytest.raises(ValueError, match="different points of the rod; they must act at one"):
        looped(Law(lambda t, state: (0.0, 0.0)), pushes=(*both, push_along_x(0.0, 0.01, 0.2, 1.2)))


def test_a_set_point_that_moves():
    seen = balanced(reference=lambda t: np.array((0.3, 0.0)) if t > 1.0 else np.zeros(2))
    assert abs(seen.q[-1, 0] - 0.3) < 0.01


def _raises(t, state):
    raise RuntimeError("no idea")


def _leaves(t, state):
    sys.exit(3)


@pytest.mark.parametrize(
    "force, sentence",
    [
        (
            _raises,
            (
                "mine raised RuntimeError at t = 0.000 s: no idea "
                f"({__file__}:{_raises.__code__.co_firstlineno + 1})"
            ),
        ),
        (
            lambda t, state: (math.nan, 0.0),
            "mine returned (nan, 0.0) at t = 0.000 s; it must return two finite forces [N]",
        ),
        (
            _leaves,
            (
                "mine raised SystemExit at t = 0.000 s: 3 "
                f"({__file__}:{_leaves.__code__.co_firstlineno + 1})"
            ),
        ),
        (
            lambda t, state: np.zeros(2, complex),
            (
                "mine returned array([0.+0.j, 0.+0.j]) at t = 0.000 s; it must return two finite "
                "forces [N]"
            ),
        ),
        (
            lambda t, state: np.zeros(3),
            (
                "mine returned array([0., 0., 0.]) at t = 0.000 s; it must return two finite "
                "forces [N]"
            ),
        ),
        (
            lambda t, state: np.zeros((2, 1)),
            (
                "mine returned array([[0.], [0.]]) at t = 0.000 s; it must return two finite "
                "forces [N]"
            ),
        ),
        (
            lambda t, state: None,
            "mine returned None at t = 0.000 s; it must return two finite forces [N]",
        ),
        (
            lambda t, state: "left",
            "mine returned 'left' at t = 0.000 s; it must return two finite forces [N]",
        ),
        (
            lambda t, state: ["1", "2"],
            "mine returned ['1', '2'] at t = 0.000 s; it must return two finite forces [N]",
        ),
    ],
    ids=("raises", "nan", "exit", "complex", "shape", "column", "none", "word", "words"),
)
def test_a_law_that_misbehaves_is_named(force, sentence):
    seen = looped(Law(force), name="mine")
    assert seen.fault == sentence and len(seen.t) == 1


def refusing(refuses):
    """A law of 1 N that refuses the states at the instants of which `refuses(t)` holds."""

    def force(t, state):
        if refuses(t):
            raise ValueError("out of reach")
        return (1.0, 0.0)

    return Law(force)


def test_the_force_is_zero_after_a_state_that_the_law_refuses():
    """As in the controller node, which goes on with the next state."""
    seen = looped(refusing(lambda t: 0.0045 < t < 0.0105), name="mine")
    assert seen.ok and seen.refused == 3
    np.testing.assert_array_equal(seen.force[:, 0], [1, 1, 1, 0, 0, 0, 1, 1, 1, 1])


def test_a_law_that_refuses_states_for_long_or_at_the_end_has_failed():
    sentence = "state refused: mine raised ValueError at t = {:.3f} s: out of reach ("
    always = looped(refusing(lambda t: True), name="mine")
    assert always.fault.startswith(sentence.format(0.0)) and len(always.force) == 10
    late = looped(refusing(lambda t: t > 0.5), 10.0, name="mine")
    assert "out of reach" in late.fault and 2.5 < late.t[-1] < 2.6
    most = looped(refusing(lambda t: t > 0.1 and round(t / PERIOD) % 3 > 0), 1.0, name="mine")
    assert "out of reach" in most.fault and most.refused > 290
    some = looped(refusing(lambda t: round(t / PERIOD) % 3 == 1), 1.0)
    assert some.ok and some.refused > 160
    again = looped(refusing(lambda t: 0.1 < t < 1.0), 2.0)
    assert again.ok and again.refused > 440


def test_what_was_computed_before_a_law_broke_is_kept():
    seen = looped(Law(lambda t, state: (1.0, 0.0) if t < 0.0115 else None))
    assert "at t = 0.012 s" in seen.fault and len(seen.force) == 6


def test_a_law_that_does_not_return_is_ended():
    def forever(t, state):
        while t > 0.005:
            pass
        return (0.0, 0.0)

    seen = looped(Law(forever), call_timeout=0.05, name="mine")
    assert seen.fault == "mine took longer than 0.05 s for the state at t = 0.006 s"


def test_only_the_laws_own_time_counts():
    """An observer, or a stepper that is compiled, may take longer."""

    def slow(shown, truth, known, acting, sensors):
        time.sleep(0.15)
        return shown

    seen = looped(
        Law(lambda t, state: (0.0, 0.0)), duration=0.004, observer=lambda: slow, call_timeout=0.05
    )
    assert seen.fault == "" and len(seen.force) == 2


def test_outside_the_main_thread_it_runs_without_an_alarm():
    seen = []
    thread = threading.Thread(target=lambda: seen.append(balanced(0.02)))
    thread.start()
    thread.join()
    assert not seen[0].fault and len(seen[0].t) == 11


def test_a_step_that_does_not_converge_is_said():
    whirling = State(0.0, START.q, np.array((0.0, 0.0, 3000.0, 0.0, 0.0)))
    seen = looped(
        Law(lambda t, state: (0.0, 0.0)), start=whirling, integrator="quaternion_midpoint"
    )
    assert "quaternion_midpoint did not converge at t = 0" in seen.fault


def test_a_period_that_is_no_multiple_of_the_step():
    with pytest.raises(
        ValueError,
        match="the control period is 0.0025 s; it must be a multiple of the step, 0.001 s",
    ):
        run(PLANT, select("rk4"), None, START, 1.0, 0.0025)
