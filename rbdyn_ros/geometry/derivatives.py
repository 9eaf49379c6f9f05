"""Derivatives of rotation expressions (..., 3, 3), with respect to world-frame (left) increments
of a rotation.

A rotation varies as q [+] e = exp(e) o q, and a result that is a rotation by its own [-]: d f =
f(q [+] e) [-] f(q). Derivatives of exp and log are so3.dexp_right and so3.dlog_right. Source:
Kindr kinematics sheet (Bloesch et al. 2016), with one sign corrected in `boxminus_second`. C(q) is
the rotation matrix.
"""

import numpy as np

from rbdyn_ros.geometry import arguments, increments, quaternion, so3


def rotated_by_vector(q) -> np.ndarray:
    """d(C x)/dx = C(q)."""
    return quaternion.to_matrix(q)


def rotated_by_rotation(q, x) -> np.ndarray:
    """d(C x)/dq = -(C x)^."""
    return -so3.hat(quaternion.rotate(q, x))


def inverse(q) -> np.ndarray:
    """d(q^-1)/dq = -C(q)^T."""
    return -np.swapaxes(quaternion.to_matrix(q), -1, -2)


def product_first(a, b) -> np.ndarray:
    """d(a o b)/da = 1."""
    return np.broadcast_to(np.eye(3), (*np.shape(quaternion.product(a, b))[:-1], 3, 3))


def product_second(a, b) -> np.ndarray:
    """d(a o b)/db = C(a)."""
    return quaternion.to_matrix(a) @ product_first(a, b)


def boxminus_first(a, b) -> np.ndarray:
    """d(a [-] b)/da = Gamma^-1(a [-] b)."""
    return so3.dlog_right(increments.boxminus(a, b))


def boxminus_second(a, b) -> np.ndarray:
    """d(a [-] b)/db = -Gamma^-1(-(a [-] b)); the sheet lacks the minus."""
    return -so3.dlog_left(increments.boxminus(a, b))


def cross_first(b) -> np.ndarray:
    """d(a x b)/da = -b^."""
    return -so3.hat(b)


def cross_second(a) -> np.ndarray:
    """d(a x b)/db = a^."""
    return so3.hat(a)


def frame_in_time(w) -> np.ndarray:
    """d(q_BI)/dt = -w (..., 3) for the angular velocity w [rad/s, body]: the inverse turns
    back.
    """
    return -arguments.array(w, "w", 3)
