"""Quaternions (w, x, y, z), Hamilton, body to world: algebra, matrices, exponential and logarithm.

Arrays of shape (..., 4); leading dimensions are a batch. A rotation quaternion q_IB has norm 1 and
takes vectors from the body to the world frame; q and -q are the same rotation. Source: Kindr
kinematics sheet; doc/geometry.md. The same algebra on tuples, for the steppers, is in
unit_quaternion.py.
"""

import numpy as np

from rbdyn_ros.geometry import coefficients, float_arrays


def left_matrix(q) -> np.ndarray:
    """Return Q(q), the product from the left: q o p = Q(q) p. Any quaternion (..., 4) -> (..., 4,
    4).
    """
    w, x, y, z = np.moveaxis(float_arrays.array(q, "q", 4), -1, 0)
    return stack_rows([[w, -x, -y, -z], [x, w, -z, y], [y, z, w, -x], [z, -y, x, w]])


def right_matrix(p) -> np.ndarray:
    """Return Q_bar(p), the product from the right: q o p = Q_bar(p) q. Any quaternion (..., 4) ->
    (..., 4, 4).
    """
    w, x, y, z = np.moveaxis(float_arrays.array(p, "p", 4), -1, 0)
    return stack_rows([[w, -x, -y, -z], [x, w, z, -y], [y, -z, w, x], [z, y, -x, w]])


def H(q) -> np.ndarray:
    """Return H(q) = [-v, w 1 + v^]: angular velocity in the WORLD frame is 2 H(q) dq/dt (G.1).
    (..., 4) -> (..., 3, 4).
    """
    return float_arrays.transpose(right_matrix(q)[..., 1:])


def H_bar(q) -> np.ndarray:
    """Return H_bar(q) = [-v, w 1 - v^]: angular velocity in the BODY frame is 2 H_bar(q) dq/dt.
    (..., 4) -> (..., 3, 4).
    """
    return float_arrays.transpose(left_matrix(q)[..., 1:])


def product(a, b) -> np.ndarray:
    """Return a o b, the rotation b followed by a. Any quaternions (..., 4)."""
    b = float_arrays.array(b, "b", 4)
    return (left_matrix(a) @ b[..., None])[..., 0]


def conjugate(q) -> np.ndarray:
    """Return q* = (w, -x, -y, -z), the inverse of a rotation quaternion."""
    return float_arrays.array(q, "q", 4) * (1.0, -1.0, -1.0, -1.0)


def normalize(q) -> np.ndarray:
    """Return q / |q|. Raise ValueError for a zero quaternion, which is no rotation."""
    q = float_arrays.array(q, "q", 4)
    largest = np.max(np.abs(q), axis=-1, keepdims=True)
    if np.any(largest == 0.0):
        raise ValueError("q has norm 0; a rotation needs a quaternion with a norm above 0")
    q = q / largest  # first: the norm of the tiniest numbers has no digits
    return q / float_arrays.length(q)


def canonical(q) -> np.ndarray:
    """Return the one of q and -q on the principal branch: w > 0, or w = 0 and the first non-zero
    of x, y, z positive.
    """
    q = float_arrays.array(q, "q", 4)
    first = np.argmax(q != 0.0, axis=-1)[..., None]
    return np.where(np.take_along_axis(q, first, axis=-1) < 0.0, -q, q)


def exp(v) -> np.ndarray:
    """Return the rotation quaternion of the rotation vector v (..., 3) [rad]: (cos(t/2), v
    sin(t/2) / t), t = |v|.

    It is continuous in v, hence not canonical: w < 0 for pi < t < 3 pi.
    """
    v = float_arrays.rotation_vector(v, "v")
    half = 0.5 * v
    w = np.cos(float_arrays.length(half))
    return np.concatenate([w, coefficients.of(coefficients.A, half)[..., 0] * half], axis=-1)


def log(q) -> np.ndarray:
    """Return the rotation vector (..., 3) [rad] of the rotation quaternion q, principal: |log q|
    <= pi.

    It is 2 atan2(|v|, w) v / |v| (G.2) of the canonical q, so that q and -q give the same.
    """
    q = canonical(float_arrays.unit_quaternion(q, "q"))
    w, v = q[..., :1], q[..., 1:]
    n = float_arrays.length(v)
    return np.where(n > 0.0, 2.0 * np.arctan2(n, w) / np.where(n > 0.0, n, 1.0), 2.0) * v


def to_matrix(q) -> np.ndarray:
    """Return the rotation matrix R = H(q) H_bar(q)^T, body to world. (..., 4) -> (..., 3, 3)."""
    q = float_arrays.unit_quaternion(q, "q")
    return H(q) @ float_arrays.transpose(H_bar(q))


def from_matrix(R) -> np.ndarray:
    """Return the canonical rotation quaternion of a rotation matrix, exact to round-off at every
    angle.

    4 q q^T is linear in R; its row with the largest diagonal entry, normalized, is +-q (Shepperd
    1978). Raise ValueError if R is not orthogonal or is left-handed.
    """
    R = float_arrays.rotation_matrix(R, "R")
    a, b, c = R[..., 2, 1] - R[..., 1, 2], R[..., 0, 2] - R[..., 2, 0], R[..., 1, 0] - R[..., 0, 1]
    xy, xz, yz = (
        R[..., 0, 1] + R[..., 1, 0],
        R[..., 0, 2] + R[..., 2, 0],
        R[..., 1, 2] + R[..., 2, 1],
    )
    x, y, z = np.moveaxis(np.diagonal(R, axis1=-2, axis2=-1), -1, 0)
    K = stack_rows(
        [
            [1.0 + x + y + z, a, b, c],
            [a, 1.0 + x - y - z, xy, xz],
            [b, xy, 1.0 - x + y - z, yz],
            [c, xz, yz, 1.0 - x - y + z],
        ]
    )
    pivot = np.argmax(np.diagonal(K, axis1=-2, axis2=-1), axis=-1)[..., None, None]
    return canonical(normalize(np.take_along_axis(K, pivot, axis=-2)[..., 0, :]))


def rotate(q, x) -> np.ndarray:
    """Return R(q) x: a vector x (..., 3) from the body to the world frame."""
    return (to_matrix(q) @ float_arrays.array(x, "x", 3)[..., None])[..., 0]


def stack_rows(rows: list[list[np.ndarray]]) -> np.ndarray:
    """Return the matrices (..., m, n) of the m rows of their n entries (...)."""
    return np.ascontiguousarray(np.moveaxis(np.array(rows), (0, 1), (-2, -1)))
