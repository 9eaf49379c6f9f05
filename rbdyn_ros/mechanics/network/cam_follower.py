"""A follower on a spring that a cam pushes: mu u'' + zeta u' + kappa u = f_v while u > c(t),
rebound r at contact.

Two forms of one machine: the follower itself under a wall that moves, y = u - c(t); and the notes'
shifted one,

    mu y'' + zeta y' + kappa y = f_v - (mu c'' + zeta c' + kappa c) = f(t),     0 <= y                       (N.27)

which is linear with constant matrices and takes c'' as a force.
"""

import math
from typing import NamedTuple

import numpy as np

from rbdyn_ros.mechanics.network import cam_profile, laws, second_order
from rbdyn_ros.mechanics.network.arguments import number
from rbdyn_ros.mechanics.network.second_order import Network, network
from rbdyn_ros.types import Array


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
    wall = second_order.above(
        lambda t: cam_profile.motion(w, t)[0], lambda t: cam_profile.motion(w, t)[1]
    )
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
    c, dc, ddc = cam_profile.motions(rate(params), times).T
    return -(params.mass * ddc + params.damping * dc + params.stiffness * c)[:, None]


def lifted(params: Params, lift: float = 0.4, velocity: float = 0.4) -> tuple:
    """(u, v) at t = 0: `lift` [m] above the cam; the notes' start."""
    return cam_profile.motion(rate(params), 0.0)[0] + lift, velocity
