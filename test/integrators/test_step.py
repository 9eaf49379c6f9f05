"""One step as a function: what goes in is left alone, whatever kind of array it is."""

import numpy as np
import pytest
from measure import advanced
from plants import PENDULUM, PUSHED, spinning

from rbdyn_ros.integrators.select import select
from rbdyn_ros.integrators.step import step
from rbdyn_ros.pendulum.spherical_pendulum import no_input
from rbdyn_ros.types import Input, State

NAMES = ["rk4", "moser_veselov", "quaternion_midpoint"]


@pytest.mark.parametrize("name", NAMES)
def test_step_is_one_advance(name):
    integrator, state = select(name), spinning()
    result = step(integrator, PENDULUM, state, PUSHED, 0.01)
    q, v, reaction = advanced(integrator, PENDULUM, state, PUSHED, 0.01, 1)
    assert result.ok and result.state.t == 0.01
    assert (
        (result.state.q == q).all()
        and (result.state.v == v).all()
        and (result.reaction == reaction).all()
    )


@pytest.mark.parametrize("name", NAMES)
def test_arguments_are_not_changed(name):
    state, before = spinning(), spinning()
    step(select(name), PENDULUM, state, PUSHED, 0.01)
    assert (state.q == before.q).all() and (state.v == before.v).all()


def awkward(array) -> np.ndarray:
    """The same numbers: every second one of an array twice as long, and not to be written to."""
    padded = np.repeat(array, 2, axis=-1)[..., ::2]
    padded.flags.writeable = False
    return padded


@pytest.mark.parametrize("name", NAMES)
def test_read_only_and_strided_arrays_give_the_same_and_compile_nothing(name):
    integrator, state = select(name), spinning()
    expected = step(integrator, PENDULUM, state, PUSHED, 0.01)
    compiled = len(integrator.advance.signatures)
    inputs = Input(*(awkward(a) for a in PUSHED))
    result = step(
        integrator, PENDULUM, State(0.0, awkward(state.q), awkward(state.v)), inputs, 0.01
    )
    assert (result.state.q == expected.state.q).all() and (
        result.state.v == expected.state.v
    ).all()
    assert len(integrator.advance.signatures) == compiled


@pytest.mark.parametrize("name", NAMES)
def test_integers_are_accepted_for_floats(name):
    state = State(0, np.array([0, 0, 1, 0, 0, 0]), np.array([0, 0, 0, 0, 1]))
    result = step(select(name), PENDULUM, state, no_input()._replace(force=np.array([1, 0])), 0.01)
    assert result.ok and result.state.v[0] > 0.0


@pytest.mark.parametrize(
    ("state", "input", "sentence"),
    [
        (
            State(0.0, np.zeros(7), np.zeros(5)),
            no_input(),
            r"state.q has shape \(7,\); it must be \(6,\)",
        ),
        (
            State(0.0, np.zeros(6), np.zeros(6)),
            no_input(),
            r"state.v has shape \(6,\); it must be \(5,\)",
        ),
        (
            spinning(),
            no_input()._replace(force=np.zeros(3)),
            r"input.force has shape \(3,\); it must be \(2,\)",
        ),
        (
            spinning(),
            no_input()._replace(sines=np.zeros(4)),
            r"input.sines has shape \(4,\); it must be \(n, 4\)",
        ),
        (
            spinning(),
            no_input()._replace(disturbance=np.zeros(6)),
            r"input.disturbance has shape \(6,\); it must be \(9,\)",
        ),
    ],
)
def test_wrong_shapes_are_refused(state, input, sentence):
    with pytest.raises(ValueError, match=sentence):
        step(select("rk4"), PENDULUM, state, input, 0.01)


def test_time_of_the_state_is_that_of_the_forces():
    """The same step of a sine's force, started later by a period, is the same."""
    early = spinning()
    late = early._replace(t=2.0 * np.pi)
    periodic = no_input()._replace(sines=np.array([[0.0, 5.0, 1.0, 0.3]]))
    for name in NAMES:
        a, b = (step(select(name), PENDULUM, s, periodic, 0.01).state for s in (early, late))
        assert a.v == pytest.approx(b.v, abs=1e-12)
