"""A follower on a spring that a cam pushes: mu u'' + zeta u' + kappa u = f_v while u > c(t),
rebound r at contact.

Two forms of one machine: the follower itself under a wall that moves, y = u - c(t); and the notes'
shifted one,

    mu y'' + zeta y' + kappa y = f_v - (mu c'' + zeta c' + kappa c) = f(t),     0 <= y       (N.27)

which is linear with constant matrices and takes c'' as a force.

The cam's outline under the knife-edge follower is three circular arcs and a dwell. Seen from the
shaft at the angle b, folded into [0, pi], an arc of radius R whose center is at the distance a is
at

    rho(b) = -a cos x + s,     s = sqrt(R^2 - a^2 sin^2 x),     x = b + phi                  (N.26)
    rho' = a sin x - a^2 sin x cos x / s,     rho'' = a cos x - (a^2 cos 2x + s'^2) / s

and c = rho - 0.3 [m]. c and c' are continuous, c'' jumps where the arcs meet. The profile is that
of the cam follower in the Siconos tutorials, whose notes describe the machine and leave the
profile out.
"""

import math
from typing import NamedTuple

import numpy as np

from rbdyn_ros.kernel import kernel
from rbdyn_ros.mechanics.network import laws, second_order
from rbdyn_ros.mechanics.network.second_order import Network, network
from rbdyn_ros.numerics.arguments import number
from rbdyn_ros.types import Array

_BASE, _LIFT = 0.4, 0.3  # radius of the base circle, zero of c [m]
_FLANK = (0.45, 0.85, -math.pi / 2.0)  # a, R [m], phi [rad]
_NOSE = (0.40393320723821, 0.15, math.pi / 9.0)
_FLANK_STARTS = math.pi / 2.0
_NOSE_STARTS = math.pi / 2.0 + 1.050328174371336
_DWELL_STARTS = math.pi / 2.0 + 1.22173047639603
START = math.pi / 2.0  # the cam's angle at t = 0 [rad]


class Params(NamedTuple):
    """The machine; its numbers are those of the notes, f_v = 0."""

    rpm: float  # [1/min]
    mass: float = 1.221  # mu [kg]
    damping: float = 0.0  # zeta [N s/m]
    stiffness: float = 1430.8  # kappa [N/m]
    restitution: float = 0.8  # r


def check(params: Params) -> Params:
    """ValueError for numbers out of range; the damping must leave the follower oscillating."""
    number(params.rpm, "the cam's rpm", 0.0, open_low=True)
    for name in ("mass", "stiffness"):
        number(getattr(params, name), f"the follower's {name}", 0.0, open_low=True)
    number(
        params.damping,
        "the follower's damping",
        0.0,
        2.0 * math.sqrt(params.mass * params.stiffness) * (1.0 - 1e-9),
    )
    number(params.restitution, "the follower's restitution", 0.0, 1.0)
    return params


def rate(params: Params) -> float:
    """The cam's angular velocity [rad/s]."""
    return 2.0 * math.pi * params.rpm / 60.0


def revolution(params: Params) -> float:
    """One turn of the cam [s]."""
    return 60.0 / params.rpm


def build(params: Params) -> Network:
    """The follower, q = (u,), under the moving wall."""
    check(params)
    w = rate(params)
    follower = second_order.linear(params.mass, params.damping, params.stiffness)
    wall = second_order.above(lambda t: motion(w, t)[0], lambda t: motion(w, t)[1])
    return network(
        follower, second_order.interaction(wall, laws.newton_impact(params.restitution))
    )


def build_shifted(params: Params) -> Network:
    """The shifted follower, q = (y,) (N.27)."""
    check(params)
    follower = second_order.linear(
        params.mass,
        params.damping,
        params.stiffness,
        lambda t: cam_force(params, np.array([t]))[0],
    )
    return network(
        follower,
        second_order.interaction(
            second_order.linear_relation([[1.0]]), laws.newton_impact(params.restitution)
        ),
    )


def cam_force(params: Params, times: Array) -> Array:
    """f(t) (k, 1) [N] of (N.27)."""
    c, dc, ddc = motions(rate(params), times).T
    return -(params.mass * ddc + params.damping * dc + params.stiffness * c)[:, None]


def initial_state(params: Params, lift: float = 0.4, velocity: float = 0.4) -> tuple[float, float]:
    """(u, v) at t = 0: `lift` [m] above the cam; the notes' start."""
    return motion(rate(params), 0.0)[0] + lift, velocity


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
