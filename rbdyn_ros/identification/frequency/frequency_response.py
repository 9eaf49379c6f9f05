"""The frequency response of a loop that is broken where the force enters the plant, and its
margins.

The law gives u_c, the excitation d is added, u = u_c + d acts. With the plant P and the law C,
both as the loop is run (sampled, held, delayed), and L = C P,

    u_c = -L u,   u = S d,   u_c = -T d,   S = (1 + L)^-1,   T = L (1 + L)^-1.          (F.2)

Two runs, one with d along x and one along y, give two columns each of the spectra U_c and U at
every frequency of d, and

    L = -U_c U^-1          (F.3)

for both axes together, 2 x 2. The noise of sensors is in U_c and U, but not in d: with the mean of
the periods in the place of the spectra (F.3) is the ratio of the cross spectra with d, which has
no bias from noise in the loop. The same runs give the plant from u to any output y, P = Y U^-1.

Margins are those of one axis, L(j w):

    gain: 1 / |L| where L < 0 is real;      phase: pi + arg L where |L| = 1;          (F.4)
    delay: phase / w at the same place, the least;          (F.5)
    disk: alpha = 1 / max |S - 1/2|, which tolerates every factor between (2 - alpha)/(2 + alpha)
    and its inverse, and every phase up to 2 atan(alpha / 2).          (F.6)

For the loop of 2 x 2, |S - 1/2| is the largest singular value of S - I/2: any factor or phase
within these bounds in both axes at once.

Source: K. J. Astrom and R. M. Murray, Feedback Systems, 2nd ed. (2021), chapters 10 and 13; P.
Seiler, A. Packard, P. Gahinet, An introduction to disk margins, IEEE Control Systems 40 (2020) 78.
"""

import math
from collections.abc import Callable
from typing import NamedTuple, cast

import numpy as np
from scipy.interpolate import CubicSpline
from scipy.optimize import brentq

from rbdyn_ros.control.linear_controller import LinearController
from rbdyn_ros.identification.excitation import Multisine
from rbdyn_ros.types import Array


class Response(NamedTuple):
    """The frequency responses of a loop at the plant's input, for m axes of the force: 2, or the
    one along which it was excited.
    """

    frequency: Array  # (n,) [Hz], ascending
    loop: Array  # L (n, m, m)
    plant: Array  # P (n, 4, m) from the force [N] to x, y [m] and th_x, th_y [rad]
    coherence: Array  # (n, m) of each axis's u_c with d, over the periods; 1 without noise
    axes: str = "xy"

    @property
    def sensitivity(self) -> Array:
        """The sensitivity S of (F.2), (n, m, m)."""
        return np.linalg.inv(np.eye(len(self.axes)) + self.loop)

    @property
    def complementary(self) -> Array:
        """The complementary sensitivity T of (F.2), (n, m, m)."""
        return self.loop @ self.sensitivity


class AxisMargins(NamedTuple):
    """The margins (F.4) to (F.6) of one axis; inf where there is no such crossing in the band."""

    gain_up: float  # factor on the force that makes the loop unstable, > 1
    gain_down: float  # the same below 1; 0: none
    phase: float  # [degrees]
    crossover: float  # [Hz] where |L| = 1, the highest
    delay: float  # [s]
    disk: float  # alpha
    sensitivity: float  # max |S|
    complementary: float  # max |T|


def estimate(
    sine: Multisine, command: Array, applied: Array, outputs: Array, axes: str = "xy"
) -> Response:
    """Return the response from p whole periods of m runs, with the excitation along each of the
    `axes`.

    `command` u_c and `applied` u are (m, p, N, 2) [N], `outputs` (m, p, N, 4). From one run alone,
    the response of that axis is computed as if no force acted along the other.
    """
    own = ["xy".index(axis) for axis in axes]
    U_c, U, Y = (
        np.fft.rfft(signal, axis=2)[:, :, sine.lines]
        for signal in (command[..., own], applied[..., own], outputs)
    )
    means = [np.moveaxis(spectra.mean(axis=1), 0, -1) for spectra in (U_c, U, Y)]  # (n, ..., m)
    inverse = np.linalg.inv(means[1])
    along = np.stack([U_c[run, :, :, run] for run in range(len(axes))])  # (m, p, n)
    power = np.mean(np.abs(along) ** 2, axis=1)
    coherence = np.abs(along.mean(axis=1)) ** 2 / np.where(power > 0.0, power, 1.0)
    return Response(sine.frequencies, -means[0] @ inverse, means[2] @ inverse, coherence.T, axes)


def margins(frequency: Array, loop: Array) -> AxisMargins:
    """Return the margins of L (n,) at frequencies [Hz]; between them L is interpolated, its
    logarithm by cubic splines in the logarithm of the frequency.
    """
    w, log = np.log(frequency), np.log(np.abs(loop))
    size, turn = CubicSpline(w, log), CubicSpline(w, np.unwrap(np.angle(loop)))

    def at(place: float) -> complex:
        return np.exp(size(place) + 1j * turn(place))

    # how far L may turn clockwise to -1 [rad], from 0 to 2 pi, and the frequency
    phases = [
        ((math.pi + float(np.angle(at(place)))) % (2.0 * math.pi), math.exp(place))
        for place in _roots(w, size)
    ]
    gains = [
        1.0 / abs(at(place))
        for place in _roots(w, lambda place: np.sin(turn(place)))
        if at(place).real < 0.0
    ]
    fine = np.linspace(w[0], w[-1], 20 * len(w))
    L = np.exp(size(fine) + 1j * turn(fine))
    S = 1.0 / (1.0 + L)
    return AxisMargins(
        gain_up=min((g for g in gains if g > 1.0), default=math.inf),
        gain_down=max((g for g in gains if g < 1.0), default=0.0),
        phase=min(
            (math.degrees(min(phase, 2.0 * math.pi - phase)) for phase, _ in phases),
            default=math.inf,
        ),
        crossover=max((f for _, f in phases), default=math.inf),
        delay=min((phase / (2.0 * math.pi * f) for phase, f in phases), default=math.inf),
        disk=1.0 / np.abs(S - 0.5).max(),
        sensitivity=np.abs(S).max(),
        complementary=np.abs(L * S).max(),
    )


def _roots(grid: Array, function: Callable[[float], float]) -> list[float]:
    """Return the places where a function changes its sign between those of a grid."""
    values = [float(function(place)) for place in grid]
    return [
        float(cast(float, brentq(function, a, b)))
        for a, b, p, q in zip(grid, grid[1:], values, values[1:])
        if p * q < 0.0
    ]


def disk_margin(S: Array) -> float:
    """Return alpha of (F.6) for all m axes at once, S (n, m, m)."""
    half = 0.5 * np.eye(S.shape[-1])
    return float(1.0 / np.linalg.norm(S - half, 2, axis=(1, 2)).max())


def singular_values(matrices: Array) -> Array:
    """Return the singular values (n, m) of each of (n, m, m), the largest first."""
    return np.linalg.svd(matrices, compute_uv=False)


def predict(
    A: Array, B: Array, controller: LinearController, h: float, frequency: Array, tau: float = 0.0
) -> Array:
    """Return L (n,) of u = -K(z) e for e_{k+1} = A e_k + B u_k, in steps of h [s], with a dead
    time tau [s]:

    L(z) = K(z) (z - A)^-1 B exp(-j w tau),  z = exp(j w h).          (F.7)
    """
    turn = 2j * math.pi * frequency
    return controller.loop(A, B, np.exp(turn * h)) * np.exp(-turn * tau)
