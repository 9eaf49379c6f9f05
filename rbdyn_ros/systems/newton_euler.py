"""Newton-Euler bodies in quaternion coordinates: q = (r, Q) per body, v = (V [world], Omega [body]) per body.

    m dV/dt = F,     I dOmega/dt + Omega x I Omega = T,     dr/dt = V,     dQ/dt = Q o (0, Omega) / 2          (N.3)

The gyroscopic term counts as a force with its gradient, so that an implicit stepper treats it implicitly: explicitly
it feeds energy. q (+) w turns by the exponential; the notes' Q + h T v stretches |Q| in every step.
"""

import math
from typing import Callable

import numpy as np

from rbdyn_ros.bodies.quaternion_body import LT
from rbdyn_ros.geometry import unit_quaternion, vec
from rbdyn_ros.kernel import kernel
from rbdyn_ros.systems.arguments import number
from rbdyn_ros.systems.mechanical import Mechanical, differentiated
from rbdyn_ros.types import Array


def bodies(mass, inertia, wrench: Callable, stiffness: Callable | None = None, damping: Callable | None = None) -> Mechanical:
    """Bodies with masses (b,) [kg], principal inertias (b, 3) [kg m^2, body axes] under wrench(t, q, v) -> (6b,).

    The wrench is (force [N, world], torque [N m, body]) for each body, at its centre of mass; stiffness and damping are
    its gradients (6b, 6b), by finite differences where left out. ValueError for a mass or inertia <= 0, and for an inertia
    that no body has: one larger than the sum of the others.
    """
    m = np.array([number(x, "mass", 0.0, open_low=True) for x in np.atleast_1d(mass)])
    I = np.array([[number(x, "inertia", 0.0, open_low=True) for x in row] for row in np.atleast_2d(inertia)])
    if I.shape != (len(m), 3):
        raise ValueError(f"inertia has shape {I.shape}; it must be ({len(m)}, 3), three for each mass")
    for b, J in enumerate(I):
        if 2.0 * J.max() > J.sum() * (1.0 + 1e-12):
            raise ValueError(f"the inertia of body {b} is {tuple(map(float, J))} kg m^2; none may be larger than the sum of the others")
    n, M = 6 * len(m), np.diag(np.concatenate([np.r_[m[b], m[b], m[b], I[b]] for b in range(len(m))]))
    of_wrench_q = stiffness or (lambda t, q, v: differentiated(lambda x: wrench(t, x, v), q, n, moved))
    of_wrench_v = damping or (lambda t, q, v: differentiated(lambda x: wrench(t, q, x), v, n))
    return Mechanical(
        n,
        lambda q: M,
        lambda t, q, v: wrench(t, q, v) - gyroscopic(I, v),
        of_wrench_q,
        lambda t, q, v: of_wrench_v(t, q, v) - gyroscopic_gradient(I, v),
        tangent,
        moved,
        norms,
    )


@kernel
def gyroscopic(I, v):
    """(0, Omega x I Omega) for each body (6b,)."""
    out = np.zeros(len(v))
    for b in range(len(I)):
        at = 6 * b + 3
        w, J = (v[at], v[at + 1], v[at + 2]), (I[b, 0], I[b, 1], I[b, 2])
        out[at], out[at + 1], out[at + 2] = vec.cross(w, vec.times(J, w))
    return out


@kernel
def gyroscopic_gradient(I, v):
    """d(Omega x I Omega)/dOmega = Omega^ I - (I Omega)^, in its place (6b, 6b)."""
    out = np.zeros((len(v), len(v)))
    for b in range(len(I)):
        at = 6 * b + 3
        for i in range(3):
            j, k = (i + 1) % 3, (i + 2) % 3
            out[at + i, at + j] = (I[b, k] - I[b, j]) * v[at + k]
            out[at + i, at + k] = (I[b, k] - I[b, j]) * v[at + j]
    return out


@kernel
def tangent(q):
    """T(q) (7b, 6b): dq/dt = T v; the rotational block is half of L^T(Q)."""
    b = len(q) // 7
    T = np.zeros((7 * b, 6 * b))
    for i in range(b):
        r, c = 7 * i, 6 * i
        Q = (q[r + 3], q[r + 4], q[r + 5], q[r + 6])
        for k in range(3):
            T[r + k, c + k] = 1.0
            column = LT(Q, (0.5 * (k == 0), 0.5 * (k == 1), 0.5 * (k == 2)))
            T[r + 3, c + 3 + k], T[r + 4, c + 3 + k] = column[0], column[1]
            T[r + 5, c + 3 + k], T[r + 6, c + 3 + k] = column[2], column[3]
    return T


@kernel
def moved(q, w):
    """q (+) w: (r + w_r, Q o exp(w_Q / 2)), the rotation vector w_Q in body axes; |Q| stays up to round-off."""
    out = q.copy()
    for i in range(len(q) // 7):
        r, c = 7 * i, 6 * i
        out[r], out[r + 1], out[r + 2] = q[r] + w[c], q[r + 1] + w[c + 1], q[r + 2] + w[c + 2]
        half = (0.5 * w[c + 3], 0.5 * w[c + 4], 0.5 * w[c + 5])
        a = vec.norm(half)
        s = math.sin(a) / a if a > 0.0 else 1.0
        Q, turn = (q[r + 3], q[r + 4], q[r + 5], q[r + 6]), (math.cos(a), s * half[0], s * half[1], s * half[2])
        out[r + 3], out[r + 4], out[r + 5], out[r + 6] = unit_quaternion.product(Q, turn)
    return out


def norms(q: Array) -> tuple:
    """(|Q| - 1, its gradient) of each body: (b,), (b, 7b)."""
    b = len(q) // 7
    values, gradient = np.empty(b), np.zeros((b, 7 * b))
    for i in range(b):
        Q = q[7 * i + 3 : 7 * i + 7]
        size = np.linalg.norm(Q)
        values[i] = size - 1.0
        gradient[i, 7 * i + 3 : 7 * i + 7] = Q / max(size, np.finfo(float).tiny)
    return values, gradient
