"""Forward dynamics with Lagrange multipliers: M dv/dt = f + J^T lambda, C stabilized as a
critically damped spring (C.7, C.8).

    J dv/dt = -dJ/dt v - 2 alpha dC/dt - alpha^2 C        (Baumgarte)
    (J M^-1 J^T) lambda = -dJ/dt v - 2 alpha dC/dt - alpha^2 C - J M^-1 f

Solved by least squares, of smallest norm: redundant rows share their load; `rank` says how many
rows count, `residual` how far the system is from consistent.
"""

from typing import NamedTuple

import numpy as np

from rbdyn_ros.bodies.description import jacobian
from rbdyn_ros.kernel import kernel
from rbdyn_ros.types import Array

_RANK = 1e-11  # singular values below this, relative to the largest, are zero


class Forward(NamedTuple):
    """The accelerations and multipliers, and how consistent the joints' equations are."""

    acceleration: Array  # (n, 6) [m/s^2 world | rad/s^2 body]
    multipliers: Array  # (m,) [N] or [N m]
    rank: np.int64  # of J
    # |W lambda - b| / (1 + |b|): above round-off the rows contradict each other; nan where a
    # number is not finite
    residual: float
    # [W] of bodies with a prescribed velocity: against joints and the wrench on them (M.30)
    drive: float


@kernel
def free_acceleration(bodies, wrench, v):
    """Return M^-1 f (n, 6) of gravity, the wrench (n, 6) [N world | N m body] at the centers of
    mass and Euler's term J w x w, zero in held directions.
    """
    a = np.empty_like(v)
    for i in range(len(v)):
        J, w = bodies.inertia[i], v[i, 3:]
        for k in range(3):
            x, y = (k + 1) % 3, (k + 2) % 3
            pulled = bodies.gravity[k] + wrench[i, k] / bodies.mass[i]
            turned = (wrench[i, 3 + k] + (J[x] - J[y]) * w[x] * w[y]) / J[k]
            a[i, k] = pulled * (1.0 - bodies.held[i, k])
            a[i, 3 + k] = turned * (1.0 - bodies.held[i, 3 + k])
    return a


@kernel
def inverse_mass(bodies):
    """Return the diagonal of M^-1 (6n,), zero where a body is held."""
    inverse = np.empty_like(bodies.held)
    for i in range(len(inverse)):
        for k in range(3):
            inverse[i, k] = (1.0 - bodies.held[i, k]) / bodies.mass[i]
            inverse[i, 3 + k] = (1.0 - bodies.held[i, 3 + k]) / bodies.inertia[i, k]
    return inverse.reshape(-1)


@kernel
def forward(bodies, rows, wrench, alpha, q, v):
    """Return the Forward dynamics at q (n, 7), v (n, 6); alpha [1/s] is the rate at which errors
    of C decay.
    """
    a = free_acceleration(bodies, wrench, v)
    if len(rows.c) == 0:
        drive = -(bodies.held * v * wrench).sum()
        return Forward(a, np.zeros(0), np.int64(0), 0.0, drive)
    J, flat = jacobian.jacobian(rows, q), v.copy().reshape(-1)
    b = -jacobian.jacobian_rate(rows, q, v) @ flat - 2.0 * alpha * (J @ flat)
    b -= alpha * alpha * jacobian.values(rows, q) + J @ a.reshape(-1)
    K = J * inverse_mass(bodies)
    W = K @ J.T
    if not (
        np.isfinite(W).all() and np.isfinite(b).all()
    ):  # for which lstsq would raise an exception
        return Forward(a, np.full(len(b), np.nan), np.int64(0), np.nan, np.nan)
    multipliers, _, rank, _ = np.linalg.lstsq(W, b, _RANK)
    residual = np.linalg.norm(W @ multipliers - b) / (1.0 + np.linalg.norm(b))
    a += (K.T @ multipliers).reshape(v.shape)
    drive = -(bodies.held * v * (wrench + (J.T @ multipliers).reshape(v.shape))).sum()
    return Forward(a, multipliers, np.int64(rank), residual, drive)


@kernel
def reactions(rows, q, multipliers):
    """Return the wrench of each term of a row on its bodies (k, 2, 6): J^T lambda on a and on b,
    [N world | N m body, at the center of mass].
    """
    found = np.zeros((len(rows.kind), 2, 6))
    for i in range(len(found)):
        by_a, by_b = jacobian.term(rows, i, q)
        for k in range(6):
            if rows.a[i] >= 0:
                found[i, 0, k] = multipliers[rows.of[i]] * by_a[k]
            if rows.b[i] >= 0:
                found[i, 1, k] = multipliers[rows.of[i]] * by_b[k]
    return found
