"""The margins of a loop of one axis by its frequency response L: the factors, the phase and the
delay with which it becomes unstable, and how near L comes to -1.

Source: K. J. Astrom and R. M. Murray, Feedback Systems, 2nd ed. (2021), chapter 10; P. Seiler, A.
Packard, P. Gahinet, An introduction to disk margins, IEEE Control Systems 40 (2020) 78.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple, cast

import numpy as np
from scipy.interpolate import CubicSpline
from scipy.optimize import brentq, minimize_scalar

from rbdyn_ros.types import Array


class AxisMargins(NamedTuple):
    """The margins of one axis; inf where there is no such crossing in the band.

    gain: 1 / |L| where L < 0 is real;      phase: pi + arg L where |L| = 1;          (F.4)
    delay: phase / w at the same place, the least;          (F.5)
    disk: alpha = 1 / max |S - 1/2|, which tolerates every factor between (2 - alpha)/(2 + alpha)
    and its inverse, and every phase up to 2 atan(alpha / 2).          (F.6)
    """

    gain_up: float  # factor on the force that makes the loop unstable, > 1
    gain_down: float  # the same below 1; 0: none
    phase: float  # [degrees]
    crossover: float  # [Hz] where |L| = 1, the highest
    delay: float  # [s]
    disk: float  # alpha
    sensitivity: float  # max |S|
    complementary: float  # max |T|


def margins(frequency: Array, loop: Array) -> AxisMargins:
    """Return the margins of L (n,) at frequencies [Hz]; between them L is interpolated, its
    logarithm by cubic splines in the logarithm of the frequency.
    """
    w = np.log(frequency)
    size, turn = _splines(w, loop)

    def at(places: Any) -> Array:
        return np.exp(size(places) + 1j * turn(places))

    f, phases, _, gains = crossings(frequency, loop)

    def largest_distance(center: float) -> float:  # of S
        return _peak(w, lambda places: np.abs(1.0 / (1.0 + at(places)) - center))

    found = AxisMargins(
        gain_up=gains[gains > 1.0].min(initial=math.inf),
        gain_down=gains[gains < 1.0].max(initial=0.0),
        phase=np.degrees(np.minimum(phases, 2.0 * math.pi - phases)).min(initial=math.inf),
        crossover=f.max(initial=0.0) or math.inf,
        delay=(phases / (2.0 * math.pi * f)).min(initial=math.inf),
        disk=1.0 / largest_distance(0.5),
        sensitivity=largest_distance(0.0),
        complementary=largest_distance(1.0),
    )
    return AxisMargins(*map(float, found))


class Crossings(NamedTuple):
    """The places where L crosses the unit circle, and the negative real axis."""

    unit: Array  # [Hz] where |L| = 1
    phases: Array  # how far L may turn clockwise to -1 there [rad], from 0 to 2 pi
    real: Array  # [Hz] where L < 0 is real
    gains: Array  # 1 / |L| there


def crossings(frequency: Array, loop: Array) -> Crossings:
    """Return the crossings of L (n,) at frequencies [Hz], interpolated as in `margins`."""
    w = np.log(frequency)
    size, turn = _splines(w, loop)
    unit = np.array(_roots(w, size))
    real = np.array(_roots(w, lambda place: np.sin(turn(place))))
    real = real[np.cos(turn(real)) < 0.0]
    phases = (math.pi + turn(unit)) % (2.0 * math.pi)
    return Crossings(np.exp(unit), phases, np.exp(real), np.exp(-size(real)))


def one_at_a_time(loop: Array) -> Array:
    """Return the loop (n, m) of each axis while those of the others are closed, 1 / S_ii - 1, of
    L (n, m, m).
    """
    S = np.linalg.inv(np.eye(loop.shape[-1]) + loop)
    return 1.0 / np.diagonal(S, axis1=1, axis2=2) - 1.0


def disk_margin(frequency: Array, loop: Array) -> float:
    """Return alpha of (F.6) for all m axes at once, L (n, m, m) at frequencies [Hz]; between them
    the loops of the axes are interpolated as in `margins`, and what couples them by cubic splines.

    It is at most that of `one_at_a_time`, since one axis that changes is a change of all.
    """
    w, m = np.log(frequency), loop.shape[-1]
    coupling = CubicSpline(w, loop)
    own = [_splines(w, loop[:, i, i]) for i in range(m)]

    def distance(places: Any) -> Array:
        L = coupling(places)
        for i, (size, turn) in enumerate(own):
            L[..., i, i] = np.exp(size(places) + 1j * turn(places))
        S = np.linalg.inv(np.eye(m) + L)
        return np.linalg.norm(S - 0.5 * np.eye(m), 2, axis=(-2, -1))

    # the two interpolate differently
    single = (margins(frequency, own).disk for own in one_at_a_time(loop).T)
    return min(1.0 / _peak(w, distance), *single)


def _splines(w: Array, loop: Array) -> tuple[CubicSpline, CubicSpline]:
    """Return log |L| and arg L as functions of the logarithm of the frequency."""
    return CubicSpline(w, np.log(np.abs(loop))), CubicSpline(w, np.unwrap(np.angle(loop)))


def _peak(w: Array, function: Callable[[Any], Array]) -> float:
    """Return the maximum of a function, refined around the largest of a fine grid."""
    grid = np.linspace(w[0], w[-1], 20 * len(w))
    values = function(grid)
    i = int(values.argmax())
    around = grid[max(0, i - 1)], grid[min(len(grid) - 1, i + 1)]
    found = minimize_scalar(lambda place: -float(function(place)), bounds=around, method="bounded")
    return max(float(values[i]), -float(found.fun))


def _roots(grid: Array, function: Callable[[Any], Any]) -> list[float]:
    """Return the places where a function changes its sign between those of a grid."""
    values = function(grid)
    changes = np.flatnonzero(values[:-1] * values[1:] < 0.0)
    return [float(cast(float, brentq(function, *grid[i : i + 2]))) for i in changes]
