"""Coordinates of a floating base with joints: q = (r, quaternion, joints), u = (v, w, joint
rates).

q (..., 7 + n): r [m, world], quaternion wxyz (base to world), joint coordinates [rad or m]
u (..., 6 + n): v = dr/dt [m/s, world], w [rad/s, BODY], joint rates

u is not the derivative of q but a quasi-velocity: dq/dt = F(q) u. Source: Kindr kinematics sheet,
which calls the space of q SE(3) x R^n; it is R^3 x S^3 x R^n.
"""

import numpy as np

from rbdyn_ros.geometry import float_arrays, increments, rates


def F(q) -> np.ndarray:
    """Return F(q) = diag(1, H_bar^T / 2, 1) (..., 7 + n, 6 + n): dq/dt = F u."""
    q = check_coordinates(q)
    return _blocks(rates.inverse_mapping("quaternion", q[..., 3:7]), q)


def F_bar(q) -> np.ndarray:
    """Return F_bar(q) = diag(1, 2 H_bar, 1) (..., 6 + n, 7 + n): u = F_bar dq/dt, and F_bar F =
    1.
    """
    q = check_coordinates(q)
    return _blocks(rates.mapping("quaternion", q[..., 3:7]), q)


def boxplus(q, e) -> np.ndarray:
    """Return the configuration reached from q by the constant u in one second with u = e (..., 6 +
    n).
    """
    q = check_coordinates(q)
    e = float_arrays.array(e, "e", q.shape[-1] - 1)
    turned = increments.integrate(q[..., 3:7], e[..., 3:6], 1.0, "body")
    return np.concatenate([q[..., :3] + e[..., :3], turned, q[..., 7:] + e[..., 6:]], axis=-1)


def check_coordinates(q, joints: int | None = None) -> np.ndarray:
    """Return q as a float array. Raise ValueError if it is not finite, not of 7 + n numbers, or
    its quaternion not of norm 1.
    """
    q = float_arrays.array(q, "q", *(() if joints is None else (7 + joints,)))
    if q.ndim == 0 or q.shape[-1] < 7:
        raise ValueError(
            f"q has shape {q.shape}; it must be (..., 7 + n): position, quaternion wxyz, n joints"
        )
    return np.concatenate(
        [q[..., :3], float_arrays.unit_quaternion(q[..., 3:7], "q[3:7]"), q[..., 7:]], axis=-1
    )


def _blocks(E: np.ndarray, q: np.ndarray) -> np.ndarray:
    """Return diag(1_3, E, 1_n)."""
    rows, columns = E.shape[-2:]
    n = q.shape[-1] - 7
    A = np.zeros((*q.shape[:-1], 3 + rows + n, 3 + columns + n))
    A[..., :3, :3] = np.eye(3)
    A[..., 3 : 3 + rows, 3 : 3 + columns] = E
    A[..., 3 + rows :, 3 + columns :] = np.eye(n)
    return A
