"""SO(3): group axioms of exp and log up to and at pi; both Jacobians and their inverses."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import expm
from scipy.spatial.transform import Rotation

from rbdyn_ros.geometry import increments, quaternion, so3
from rbdyn_ros.numerics.finite_difference import jacobian

NUMBER = st.floats(-2.0, 2.0)
VECTOR = st.tuples(NUMBER, NUMBER, NUMBER).map(np.array)


@settings(deadline=None)  # the first example compiles
@given(VECTOR, VECTOR)
def test_hat_is_the_cross_product(a, b):
    assert np.allclose(so3.hat(a) @ b, np.cross(a, b), atol=1e-15)
    assert np.array_equal(so3.vee(so3.hat(a)), a)


@settings(deadline=None)  # the first example compiles
@given(VECTOR)
def test_exp_is_the_matrix_exponential(v):
    R = so3.exp(v)
    assert np.allclose(R, expm(so3.hat(v)), atol=1e-14)
    assert np.allclose(R.T @ R, np.eye(3), atol=1e-15)
    assert np.allclose(R, quaternion.to_matrix(quaternion.exp(v)), atol=1e-15)
    assert np.allclose(R, Rotation.from_rotvec(v).as_matrix(), atol=1e-15)


def test_log_inverts_exp_up_to_and_at_pi(vectors):
    """The notebook's arc cosine loses everything within 1e-3 to 1e-9 of pi; this one loses
    nothing.
    """
    v = so3.log(so3.exp(vectors))
    error = np.minimum(np.linalg.norm(v - vectors, axis=-1), np.linalg.norm(v + vectors, axis=-1))
    same_side = np.linalg.norm(vectors, axis=-1) < np.pi - 1e-12
    assert np.linalg.norm(v - vectors, axis=-1)[same_side].max() < 2e-15
    assert error.max() < 2e-15
    assert np.allclose(so3.exp(v), so3.exp(vectors), atol=2e-15)


def test_log_agrees_with_scipy(quaternions):
    R = quaternion.to_matrix(quaternions)
    assert np.allclose(so3.log(R), Rotation.from_matrix(R).as_rotvec(), atol=1e-13)


def test_left_jacobian_is_the_right_trivialized_derivative_of_exp(vectors):
    for v in vectors[:: len(vectors) // 15]:
        numeric = jacobian(quaternion.exp, v, minus=increments.boxminus)
        assert np.allclose(so3.dexp_right(v), numeric.value, atol=1e-11)


def test_right_jacobian_is_the_left_trivialized_derivative_of_exp(vectors):
    def body(a, b):
        return quaternion.log(quaternion.product(quaternion.conjugate(b), a))

    for v in vectors[:: len(vectors) // 15]:
        assert np.allclose(
            so3.dexp_left(v), jacobian(quaternion.exp, v, minus=body).value, atol=1e-11
        )


def test_dlog_inverts_dexp(vectors):
    assert np.allclose(so3.dlog_right(vectors) @ so3.dexp_right(vectors), np.eye(3), atol=1e-14)
    assert np.allclose(so3.dlog_left(vectors) @ so3.dexp_left(vectors), np.eye(3), atol=1e-14)


def test_identities_of_gamma(vectors):
    """As on the Kindr sheet, with Gamma^-1(-v) = Gamma^-1(v) + v^ corrected."""
    v, R = vectors, so3.exp(vectors)
    assert np.allclose((so3.dexp_right(v) @ v[..., None])[..., 0], v, atol=1e-15)
    assert np.allclose((so3.dlog_right(v) @ v[..., None])[..., 0], v, atol=1e-15)
    assert np.allclose(so3.dexp_right(-v), so3.dexp_left(v), atol=1e-16)
    assert np.allclose(so3.dlog_right(-v), so3.dlog_right(v) + so3.hat(v), atol=4e-15)
    assert np.allclose(so3.dlog_right(v) @ R, so3.dlog_right(v) + so3.hat(v), atol=4e-15)
    assert np.allclose(so3.dexp_right(v), R @ so3.dexp_left(v), atol=4e-15)


@pytest.mark.parametrize("turns", [1, 2, 7])
def test_dlog_has_no_value_at_full_turns(turns):
    with pytest.raises(ValueError, match="a multiple of 2 pi"):
        so3.dlog_right([0.0, 2.0 * np.pi * turns, 0.0])


@pytest.mark.parametrize(
    "R, message",
    [
        (np.diag([1.0, 1.0, 1.1]), "not orthogonal"),
        (np.diag([1.0, 1.0, -1.0]), "left-handed"),
        (np.full((3, 3), np.inf), "not finite"),
        (np.eye(4), r"shape \(4, 4\)"),
        (np.stack([np.eye(3), np.zeros((3, 3))]), r"R\[1\] = .* is not orthogonal"),
    ],
)
def test_log_refuses_what_is_no_rotation(R, message):
    with pytest.raises(ValueError, match=message):
        so3.log(R)


def test_vee_refuses_what_is_not_skew():
    with pytest.raises(ValueError, match="not skew-symmetric"):
        so3.vee(np.eye(3))
