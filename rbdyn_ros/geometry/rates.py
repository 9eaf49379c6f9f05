"""Rates of every parameterization of a rotation to and from angular velocity, in the body and the
world frame.

    w = E(p) dp/dt    and    dp/dt = E^-1(p) w

`frame` names the frame in which w [rad/s], the angular velocity of the body with respect to the
world, is expressed. Names and shapes of the parameterizations are those of conversion.py. Source:
Kindr kinematics sheet; doc/geometry.md, section 4.
"""

from functools import partial

import numpy as np

from rbdyn_ros.geometry import conversion, float_arrays, quaternion, so3
from rbdyn_ros.geometry.increments import FRAMES

SINGULAR = 1e-9  # the smallest |cos y| or |sin(theta/2)| at which a rate is still given


def angular_velocity(name: str, value, rate, frame: str = "body") -> np.ndarray:
    """Return w = E(value) rate (..., 3) [rad/s, frame] of a parameterization that changes at
    `rate` [1/s].
    """
    float_arrays.choice(frame, "frame", FRAMES)
    if float_arrays.choice(name, "parameterization", conversion.NAMES) == "matrix":
        R, dR = (
            float_arrays.rotation_matrix(value, "matrix"),
            float_arrays.array(rate, "rate", 3, 3),
        )
        R_t = float_arrays.transpose(R)
        return so3.vee(R_t @ dR if frame == "body" else dR @ R_t)
    E = mapping(name, value, frame)
    return (E @ float_arrays.array(rate, "rate", E.shape[-1])[..., None])[..., 0]


def rate(name: str, value, w, frame: str = "body") -> np.ndarray:
    """Return dp/dt = E^-1(value) w [1/s] of a parameterization whose body turns at w (..., 3)
    [rad/s, frame].

    Raise ValueError where the chart is singular: Euler angles at y = +-pi/2, angle-axis and
    rotation vector at the angles 2 pi k (a rotation vector is regular at 0).
    """
    float_arrays.choice(frame, "frame", FRAMES)
    w = float_arrays.array(w, "w", 3)
    if float_arrays.choice(name, "parameterization", conversion.NAMES) == "matrix":
        R = float_arrays.rotation_matrix(value, "matrix")
        return R @ so3.hat(w) if frame == "body" else so3.hat(w) @ R
    return (inverse_mapping(name, value, frame) @ w[..., None])[..., 0]


def mapping(name: str, value, frame: str = "body") -> np.ndarray:
    """Return E(value) (..., 3, n) of any parameterization but the matrix."""
    in_world = float_arrays.choice(frame, "frame", FRAMES) == "world"
    E = _MAPPINGS[float_arrays.choice(name, "parameterization", tuple(_MAPPINGS))](value)
    return E if in_world else float_arrays.transpose(conversion.convert(value, name, "matrix")) @ E


def inverse_mapping(name: str, value, frame: str = "body") -> np.ndarray:
    """Return E^-1(value) (..., n, 3); where n = 4 its range is tangent to the constraint, so E
    E^-1 = 1 all the same.
    """
    in_world = float_arrays.choice(frame, "frame", FRAMES) == "world"
    E = _INVERSES[float_arrays.choice(name, "parameterization", tuple(_INVERSES))](value)
    return E if in_world else E @ conversion.convert(value, name, "matrix")


def _quaternion(value) -> np.ndarray:
    """Return E of w = 2 H(q) dq; in the body frame R^T H = H_bar."""
    return 2.0 * quaternion.H(float_arrays.unit_quaternion(value, "quaternion"))


def _quaternion_inverse(value) -> np.ndarray:
    return 0.25 * float_arrays.transpose(_quaternion(value))


def _angle_axis(value) -> np.ndarray:
    """Return E of w = n dtheta + sin(theta) dn + (1 - cos(theta)) n x dn."""
    theta, n = (x[..., None] for x in conversion.split(value))
    by_n = np.sin(theta) * np.eye(3) + (1.0 - np.cos(theta)) * so3.hat(n[..., 0])
    return np.concatenate([n, by_n], axis=-1)


def _angle_axis_inverse(value) -> np.ndarray:
    """Return E^-1 of dtheta = n.w; dn = -(cot(theta/2) n^ n^ + n^) w / 2."""
    theta, n = (x[..., None] for x in conversion.split(value))
    half = 0.5 * theta
    _require_regular(np.sin(half), "angle_axis", "angles 2 pi k")
    S = so3.hat(n[..., 0])
    return np.concatenate([float_arrays.transpose(n), -0.5 * (S @ S / np.tan(half) + S)], axis=-2)


def _euler(name: str, value) -> np.ndarray:
    """Return E, whose columns are the axes of the three rotations in the world frame."""
    angles = np.moveaxis(float_arrays.rotation_vector(value, name), -1, 0)
    turned, columns = np.eye(4)[0], []
    for axis, angle in zip(_AXES[name], angles):
        columns.append(quaternion.rotate(turned, np.eye(3)[axis]))
        turned = quaternion.product(turned, conversion.about(axis, angle))
    return np.stack(np.broadcast_arrays(*columns), axis=-1)


def _euler_inverse(name: str, value) -> np.ndarray:
    E = _euler(name, value)
    _require_regular(np.linalg.det(E), name, "y = +-pi/2")  # |det E| = |cos y|
    return np.linalg.inv(E)


def _require_regular(distance: np.ndarray, name: str, where: str) -> None:
    if np.any(np.abs(distance) < SINGULAR):
        raise ValueError(f"{name} has no rate at its singular {where}; use the quaternion there")


_AXES = {"euler_zyx": (2, 1, 0), "euler_xyz": (0, 1, 2)}  # of the three rotations

_MAPPINGS = {
    "quaternion": _quaternion,
    "rotation_vector": so3.dexp_right,
    "angle_axis": _angle_axis,
    **{name: partial(_euler, name) for name in _AXES},
}

_INVERSES = {
    "quaternion": _quaternion_inverse,
    "rotation_vector": so3.dlog_right,
    "angle_axis": _angle_axis_inverse,
    **{name: partial(_euler_inverse, name) for name in _AXES},
}
