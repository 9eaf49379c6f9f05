"""boxplus, boxminus, slerp, discrete integration and differential; velocities between moving
frames.
"""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation, Slerp

from rbdyn_ros.geometry import increments, quaternion, so3
from rbdyn_ros.numerics.finite_difference import jacobian


def rotations(quaternions):
    return quaternions[:100], quaternions[100:]


def test_axioms_of_boxplus(quaternions):
    a, b = rotations(quaternions)
    v = increments.boxminus(a, b)
    assert np.allclose(increments.boxplus(b, np.zeros(3)), b, atol=1e-15)
    assert np.allclose(
        quaternion.canonical(increments.boxplus(b, v)), quaternion.canonical(a), atol=4e-15
    )
    assert np.allclose(increments.boxminus(increments.boxplus(b, v), b), v, atol=1e-13)
    assert np.allclose(increments.boxminus(b, a), -v, atol=1e-14)


def test_boxplus_is_the_left_one(quaternions):
    v = np.array([0.3, -0.2, 0.9])
    moved = quaternion.to_matrix(increments.boxplus(quaternions, v))
    assert np.allclose(moved, so3.exp(v) @ quaternion.to_matrix(quaternions), atol=1e-14)


def test_slerp_agrees_with_scipy_and_takes_the_short_way(quaternions):
    for a, b in zip(*rotations(quaternions)):
        t = np.linspace(0.0, 1.0, 7)
        reference = Slerp([0, 1], Rotation.from_quat([np.roll(a, -1), np.roll(b, -1)]))(
            t
        ).as_matrix()
        assert np.allclose(quaternion.to_matrix(increments.slerp(a, b, t)), reference, atol=1e-13)


def test_slerp_at_its_ends_and_between_equals(quaternions):
    a, b = rotations(quaternions)
    assert np.allclose(increments.slerp(a, b, 0.0), a, atol=1e-15)
    assert np.allclose(
        quaternion.canonical(increments.slerp(a, b, 1.0)), quaternion.canonical(b), atol=4e-15
    )
    assert np.allclose(
        quaternion.canonical(increments.slerp(a, -a, 0.5)), quaternion.canonical(a), atol=4e-15
    )


@pytest.mark.parametrize("frame", increments.FRAMES)
def test_discrete_differential_inverts_discrete_integration(frame, quaternions, random):
    w, dt = random.normal(size=(200, 3)), 0.3
    moved = increments.integrate(quaternions, w, dt, frame)
    assert np.allclose(increments.angular_velocity(quaternions, moved, dt, frame), w, atol=1e-13)


def test_body_and_world_integration_agree(quaternions):
    w, dt = np.array([1.0, -2.0, 0.5]), 0.2
    world = increments.integrate(quaternions, quaternion.rotate(quaternions, w), dt, "world")
    assert np.allclose(increments.integrate(quaternions, w, dt, "body"), world, atol=1e-14)


@pytest.mark.parametrize("t", [-0.1, 1.1, np.nan])
def test_slerp_outside_its_range(t):
    with pytest.raises(ValueError, match="t is|t = "):
        increments.slerp([1, 0, 0, 0], [0, 1, 0, 0], t)


def test_bad_step_and_frame():
    with pytest.raises(ValueError, match="dt is 0 s"):
        increments.angular_velocity([1, 0, 0, 0], [0, 1, 0, 0], 0.0)
    with pytest.raises(ValueError, match="frame is 'inertial'"):
        increments.integrate([1, 0, 0, 0], [0, 1, 0], 0.1, "inertial")


def test_velocity_of_a_point_in_a_rotating_frame():
    """A moves, the frame turns at w, P moves in the frame; all vectors expressed in the frame."""
    w, v_A, dr, r = np.array(
        [[0.2, 1.0, -0.5], [1.0, 2.0, 0.3], [0.1, -0.4, 0.7], [0.5, 0.6, -1.0]]
    )
    q = quaternion.exp([0.3, 0.1, -0.8])

    def path(t):
        """r_IP in the world, to first order in t."""
        attitude = (
            increments.integrate(q, w, 1.0)
            if t[0] == 1.0
            else quaternion.product(q, quaternion.exp(t[0] * w))
        )
        return quaternion.rotate(q, v_A) * t[0] + quaternion.rotate(attitude, r + t[0] * dr)

    numeric = quaternion.rotate(quaternion.conjugate(q), jacobian(path, np.zeros(1)).value[:, 0])
    assert np.allclose(increments.in_rotating_frame(v_A, dr, w, r), numeric, atol=1e-11)
    assert np.allclose(increments.of_rigid_body(v_A, w, r), v_A + so3.hat(w) @ r)


def test_relative_angular_velocities_add_up():
    """Of three frames that turn one in another: R_AD = R_AB R_BC R_CD."""
    a, b, c, wa, wb, wc = np.random.default_rng(3).normal(size=(6, 3))
    chain = lambda t: quaternion.product(  # noqa: E731
        quaternion.product(
            quaternion.product(quaternion.exp(a), quaternion.exp(t[0] * wa)),
            quaternion.product(quaternion.exp(b), quaternion.exp(t[0] * wb)),
        ),
        quaternion.product(quaternion.exp(c), quaternion.exp(t[0] * wc)),
    )
    in_d = [so3.exp(-c) @ so3.exp(-b) @ wa, so3.exp(-c) @ wb, wc]

    def body(x, y):
        return quaternion.log(quaternion.product(quaternion.conjugate(y), x))

    numeric = jacobian(chain, np.zeros(1), minus=body).value[:, 0]
    assert np.allclose(increments.add_angular_velocities(*in_d), numeric, atol=1e-11)
