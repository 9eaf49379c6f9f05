"""How much delay and gain the linear loop of a law stands, from the law's own derivative at upright.

With u = -K e per axis, K by central differences of the law, and (A, B) of the stepper over the control period h,

    L(z) = K (z - A)^-1 B,   z = exp(j w h):    1 + g L(z) exp(-j w d) = 0   at the edge of stability,

for a delay d with |L| = 1 and d = (pi + arg L) / w, for a gain g with arg L = pi and g = 1 / |L|.
"""

import math
from typing import NamedTuple

import numpy as np

from rbdyn_ros.evaluation import course
from rbdyn_ros.models import measurements, spherical_pendulum, step_linearisation
from rbdyn_ros.types import Array, State, System

GRID = 5000  # frequencies, up to that of the sampling
_STEP = 1e-6  # of the differences, in each of x, x', th, th'
# Of xi = (x, y, theta (3), x', y', w (3), bias (3)) for the axis x: a lean towards +x is a turn about +y.
_AXIS = (0, 5, 3, 8)


class Margins(NamedTuple):
    """The linear loop's."""

    delay: float  # [s]
    gain_low: float
    gain_high: float


def of_law(law, params, h: float) -> Margins:
    """The margins of a law at the plant `params`, its force held for h [s]."""
    return margins(spherical_pendulum.build(params), gains(law), h)


def stands(bench, conditions, settings, gain: float = 1.0) -> bool:
    """Whether the motion decays that begins with a lean of settings["tilt"] [deg], small enough for the theory; seen in a run."""
    start = spherical_pendulum.upright(math.radians(settings["tilt"]))
    return course.decays(bench.run(conditions, start, settings["duration"], gain=gain, stop=course.Calm(patient=True)))


def gains(law, reference=(0.0, 0.0)) -> Array:
    """K (4,) of u_x = -K (x, x', th, th') at upright rest."""
    upright, K = spherical_pendulum.upright(), np.zeros(4)
    for i, place in enumerate(_AXIS):
        xi = np.zeros(measurements.SIZE)
        xi[place] = _STEP
        ahead, behind = (_force(law, measurements.moved(upright, sign * xi), reference) for sign in (1.0, -1.0))
        K[i] = -(ahead - behind) / (2.0 * _STEP)
    return K


def margins(system: System, K: Array, h: float) -> Margins:
    """The margins of the loop of K (4,), held for h [s]; inf or 0 where there is no edge, nan if it is unstable."""
    A, B = step_linearisation.upright(system, h)
    if np.abs(np.linalg.eigvals(A - B * K)).max() >= 1.0:
        return Margins(math.nan, math.nan, math.nan)
    w = np.geomspace(1e-2, math.pi / h, GRID)
    z = np.exp(1j * h * w)
    L = np.linalg.solve(z[:, None, None] * np.eye(4) - A, B[None])[..., 0] @ K
    delays = [((math.pi + angle) % (2.0 * math.pi)) / at for at, angle in _crossings(w, np.log(np.abs(L)), np.angle(L))]
    edges = [math.exp(-size) for _, size in _crossings(w, np.sin(np.angle(L)), np.log(np.abs(L)), np.cos(np.angle(L)) < 0.0)]
    edges.append(1.0 / abs(L[-1]))  # at half the sampling rate L is real
    low, high = [g for g in edges if g < 1.0], [g for g in edges if g > 1.0]
    return Margins(float(min(delays, default=math.inf)), float(max(low, default=0.0)), float(min(high, default=math.inf)))


def _force(law, state: State, reference) -> float:
    law.reset()
    return float(law.command(0.0, state, np.array(reference))[0])


def _crossings(w: Array, zero: Array, value: Array, where: Array | None = None) -> list:
    """(w, value) where `zero` changes its sign, by linear interpolation, among the samples `where`."""
    i = np.flatnonzero(np.diff(np.sign(zero)) != 0.0)
    i = i if where is None else i[where[i] & where[i + 1]]
    part = zero[i] / (zero[i] - zero[i + 1])
    return list(zip(w[i] + part * (w[i + 1] - w[i]), value[i] + part * (value[i + 1] - value[i])))
