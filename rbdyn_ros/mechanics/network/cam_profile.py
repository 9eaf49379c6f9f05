"""The cam: its outline under a knife-edge follower, three circular arcs and a dwell, and the
motion that it imposes.

Seen from the shaft at the angle b, folded into [0, pi], an arc of radius R whose centre is at the
distance a is at

    rho(b) = -a cos x + s,     s = sqrt(R^2 - a^2 sin^2 x),     x = b + phi                                   (N.26)
    rho' = a sin x - a^2 sin x cos x / s,     rho'' = a cos x - (a^2 cos 2x + s'^2) / s

and c = rho - 0.3 [m]. c and c' are continuous, c'' jumps where the arcs meet. The profile is that
of the cam follower in the Siconos tutorials, whose notes describe the machine and leave the
profile out.
"""

import math

import numpy as np

from rbdyn_ros.kernel import kernel

_BASE, _LIFT = 0.4, 0.3  # radius of the base circle, zero of c [m]
_FLANK = (0.45, 0.85, -math.pi / 2.0)  # a, R [m], phi [rad]
_NOSE = (0.40393320723821, 0.15, math.pi / 9.0)
_FLANK_STARTS = math.pi / 2.0
_NOSE_STARTS = math.pi / 2.0 + 1.050328174371336
_DWELL_STARTS = math.pi / 2.0 + 1.22173047639603
START = math.pi / 2.0  # the cam's angle at t = 0 [rad]


@kernel
def arc(a, R, x):
    """(rho, rho', rho'') of an arc (N.26)."""
    c, s = math.cos(x), math.sin(x)
    root = math.sqrt(R * R - a * a * s * s)
    slope = -a * a * s * c / root
    return -a * c + root, a * s + slope, a * c - (a * a * (c * c - s * s) + slope * slope) / root


@kernel
def outline(b):
    """(rho [m], d rho/db, d^2 rho/db^2) at the angle b [rad], any real number; right limits at the
    joints.
    """
    b = b % (2.0 * math.pi)
    sign = 1.0
    if b > math.pi:
        b, sign = 2.0 * math.pi - b, -1.0
    if b <= _FLANK_STARTS:
        return _BASE, 0.0, 0.0
    if b <= _NOSE_STARTS:
        r, d, dd = arc(_FLANK[0], _FLANK[1], b + _FLANK[2])
    elif b <= _DWELL_STARTS:
        r, d, dd = arc(_NOSE[0], _NOSE[1], b + _NOSE[2])
    else:
        r, d, dd = _NOSE[0] + _NOSE[1], 0.0, 0.0
    return r, sign * d, dd


@kernel
def motion(rate, t):
    """(c [m], dc/dt, d^2c/dt^2) of the cam that turns at `rate` [rad/s], at t [s]."""
    r, d, dd = outline(rate * t + START)
    return r - _LIFT, rate * d, rate * rate * dd


@kernel
def motions(rate, times):
    """(k, 3): `motion` at each of the times (k,)."""
    out = np.empty((len(times), 3))
    for i in range(len(times)):
        out[i, 0], out[i, 1], out[i, 2] = motion(rate, times[i])
    return out
