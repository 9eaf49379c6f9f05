"""A periodic path of the cart, and the motion of the rod and the force that belong to it.

Everything periodic is a Fourier series: y(t) = Re sum_n Y_n exp(j n w t). The path is given as its
coefficients X (H + 1, 2). The rod leads the cart, which no causal filter of the path can give; on
a path known for all times the bounded motion is found at once, either of the linear plant
(`harmonic`), frequency by frequency, or of the nonlinear one (`nonlinear`) by Fourier collocation.
Source: doc/control.md, (K.12) and (K.13).
"""

import math

import numpy as np

from rbdyn_ros.control import step_linearization
from rbdyn_ros.pendulum import reduced_pendulum
from rbdyn_ros.types import Array, System

SAMPLES = 128  # of a period, for collocation
KEPT = 32  # harmonics of its solution
ITERATIONS, TOLERANCE = 30, 1e-9  # of Newton; residual [1/s^2]

# A motion is (KEPT + 1, 10) coefficients of the columns x y, x' y', th_x th_y, th'_x th'_y, u_x
# u_y.


def circle(radius: float) -> Array:
    """Return the coefficients of (cos, sin) radius [m]."""
    return np.array(((0.0, 0.0), (radius, -1j * radius)))


def eight(width: float) -> Array:
    """Return the coefficients of (sin wt, sin 2wt / 2) width [m]: an eight that lies along x."""
    return np.array(((0.0, 0.0), (-1j * width, 0.0), (0.0, -0.5j * width)))


def series(terms: tuple[float, ...]) -> Array:
    """Return the coefficients from (x cos, x sin, y cos, y sin) [m] of each harmonic in turn."""
    c = np.reshape(terms, (-1, 2, 2))
    return np.vstack((np.zeros((1, 2)), c[..., 0] - 1j * c[..., 1]))


def samples(coefficients: Array) -> Array:
    """Return the series at `SAMPLES` equal times of one period, (SAMPLES, m)."""
    order = np.arange(len(coefficients))
    turns = 2j * math.pi * np.outer(np.arange(SAMPLES), order) / SAMPLES
    return np.real(np.exp(turns) @ coefficients)


def harmonic(system: System, path: Array, w: float, h: float) -> Array:
    """Return the motion of the linear stepper with a force held for h [s]: (exp(j n w h) - A) E_n
    = B U_n, C E_n = X_n.

    w [rad/s] is the path's fundamental.
    """
    A, B = step_linearization.upright(system, h)
    C = np.eye(1, 4)
    motion = np.zeros((len(path), 5, 2), complex)
    for n, X in enumerate(path):
        shift = np.exp(1j * n * w * h) * np.eye(4)
        matrix = np.block([[shift - A, -B], [C, np.zeros((1, 1))]])
        motion[n] = np.linalg.solve(matrix, np.vstack((np.zeros((4, 2)), X)))
    return motion.reshape(len(path), 10)


def nonlinear(system: System, path: Array, w: float, h: float) -> Array:
    """Return the motion of the nonlinear plant.

    Raise ValueError if Newton finds no motion of the rod about upright.

    The force is held for h [s]: it is that of the middle of the period.
    """
    order = np.arange(len(path))[:, None] * 1j * w
    x, dx, a = (samples(order**i * path) for i in range(3))
    n, dn = _rod_over(system, a, w)
    k_z = np.sqrt(1.0 - (n**2).sum(1, keepdims=True))
    dk_z = -(n * dn).sum(1, keepdims=True) / k_z
    size = np.hypot(*n.T)[:, None]
    th = np.arctan2(size, k_z) / np.where(size > 0.0, size, 1.0) * n
    k, dk = np.hstack((n, k_z)), np.hstack((dn, dk_z))
    u = [
        reduced_pendulum.force(system, 0.0, *(tuple(map(float, row)) for row in rows))
        for rows in zip(a, k, dk, dx)
    ]
    motion = (
        np.fft.rfft(np.hstack((x, dx, th, k_z * dn - n * dk_z, u)), axis=0)[: KEPT + 1] / SAMPLES
    )
    motion[1:] *= 2.0
    motion[:, 8:] *= np.exp(0.5j * h * w * np.arange(KEPT + 1))[:, None]
    return motion


def _rod_over(system: System, a: Array, w: float) -> tuple[Array, Array]:
    """Return (n, n') (SAMPLES, 2) of the rod about upright, over a cart with the accelerations a,
    by Newton's method on n'' = f(n, n', a).
    """
    D = _differentiation(w)
    n, I, size = np.zeros_like(a), np.eye(2), len(a)
    for _ in range(ITERATIONS):
        dn = D @ n
        r = D @ dn - _acceleration(system, n, dn, a)
        if not np.abs(r).max() > TOLERANCE:
            break
        J = np.kron(I, D @ D)
        for j in range(2):
            step = 1e-30j * I[j]
            by_n, by_dn = (
                np.imag(_acceleration(system, n + step, dn, a)),
                np.imag(_acceleration(system, n, dn + step, a)),
            )
            for i in range(2):
                block = J[i * size : (i + 1) * size, j * size : (j + 1) * size]
                block -= 1e30 * (np.diag(by_n[:, i]) + by_dn[:, i, None] * D)
        n = n - np.linalg.solve(J, r.T.ravel()).reshape(2, size).T
        if not (n**2).sum(1).max() < 1.0:
            raise ValueError("the rod would have to pass the horizontal")
    else:
        raise ValueError(
            f"no motion of the rod was found (residual {np.abs(r).max():.2g} 1/s^2 after "
            f"{ITERATIONS} iterations)"
        )
    return n, D @ n


def _acceleration(system: System, n: Array, dn: Array, a: Array) -> Array:
    """Return f: the first two components of k'' of `reduced_pendulum` for a given x'' = a;
    analytic in n and n'.
    """
    m, l = system.rod_mass, system.center
    J = system.inertia[0] + m * l * l
    k_z = np.sqrt(1.0 - (n**2).sum(1, keepdims=True))
    speed = (dn**2).sum(1, keepdims=True) + ((n * dn).sum(1, keepdims=True) / k_z) ** 2
    pull = a - n * (system.gravity * k_z + (n * a).sum(1, keepdims=True))
    return -(m * l / J) * pull - (system.joint_damping / J) * dn - speed * n


def _differentiation(w: float) -> Array:
    """Return d/dt of a series with the fundamental w, from its samples to its samples, (SAMPLES,
    SAMPLES).
    """
    order = np.fft.fftfreq(SAMPLES, 1.0 / SAMPLES)
    order[SAMPLES // 2] = 0.0  # the derivative of the Nyquist component vanishes at the samples
    return np.real(
        np.fft.ifft(1j * w * order[:, None] * np.fft.fft(np.eye(SAMPLES), axis=0), axis=0)
    )
