"""A step that does not converge is reported, and the last good state is kept to the last bit."""

import numpy as np
import pytest
from measure import advanced
from plants import FORCED, PENDULUM, spinning

from rbdyn_ros.integrators.select import names, select
from rbdyn_ros.integrators.step import step
from rbdyn_ros.pendulum.spherical_pendulum import no_input
from rbdyn_ros.types import State

VARIATIONAL = ["moser_veselov", "quaternion_midpoint"]
TOO_LARGE = 0.6  # [s]: at 10 rad/s a turn of 2.5 rad in the shortest stage of suzuki4


def fast():
    state = spinning()
    state.v[4] = 10.0
    return state


def same(state, other) -> bool:
    """Bit by bit, nan included."""
    return (
        state.q.tobytes() == other.q.tobytes()
        and state.v.tobytes() == other.v.tobytes()
        and state.t == other.t
    )


@pytest.mark.parametrize("composition", ["none", "suzuki4"])
@pytest.mark.parametrize("name", VARIATIONAL)
def test_step_too_large_to_converge(name, composition):
    state = fast()
    result = step(select(name, composition), PENDULUM, state, no_input(), TOO_LARGE)
    assert result.ok is False
    assert not result.residual <= 1e-13
    assert same(result.state, state)


@pytest.mark.parametrize("name", VARIATIONAL)
def test_too_few_iterations(name):
    state = spinning()
    result = step(
        select(name, max_iterations=1, tolerance=1e-15), PENDULUM, state, no_input(), 0.05
    )
    assert not result.ok and result.iterations == 1
    assert 1e-15 < result.residual < 1.0
    assert same(result.state, state)


@pytest.mark.parametrize("name", VARIATIONAL)
def test_last_good_state_is_where_the_good_steps_lead(name):
    """Many steps in one call, the swing growing too fast for the step on the way down."""
    integrator, state, h = select(name), spinning(), 0.15
    after, reaction = State(0.0, state.q.copy(), state.v.copy()), np.zeros(3)
    done, _, residual = integrator.advance(
        PENDULUM, integrator.options(PENDULUM), no_input(), h, 1000, after, reaction
    )
    assert 0 < done < 1000 and not residual <= 1e-13
    q_good, v_good, _ = advanced(integrator, PENDULUM, state, no_input(), h, done)
    assert same(after, State(0.0, q_good, v_good))


@pytest.mark.parametrize("h", [0.0, np.nan, np.inf])
@pytest.mark.parametrize("name", VARIATIONAL)
def test_step_size_that_is_none(name, h):
    state = spinning()
    result = step(select(name), PENDULUM, state, no_input(), h)
    assert not result.ok and same(result.state, state)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("name", VARIATIONAL + ["rk4"])
def test_force_that_is_no_number(name, bad):
    state = spinning()
    result = step(select(name), PENDULUM, state, FORCED._replace(force=np.array([bad, 0.0])), 0.01)
    assert not result.ok and same(result.state, state)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("name", VARIATIONAL + ["rk4"])
def test_state_that_is_no_number(name, bad):
    state = spinning()
    state.v[3] = bad
    result = step(select(name), PENDULUM, state, no_input(), 0.01)
    assert not result.ok and same(result.state, state)


def test_tqdl_refuses_a_step_whose_numbers_are_not_finite():
    state = spinning()
    state.v[2:] = 1e200
    result = step(select("tqdl"), PENDULUM, state, no_input(), 0.01)
    assert result.ok is False and np.isnan(result.residual)
    assert same(result.state, state)


@pytest.mark.parametrize("rate", [3.2, 4.0, 9.0])
def test_se3_variational_refuses_a_turn_of_pi_or_more_in_one_step(rate):
    """The logarithm of such a turn is that of a shorter one."""
    h = 0.01
    state = State(
        0.0, np.array([0.0, 0.0, 1.0, 0.0, 0.0, 0.0]), np.array([0.0, 0.0, 0.0, 0.0, rate / h])
    )
    result = step(select("se3_variational"), PENDULUM, state, no_input(), h)
    assert result.ok is False and not result.residual <= 1e-13
    assert same(result.state, state)


@pytest.mark.parametrize("name", names())
def test_an_attitude_that_is_no_unit_quaternion_is_refused(name):
    state = State(0.0, np.array([0.0, 0.0, 2.0, 0.0, 0.0, 0.0]), np.zeros(5))
    with pytest.raises(ValueError, match=r"the attitude state\.q\[2:\].*its norm must be 1"):
        step(select(name), PENDULUM, state, no_input(), 0.01)
