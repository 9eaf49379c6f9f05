"""Quaternion algebra: the identities of the Kindr kinematics sheet, and the branches of its
conversions.
"""

import numpy as np
import pytest
import transforms3d
from scipy.spatial.transform import Rotation

from rbdyn_ros.geometry import quaternion, so3, unit_quaternion


def test_product_is_hamiltons(quaternions):
    i, j, k = np.eye(4)[1:]
    assert np.array_equal(quaternion.product(i, j), k)
    a, b = quaternions[:100], quaternions[100:]
    expected = [transforms3d.quaternions.qmult(x, y) for x, y in zip(a, b)]
    assert np.allclose(quaternion.product(a, b), expected, atol=1e-15)
    kernels = [unit_quaternion.product(tuple(x), tuple(y)) for x, y in zip(a, b)]
    assert np.allclose(quaternion.product(a, b), kernels, atol=1e-15)


def test_left_and_right_matrix_give_the_same_product(quaternions):
    p, q = 3.0 * quaternions[:100], 2.0 * quaternions[100:]
    left = (quaternion.left_matrix(q) @ p[..., None])[..., 0]
    right = (quaternion.right_matrix(p) @ q[..., None])[..., 0]
    assert np.allclose(left, right, atol=1e-14)


def test_inverse_is_the_conjugate(quaternions):
    one = quaternion.product(quaternions, quaternion.conjugate(quaternions))
    assert np.allclose(one, [1.0, 0.0, 0.0, 0.0], atol=1e-15)


def test_H_has_orthonormal_rows_and_kills_q(quaternions):
    for matrix in (quaternion.H(quaternions), quaternion.H_bar(quaternions)):
        assert np.allclose(matrix @ np.swapaxes(matrix, -1, -2), np.eye(3), atol=1e-14)
        assert np.allclose(matrix @ quaternions[..., None], 0.0, atol=1e-15)


def test_matrix_agrees_with_scipy_transforms3d_and_the_kernel(quaternions):
    R = quaternion.to_matrix(quaternions)
    assert np.allclose(R, Rotation.from_quat(quaternions[:, [1, 2, 3, 0]]).as_matrix(), atol=1e-15)
    assert np.allclose(R, [transforms3d.quaternions.quat2mat(q) for q in quaternions], atol=1e-15)
    assert np.allclose(R, [unit_quaternion.matrix(tuple(q)) for q in quaternions], atol=1e-15)


def test_product_composes_rotations(quaternions):
    a, b = quaternions[:100], quaternions[100:]
    both = quaternion.to_matrix(a) @ quaternion.to_matrix(b)
    assert np.allclose(quaternion.to_matrix(quaternion.product(a, b)), both, atol=1e-14)
    x = np.array([1.0, -2.0, 0.5])
    assert np.allclose(quaternion.rotate(a, quaternion.rotate(b, x)), both @ x, atol=1e-14)


def test_from_matrix_is_exact_at_every_angle(vectors):
    q = quaternion.exp(vectors)
    back = quaternion.from_matrix(quaternion.to_matrix(q))
    same = np.minimum(np.abs(back - q).max(-1), np.abs(back + q).max(-1))
    assert same.max() < 1e-15
    assert np.all(back[:, 0] >= 0.0)


def test_exp_of_log(quaternions, vectors):
    q = np.concatenate([quaternions, quaternion.exp(vectors)])
    assert np.allclose(quaternion.exp(quaternion.log(q)), quaternion.canonical(q), atol=1e-15)


def test_log_is_principal_and_the_same_for_q_and_minus_q(quaternions):
    v = quaternion.log(quaternions)
    assert np.all(np.linalg.norm(v, axis=-1) <= np.pi)
    assert np.array_equal(v, quaternion.log(-quaternions))
    assert np.allclose(v, Rotation.from_quat(quaternions[:, [1, 2, 3, 0]]).as_rotvec(), atol=1e-14)


def test_kindr_branches_differ_by_two_pi_at_negative_scalar_part():
    q = np.array([-1.0, 1e-10, 0.0, 0.0])
    assert np.allclose(quaternion.log(q), [-2e-10, 0.0, 0.0], rtol=1e-12, atol=0.0)


def test_log_of_tiny_rotations_keeps_every_digit():
    v = np.array([[1e-300, 0.0, 0.0], [0.0, 3e-160, -1e-160], [1e-9, 2e-9, 0.0]])
    assert np.allclose(quaternion.log(quaternion.exp(v)), v, rtol=1e-15, atol=0.0)


def test_half_turns_have_one_name():
    q = np.array([[0.0, 0.0, -1.0, 0.0], [-0.0, -0.6, 0.8, 0.0]])
    assert np.array_equal(quaternion.canonical(q), -q)
    assert np.allclose(
        so3.log(quaternion.to_matrix(q)), [[0.0, np.pi, 0.0], [0.6 * np.pi, -0.8 * np.pi, 0.0]]
    )


def test_normalized_survives_extreme_sizes():
    q = np.array([[1e-300, 0.0, 1e-300, 0.0], [1e300, 0.0, 0.0, -1e300]])
    assert np.allclose(np.linalg.norm(quaternion.normalize(q), axis=-1), 1.0, atol=1e-15)


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda: quaternion.normalize([0.0, 0.0, 0.0, 0.0]), "norm 0"),
        (
            lambda: quaternion.to_matrix([2.0, 0.0, 0.0, 0.0]),
            r"q = \[2.0, 0.0, 0.0, 0.0\] is not of norm 1",
        ),
        (lambda: quaternion.log([[1, 0, 0, 0], [0, 0, 0, 0]]), r"q\[1\] = .* is not of norm 1"),
        (
            lambda: quaternion.to_matrix([1.0, 0.0, 0.0]),
            r"q has shape \(3,\); it must be \(\.\.\., 4\)",
        ),
        (lambda: quaternion.product([np.nan, 0, 0, 0], [1, 0, 0, 0]), "not finite"),
        (lambda: quaternion.exp(["a", "b", "c"]), "must be an array of numbers"),
        (lambda: quaternion.exp([1e9, 0.0, 0.0]), "too long"),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
