"""Rotations and small rotation vectors: boxplus, boxminus, slerp, discrete integration and
differential.

Rotation quaternions (..., 4), wxyz; vectors (..., 3) [rad] in the WORLD frame: Kindr's boxplus is
the LEFT one, q [+] v = exp(v) o q. Source: Kindr kinematics sheet.

And velocities of points seen from moving frames; every vector (..., 3) of one call in the same
frame. Same source.

Derivatives of rotation expressions (..., 3, 3) are with respect to world-frame (left) increments
of a rotation: it varies as q [+] e, and a result that is a rotation by its own [-]: d f =
f(q [+] e) [-] f(q). Derivatives of exp and log are so3.dexp_right and so3.dlog_right. Source:
Kindr kinematics sheet (Bloesch et al. 2016), with one sign corrected in `boxminus_second`. C(q) is
the rotation matrix.
"""

import numpy as np

from rbdyn_ros.geometry import float_arrays, quaternion, so3

FRAMES = ("body", "world")


def boxplus(q, v) -> np.ndarray:
    """Return q [+] v = exp(v) o q."""
    return quaternion.product(quaternion.exp(v), float_arrays.unit_quaternion(q, "q"))


def boxminus(a, b) -> np.ndarray:
    """Return a [-] b = log(a o b*), the shortest v with b [+] v = a (up to the sign of a)."""
    a, b = float_arrays.unit_quaternion(a, "a"), float_arrays.unit_quaternion(b, "b")
    return quaternion.log(quaternion.product(a, quaternion.conjugate(b)))


def slerp(a, b, t) -> np.ndarray:
    """Return the rotation at t in [0, 1] on the shortest way from a to b at constant speed: a [+]
    t (b [-] a).
    """
    t = float_arrays.array(t, "t")
    if np.any((t < 0.0) | (t > 1.0)):
        raise ValueError(f"t is {t.tolist()}; it must lie between 0 (at a) and 1 (at b)")
    return boxplus(a, t[..., None] * boxminus(b, a))


def integrate(q, w, dt, frame: str = "body") -> np.ndarray:
    """Return the rotation after dt [s] at the constant angular velocity w (..., 3) [rad/s,
    `frame`].

    body: q o exp(w dt); world: exp(w dt) o q.
    """
    float_arrays.choice(frame, "frame", FRAMES)
    v = float_arrays.array(w, "w", 3) * _step(dt)
    if frame == "world":
        return boxplus(q, v)
    return quaternion.product(float_arrays.unit_quaternion(q, "q"), quaternion.exp(v))


def angular_velocity(q0, q1, dt, frame: str = "body") -> np.ndarray:
    """Return the constant angular velocity [rad/s, `frame`] that takes q0 to q1 in dt [s] by the
    shortest way.
    """
    float_arrays.choice(frame, "frame", FRAMES)
    if frame == "world":
        return boxminus(q1, q0) / _step(dt)
    return -boxminus(quaternion.conjugate(q1), quaternion.conjugate(q0)) / _step(dt)


def _step(dt) -> np.ndarray:
    dt = float_arrays.array(dt, "dt")[..., None]
    if np.any(dt == 0.0):
        raise ValueError("dt is 0 s; a time step must not be zero")
    return dt


def in_rotating_frame(v_A, dr_AP, w, r_AP) -> np.ndarray:
    """Return v_P = v_A + d(r_AP)/dt + w x r_AP [m/s].

    dr_AP is the derivative of the components of r_AP [m] in the frame that turns at w [rad/s]; A
    may move at v_A.
    """
    return of_rigid_body(v_A, w, r_AP) + float_arrays.array(dr_AP, "dr_AP", 3)


def of_rigid_body(v_P, w, r_PQ) -> np.ndarray:
    """Return v_Q = v_P + w x r_PQ [m/s] for two points of a body that turns at w [rad/s]."""
    v_P, w, r_PQ = (
        float_arrays.array(x, n, 3) for x, n in ((v_P, "v_P"), (w, "w"), (r_PQ, "r_PQ"))
    )
    return v_P + np.cross(w, r_PQ)


def add_angular_velocities(*w) -> np.ndarray:
    """Return w_AD = w_AB + w_BC + w_CD [rad/s]: relative angular velocities add up when expressed
    in one frame.
    """
    return np.sum([float_arrays.array(x, f"w[{i}]", 3) for i, x in enumerate(w)], axis=0)


def rotate_second(q) -> np.ndarray:
    """Return d(C x)/dx = C(q)."""
    return quaternion.to_matrix(q)


def rotate_first(q, x) -> np.ndarray:
    """Return d(C x)/dq = -(C x)^."""
    return -so3.hat(quaternion.rotate(q, x))


def inverse(q) -> np.ndarray:
    """Return d(q^-1)/dq = -C(q)^T."""
    return -np.swapaxes(quaternion.to_matrix(q), -1, -2)


def product_first(a, b) -> np.ndarray:
    """Return d(a o b)/da = 1."""
    return np.broadcast_to(np.eye(3), (*np.shape(quaternion.product(a, b))[:-1], 3, 3))


def product_second(a, b) -> np.ndarray:
    """Return d(a o b)/db = C(a)."""
    return quaternion.to_matrix(a) @ product_first(a, b)


def boxminus_first(a, b) -> np.ndarray:
    """Return d(a [-] b)/da = Gamma^-1(a [-] b)."""
    return so3.dlog_right(boxminus(a, b))


def boxminus_second(a, b) -> np.ndarray:
    """Return d(a [-] b)/db = -Gamma^-1(-(a [-] b)); the sheet lacks the minus."""
    return -so3.dlog_left(boxminus(a, b))


def cross_first(b) -> np.ndarray:
    """Return d(a x b)/da = -b^."""
    return -so3.hat(b)


def cross_second(a) -> np.ndarray:
    """Return d(a x b)/db = a^."""
    return so3.hat(a)


def frame_in_time(w) -> np.ndarray:
    """Return d(q_BI)/dt = -w (..., 3) for the angular velocity w [rad/s, body]: the inverse turns
    the other way.
    """
    return -float_arrays.array(w, "w", 3)
