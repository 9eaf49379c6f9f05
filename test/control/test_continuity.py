"""A pendulum that was put elsewhere is told from one that moves, however fast, and from one that
is poorly measured.
"""

import math

import numpy as np
import pytest

from rbdyn_ros.control.observer.continuity import JumpDetector, is_continuous
from rbdyn_ros.integrators.select import select
from rbdyn_ros.pendulum import spherical_pendulum
from rbdyn_ros.types import State

PERIOD = 0.002


def at(t, tilt=0.0, x=0.0, azimuth=0.0):
    state = spherical_pendulum.upright(tilt, azimuth)
    return State(t, np.array((x, *state.q[1:])), state.v)


def test_a_rod_that_falls_through_from_upright_continues():
    """The fastest that gravity makes it, measured with the noise of 512 counts."""
    rng, detector = np.random.default_rng(1), JumpDetector()
    system, method = (
        spherical_pendulum.build(spherical_pendulum.Params(cart_mass=0.5)),
        select("quaternion_midpoint"),
    )
    options, input, (_, q, v) = (
        method.options(system),
        spherical_pendulum.no_input(),
        at(0.0, tilt=0.02),
    )
    for i in range(1500):
        noisy = q + np.concatenate((rng.normal(0.0, 0.002, 2), rng.normal(0.0, 0.003, 4)))
        noisy[2:] /= np.linalg.norm(noisy[2:])
        assert not detector.update(State(i * PERIOD, noisy, v))
        method.advance(system, options, input, 0.001, 2, State(i * PERIOD, q, v), np.zeros(3))


@pytest.mark.parametrize(
    "after",
    [at(PERIOD, tilt=math.radians(10.0)), at(PERIOD, x=0.1), at(-1.0), at(5.0)],
    ids=["rod", "cart", "back", "gap"],
)
def test_what_no_pendulum_does_is_a_leap(after):
    detector = JumpDetector()
    assert not detector.update(at(0.0))
    assert detector.update(after)
    assert not detector.update(State(after.t + PERIOD, after.q, after.v))


def test_a_spin_turns_no_direction():
    a, b = at(0.0, tilt=0.3), at(PERIOD, tilt=0.3)
    w, x, y, z = b.q[2:]
    b.q[2:] = -z, y, -x, w  # half a turn about the rod: the quaternion times k
    assert is_continuous(a.q, b.q, b.t - a.t)


def test_what_is_not_finite_is_passed_over():
    detector = JumpDetector()
    assert not detector.update(at(0.0))
    assert not detector.update(State(PERIOD, np.full(6, math.nan), np.zeros(5)))
    assert not detector.update(at(2 * PERIOD))
    assert detector.update(at(3 * PERIOD, x=1.0))


@pytest.mark.parametrize("angle, cart", [(0.05, 0.0), (0.017, 0.0), (0.0, 0.02)])
def test_noise_beyond_the_limits_is_no_displacement(angle, cart):
    """It jumps at every second state, or at a few of a thousand."""
    rng, detector = np.random.default_rng(2), JumpDetector()
    jumps, displaced = 0, 0
    for i in range(20_000):
        pitch, roll, x = rng.normal(0.0, 1.0, 3) * (angle, angle, cart)
        lean = math.hypot(pitch, roll)
        displaced += detector.update(at(i * PERIOD, lean, x, math.atan2(roll, pitch)))
        jumps += detector.jumped
    assert jumps > 50 and detector.is_rough and displaced <= 3


@pytest.mark.parametrize("of_one", [1, 10], ids=["in turn", "one of eleven"])
@pytest.mark.parametrize("other", [at(0.0, tilt=1.0), at(100.0)], ids=["elsewhere", "other time"])
def test_two_simulators_are_no_displacements_until_one_of_them_ends(of_one, other):
    detector, jumps, displaced = JumpDetector(), 0, 0
    for i in range(2000):
        second = i % (of_one + 1) == of_one
        state = at(i * PERIOD) if not second else State(other.t + i * PERIOD, other.q, other.v)
        displaced += detector.update(state)
        jumps += detector.jumped
    assert jumps > 300 and detector.is_rough and displaced < 20
    after = [
        detector.update(State(other.t + i * PERIOD, other.q, other.v)) for i in range(2000, 2500)
    ]
    assert sum(after) == 1 and not detector.is_rough  # the law has seen both


def test_each_of_many_resets_is_a_displacement():
    """Of trials that take 40 ms each."""
    detector, displaced = JumpDetector(), []
    for i in range(1000):
        if detector.update(at(i * PERIOD, tilt=0.02 * (i % 20))):
            displaced.append(i)
    assert displaced == [*range(20, 1000, 20)]
