"""Newton-Euler bodies in quaternion coordinates: q = (r, Q) per body, v = (V [world], Omega [body]) per body.

    m dV/dt = F,     I dOmega/dt + Omega x I Omega = T,     dr/dt = V,     dQ/dt = Q o (0, Omega) / 2          (N.3)

The gyroscopic term counts as a force with its gradient, so that an implicit stepper treats it implicitly: explicitly
it feeds energy. q (+) w turns by the exponential; the notes' Q + h T v stretches |Q| in every step.
"""

from typing import Callable

import numpy as np

from rbdyn_ros.bodies.quaternion_body import LT
from rbdyn_ros.geometry import unit_quaternion
from rbdyn_ros.geometry.so3 import hat
from rbdyn_ros.systems.arguments import number
from rbdyn_ros.systems.mechanical import Mechanical, differentiated
from rbdyn_ros.types import Array


def bodies(mass, inertia, wrench: Callable, stiffness: Callable | None = None, damping: Callable | None = None) -> Mechanical:
    """Bodies with masses (b,) [kg], principal inertias (b, 3) [kg m^2, body axes] under wrench(t, q, v) -> (6b,).

    The wrench is (force [N, world], torque [N m, body]) for each body, at its centre of mass; stiffness and damping are
    its gradients (6b, 6b), by finite differences where left out. ValueError for a mass or inertia <= 0.
    """
    m = np.array([number(x, "mass", 0.0, open_low=True) for x in np.atleast_1d(mass)])
    I = np.array([[number(x, "inertia", 0.0, open_low=True) for x in row] for row in np.atleast_2d(inertia)])
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


def gyroscopic(I: Array, v: Array) -> Array:
    """(0, Omega x I Omega) for each body (6b,)."""
    out = np.zeros_like(v)
    for b, J in enumerate(I):
        w = v[6 * b + 3 : 6 * b + 6]
        out[6 * b + 3 : 6 * b + 6] = np.cross(w, J * w)
    return out


def gyroscopic_gradient(I: Array, v: Array) -> Array:
    """d(Omega x I Omega)/dOmega = Omega^ I - (I Omega)^, in its place (6b, 6b)."""
    out = np.zeros((len(v), len(v)))
    for b, J in enumerate(I):
        at, w = slice(6 * b + 3, 6 * b + 6), v[6 * b + 3 : 6 * b + 6]
        out[at, at] = hat(w) * J - hat(J * w)
    return out


def tangent(q: Array) -> Array:
    """T(q) (7b, 6b): dq/dt = T v; the rotational block is half of L^T(Q)."""
    b = len(q) // 7
    T = np.zeros((7 * b, 6 * b))
    for i in range(b):
        Q = tuple(q[7 * i + 3 : 7 * i + 7])
        T[7 * i : 7 * i + 3, 6 * i : 6 * i + 3] = np.eye(3)
        T[7 * i + 3 : 7 * i + 7, 6 * i + 3 : 6 * i + 6] = 0.5 * np.column_stack([LT(Q, tuple(e)) for e in np.eye(3)])
    return T


def moved(q: Array, w: Array) -> Array:
    """q (+) w: (r + w_r, Q o exp(w_Q / 2)), the rotation vector w_Q in body axes; Q comes out unit up to round-off."""
    out = q.copy()
    for i in range(len(q) // 7):
        out[7 * i : 7 * i + 3] += w[6 * i : 6 * i + 3]
        half = 0.5 * w[6 * i + 3 : 6 * i + 6]
        a = float(np.sqrt(half @ half))
        s = np.sinc(a / np.pi)  # sin(a) / a
        turn = (np.cos(a), s * half[0], s * half[1], s * half[2])
        out[7 * i + 3 : 7 * i + 7] = unit_quaternion.product(tuple(q[7 * i + 3 : 7 * i + 7]), turn)
    return out


def norms(q: Array) -> tuple:
    """(|Q| - 1, its gradient) of each body: (b,), (b, 7b)."""
    b = len(q) // 7
    values, gradient = np.empty(b), np.zeros((b, 7 * b))
    for i in range(b):
        Q = q[7 * i + 3 : 7 * i + 7]
        size = np.linalg.norm(Q)
        values[i] = size - 1.0
        gradient[i, 7 * i + 3 : 7 * i + 7] = Q / size
    return values, gradient
