"""Homogeneous transforms T_IB (..., 4, 4) = [[R_IB, r_IB], [0, 1]]: r_IP = R_IB r_BP + r_IB.

They take points from the body to the world frame. Source: Kindr kinematics sheet.
"""

import numpy as np

from rbdyn_ros.geometry import arguments


def transform(R, r) -> np.ndarray:
    """T of a rotation matrix R (..., 3, 3) and a position r (..., 3) [m, world]."""
    R, r = arguments.rotation_matrix(R, "R"), arguments.array(r, "r", 3)
    T = np.zeros((*np.broadcast_shapes(R.shape[:-2], r.shape[:-1]), 4, 4))
    T[..., :3, :3], T[..., :3, 3], T[..., 3, 3] = R, r, 1.0
    return T


def rotation(T) -> np.ndarray:
    """R, the rotation of a transform."""
    return arguments.transform(T, "T")[..., :3, :3]


def position(T) -> np.ndarray:
    """r, the position of a transform [m, world]."""
    return arguments.transform(T, "T")[..., :3, 3]


def inverse(T) -> np.ndarray:
    """T_BI = [[R^T, -R^T r], [0, 1]]."""
    R_t = np.swapaxes(rotation(T), -1, -2)
    return transform(R_t, -(R_t @ position(T)[..., None])[..., 0])


def apply(T, x) -> np.ndarray:
    """The point x (..., 3) [m, body] in the world frame: R x + r."""
    return (rotation(T) @ arguments.array(x, "x", 3)[..., None])[..., 0] + position(T)
