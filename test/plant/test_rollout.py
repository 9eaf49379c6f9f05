"""The rollout without a law: rows at the right times, what a failure says, an early end."""

import re

import numpy as np
import pytest
from measure import advanced
from plants import FORCED, PENDULUM, spinning

from rbdyn_ros.integrators.select import select
from rbdyn_ros.pendulum.rod_on_cart import quantities
from rbdyn_ros.pendulum.spherical_pendulum import no_input
from rbdyn_ros.plant.rollout import run

NAMES = ["rk4", "moser_veselov", "quaternion_midpoint"]


@pytest.mark.parametrize("name", NAMES)
def test_rows_are_the_states_at_their_times(name):
    integrator, state = select(name), spinning()._replace(t=3.0)
    record = run(integrator, PENDULUM, state, FORCED, 0.01, 4, 5)
    assert record.ok and record.message == ""
    assert record.t == pytest.approx([3.0, 3.05, 3.1, 3.15, 3.2])
    assert (record.q[0] == state.q).all() and (record.v[0] == state.v).all()
    q, v, reaction = advanced(integrator, PENDULUM, state, FORCED, 0.01, 20)
    assert record.q[-1] == pytest.approx(q, abs=1e-13) and record.v[-1] == pytest.approx(
        v, abs=1e-10
    )
    assert record.reaction[-1] == pytest.approx(reaction, abs=1e-9)
    assert record.quantities[2] == pytest.approx(quantities(PENDULUM, record.q[2], record.v[2]))


def test_iterations_are_counted_from_row_to_row():
    record = run(select("moser_veselov"), PENDULUM, spinning(), no_input(), 0.01, 3, 10)
    assert record.iterations[0] == 0 and (record.iterations[1:] >= 10).all()
    assert (record.residual[1:] <= 1e-13).all()


def test_many_rows_or_few_make_the_same_motion_up_to_round_off():
    few, many = (
        run(
            select("moser_veselov", tolerance=1e-15),
            PENDULUM,
            spinning(),
            FORCED,
            1e-3,
            n,
            1000 // n,
        )
        for n in (10, 1000)
    )
    assert few.q[-1] == pytest.approx(many.q[-1], abs=1e-11)


def test_no_rows_is_the_start_alone():
    record = run(select("rk4"), PENDULUM, spinning(), no_input(), 0.01, 0, 10)
    assert record.ok and len(record.t) == 1


def test_start_is_not_changed():
    state, before = spinning(), spinning()
    run(select("rk4"), PENDULUM, state, no_input(), 0.01, 2, 2)
    assert (state.q == before.q).all() and (state.v == before.v).all()


@pytest.mark.parametrize("name", ["moser_veselov", "quaternion_midpoint"])
def test_failure_says_when_and_what_to_do_and_keeps_the_rows_so_far(name):
    record = run(select(name), PENDULUM, spinning(), no_input(), 0.15, 1000, 1)
    assert not record.ok
    n = len(record.t) - 1
    assert 0 < n < 1000 and np.isfinite(record.q).all()
    sentence = (
        f"{name} did not converge at t = {n * 0.15:.9g} "
        "s: residual .* with a step of 0.15 s; "
        "take a smaller integrator.step"
    )
    assert pytest.approx(record.t[-1]) == n * 0.15
    assert re.match(sentence, record.message), record.message


def test_failure_between_two_rows_tells_its_own_time():
    integrator, state, h = select("moser_veselov"), spinning(), 0.15
    options = integrator.options(PENDULUM)
    steps, *_ = integrator.advance(PENDULUM, options, no_input(), h, 1000, state, np.zeros(3))
    assert 0 < steps < 1000
    record = run(integrator, PENDULUM, spinning(), no_input(), h, 10, steps + 1)
    assert len(record.t) == 1
    assert f"at t = {steps * h:.9g} s" in record.message


def test_interruption_keeps_the_rows_so_far():
    record = run(
        *(select("rk4"), PENDULUM, spinning(), no_input(), 0.01, 100, 1),
        stop=lambda t, q, v: "enough" if t > 0.065 else "",
    )
    assert not record.ok and len(record.t) == 8
    assert record.message == "enough"
