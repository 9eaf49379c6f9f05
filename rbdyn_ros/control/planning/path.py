"""A planned motion as a path: where a state may join it, the feedback about it, and whether that
arrives.

A motion from hanging lies in one plane, and the plant does not depend on the azimuth: turned about
the vertical by any angle it is a motion as well. All states here are those of `ddp`, in the
motion's own axes unless said.
"""

import math
from typing import NamedTuple

import numpy as np

from rbdyn_ros.control.planning.catching import NARROW, is_catchable
from rbdyn_ros.control.planning.ddp import SIZE, advance, as_sphere
from rbdyn_ros.kernel import inlined, kernel
from rbdyn_ros.numerics.saturation import saturate
from rbdyn_ros.types import Array

FALLING = 1.0  # [rad] tilt below which the regulator takes over at the motion's end


class Path(NamedTuple):
    """A motion with the regulator about it."""

    states: Array  # (N + 1, 10)
    forces: Array  # (N, 2) [N]
    gains: Array  # (N, 2, 10)
    forms: Array  # (N + 1, 10, 10)
    h: float  # [s] between two nodes


@kernel
def as_ten(s):
    """Return the ten numbers of s = (k, k', x, x')."""
    k, dk, x, dx = s
    return np.array((k[0], k[1], k[2], dk[0], dk[1], dk[2], x[0], x[1], dx[0], dx[1]))


@kernel
def rotate(s, angle):
    """Return the ten numbers of a state, turned about the vertical by `angle` [rad]."""
    c, d, t = math.cos(angle), math.sin(angle), s.copy()
    for i in (0, 3, 6, 8):
        t[i], t[i + 1] = c * s[i] - d * s[i + 1], d * s[i] + c * s[i + 1]
    return t


@kernel
def force_at(path, time, s, limit):
    """Return the force (2,) [N] at a time [s] of the motion in the state s: u_i - K_i (s - s_i),
    cut at the limit.
    """
    i = min(int(time / path.h + 1e-9), len(path.forces) - 1)
    part, u = time / path.h - i, path.forces[i].copy()
    for j in range(SIZE):
        away = s[j] - ((1.0 - part) * path.states[i, j] + part * path.states[i + 1, j])
        u[0] -= path.gains[i, 0, j] * away
        u[1] -= path.gains[i, 1, j] * away
    return saturate(u[0], u[1], limit)


@kernel
def arrives(path, criteria, p3, time, s):
    """Return whether the plant, simulated along the rest of the motion, stays within the travel
    and can be caught at its end.
    """
    here, after = s.copy(), s.copy()
    first = int(time / path.h + 1e-9)
    for i in range(first, len(path.forces)):
        ux, uy = force_at(path, i * path.h, here, criteria.force_limit)
        advance(criteria.system, p3, here, ux, uy, path.h, after)
        here[:] = after
        if math.hypot(here[6], here[7]) > NARROW * criteria.travel:
            return False
    return is_catchable(criteria, p3, as_sphere(here), (0.0, 0.0), FALLING)


@kernel
def nearest(path, s):
    """Return (angle [rad] by which the motion is turned, node) at which the cost d.S_i d of
    joining it from the state s [world] is least.
    """
    best, angle, node = math.inf, 0.0, 0
    # the planes of the rod, of its rate, of the cart and of its velocity; both ways
    for i in (0, 3, 6, 8):
        for half in (0.0, math.pi):
            turn = math.atan2(s[i + 1], s[i]) + half
            here = rotate(s, -turn)
            for n in range(len(path.forces)):
                value = _away(path, n, here)
                if value < best:
                    best, angle, node = value, turn, n
    return angle, node


@inlined
def _away(path, n, s):
    """Return d.S_n d of d = s - s_n."""
    value = 0.0
    for i in range(SIZE):
        d = s[i] - path.states[n, i]
        for j in range(SIZE):
            value += path.forms[n, i, j] * d * (s[j] - path.states[n, j])
    return value
