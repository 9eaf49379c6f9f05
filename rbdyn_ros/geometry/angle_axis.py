"""Angle-axis (..., 4) = (theta, n): the angle [rad] FIRST, then the unit axis.

Principal: theta in [0, pi].
"""

import numpy as np

from rbdyn_ros.geometry import arguments, quaternion


def to_quaternion(a) -> np.ndarray:
    """(cos(theta/2), n sin(theta/2)), not made canonical.

    ValueError if the axis is not a unit vector.
    """
    theta, n = split(a)
    return np.concatenate([np.cos(0.5 * theta), np.sin(0.5 * theta) * n], axis=-1)


def from_quaternion(q) -> np.ndarray:
    """(|log q|, log q / |log q|); the identity has the axis (1, 0, 0).

    The Kindr sheet's 2 arccos(q0) leaves [0, pi] for q0 < 0 and loses half the digits of a small
    angle.
    """
    v = quaternion.log(q)
    theta = arguments.length(v)
    n = np.where(theta > 0.0, v, (1.0, 0.0, 0.0)) / np.where(theta > 0.0, theta, 1.0)
    return np.concatenate([theta, n], axis=-1)


def split(a) -> tuple[np.ndarray, np.ndarray]:
    """(theta (..., 1), n (..., 3)) of an angle-axis, checked."""
    a = arguments.array(a, "angle_axis", 4)
    theta = arguments.rotation_vector(a[..., :1] * np.ones(3), "angle_axis angle")[..., :1]
    return theta, arguments.unit(a[..., 1:], "angle_axis axis", 3, "divide it by its length")
