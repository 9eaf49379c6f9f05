"""The URDF's three hinges: the same rotation, continuous, with the right rates."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from transforms3d.euler import euler2mat
from transforms3d.quaternions import mat2quat, quat2mat

from rbdyn_ros.pendulum.gimbal_joints import GimbalJoints

angles = st.floats(-math.pi, math.pi)


def rows(R):
    return tuple(tuple(row) for row in R.tolist())


@given(st.tuples(*[st.floats(-1, 1)] * 4).filter(lambda q: sum(c * c for c in q) > 0.1))
def test_the_hinges_make_the_rotation(q):
    R = quat2mat(np.array(q) / np.linalg.norm(q))
    r, p, s = GimbalJoints().follow(rows(R))
    assert np.allclose(euler2mat(r, p, s, "rxyz"), R, atol=1e-7)


def test_angles_pass_half_a_turn_without_a_jump():
    gimbal, last = GimbalJoints(), (0.0, 0.0, 0.0)
    for t in np.linspace(0.0, 20.0, 2001):
        now = gimbal.follow(rows(euler2mat(1.5 * t, 0.7 * math.sin(t), -2.0 * t, "rxyz")))
        assert max(abs(a - b) for a, b in zip(now, last)) < 0.1
        last = now
    assert last == pytest.approx((30.0, 0.7 * math.sin(20.0), -40.0))


def test_a_rod_that_falls_through_the_pole_goes_on_in_pitch():
    gimbal = GimbalJoints()
    for t in np.linspace(0.0, 3.0, 301):
        now = gimbal.follow(rows(euler2mat(0.1, t, 0.2, "rxyz")))
    assert now == pytest.approx((0.1, 3.0, 0.2))


@given(angles, st.floats(-1.4, 1.4), angles)
def test_rates_are_the_derivative(r, p, s):
    """exp of a small body rotation against the angles' difference."""
    w, h = np.array((0.3, -0.5, 0.8)), 1e-6
    R = euler2mat(r, p, s, "rxyz")
    half = 0.5 * h * w
    turn = quat2mat(np.array((1.0, *half)))
    gimbal = GimbalJoints()
    before = np.array(gimbal.follow(rows(R @ turn.T)))
    after = np.array(gimbal.follow(rows(R @ turn)))
    _, _, rates, _ = gimbal.motion(tuple(mat2quat(R).tolist()), (0.0, 0.0), tuple(w.tolist()))
    assert np.allclose(rates, (after - before) / (2.0 * h), rtol=1e-5, atol=1e-5)


def test_rates_are_finite_at_the_pole():
    _, _, rates, _ = GimbalJoints().motion(
        (math.sqrt(0.5), 0.0, math.sqrt(0.5), 0.0), (0.0, 0.0), (1.0, 1.0, 1.0)
    )
    assert all(map(math.isfinite, rates))
