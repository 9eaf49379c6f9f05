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
from scipy.optimize import brentq

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
    w, log = np.log(frequency), np.log(np.abs(loop))
    size, turn = CubicSpline(w, log), CubicSpline(w, np.unwrap(np.angle(loop)))

    def at(places: Any) -> Array:
        return np.exp(size(places) + 1j * turn(places))

    places = np.array(_roots(w, size))
    f = np.exp(places)
    # how far L may turn clockwise to -1 [rad], from 0 to 2 pi
    phases = (math.pi + np.angle(at(places))) % (2.0 * math.pi)
    real = at(np.array(_roots(w, lambda place: np.sin(turn(place)))))
    gains = 1.0 / np.abs(real[np.real(real) < 0.0])
    L = at(np.linspace(w[0], w[-1], 20 * len(w)))
    S = 1.0 / (1.0 + L)
    found = AxisMargins(
        gain_up=gains[gains > 1.0].min(initial=math.inf),
        gain_down=gains[gains < 1.0].max(initial=0.0),
        phase=np.degrees(np.minimum(phases, 2.0 * math.pi - phases)).min(initial=math.inf),
        crossover=max(f, default=math.inf),
        delay=(phases / (2.0 * math.pi * f)).min(initial=math.inf),
        disk=1.0 / np.abs(S - 0.5).max(),
        sensitivity=np.abs(S).max(),
        complementary=np.abs(L * S).max(),
    )
    return AxisMargins(*map(float, found))


def _roots(grid: Array, function: Callable[[Any], Any]) -> list[float]:
    """Return the places where a function changes its sign between those of a grid."""
    values = function(grid)
    changes = np.flatnonzero(values[:-1] * values[1:] < 0.0)
    return [float(cast(float, brentq(function, *grid[i : i + 2]))) for i in changes]
