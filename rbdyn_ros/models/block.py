"""A block on a slope: a rigid body on its four lower corners with Coulomb friction, and its exact slide.

The slope rises towards -x by the angle a about y; s is the way downhill. Sliding with the sign of ds/dt,

    d^2s/dt^2 = g (sin a -+ mu cos a);     it stops, and stays if tan a <= mu, else turns downhill          (N.29)
"""

import math
from typing import NamedTuple

import numpy as np

from rbdyn_ros.systems import laws, newton_euler, relations
from rbdyn_ros.systems.arguments import number
from rbdyn_ros.systems.assembly import Network, network


class Params(NamedTuple):
    """A homogeneous block and the plane under it."""

    friction: float = 0.3  # mu
    slope: float = 0.0  # a [rad]
    restitution: float = 0.0  # e
    mass: float = 1.0  # [kg]
    edges: tuple = (0.4, 0.3, 0.2)  # along x, y, z of the block [m]
    gravity: float = 9.81  # [m/s^2]


def check(params: Params) -> Params:
    """ValueError for a mass, edge or gravity <= 0, a friction < 0, e outside [0, 1], a slope that is a wall."""
    for name in ("mass", "gravity"):
        number(getattr(params, name), f"the block's {name}", 0.0, open_low=True)
    for edge in params.edges:
        number(edge, "the block's edge", 0.0, open_low=True)
    number(params.friction, "the block's friction", 0.0)
    number(params.restitution, "the block's restitution", 0.0, 1.0)
    number(params.slope, "the slope", 0.0, math.radians(89.0))
    return params


def axes(params: Params) -> tuple:
    """(normal, downhill) of the plane, unit [world]."""
    s, c = math.sin(params.slope), math.cos(params.slope)
    return np.array([s, 0.0, c]), np.array([c, 0.0, -s])


def build(params: Params) -> Network:
    """The block, q = (r, Q), and its four corners on the plane through the origin."""
    check(params)
    a, b, c = params.edges
    m, weight = params.mass, np.array([0.0, 0.0, -params.mass * params.gravity, 0.0, 0.0, 0.0])
    inertia = tuple(m / 12.0 * np.array([b * b + c * c, a * a + c * c, a * a + b * b]))
    none, (normal, _) = np.zeros((6, 6)), axes(params)
    block = newton_euler.bodies(m, inertia, lambda t, q, v: weight, lambda t, q, v: none, lambda t, q, v: none)
    law = laws.friction_3d(params.friction, params.restitution)
    corners = [(x * a / 2.0, y * b / 2.0, -c / 2.0) for x in (1.0, -1.0) for y in (1.0, -1.0)]
    return network(block, [relations.interaction(relations.point_on_plane(p, normal), law) for p in corners])


def sliding(params: Params, speed: float) -> tuple:
    """(q, v), tuples of one part: flat on the plane at the origin, at `speed` [m/s] downhill."""
    normal, downhill = axes(params)
    half = 0.5 * params.slope
    Q = (math.cos(half), 0.0, math.sin(half), 0.0)
    q = np.concatenate([normal * params.edges[2] / 2.0, Q])
    return (q,), (np.concatenate([speed * downhill, np.zeros(3)]),)


def way(params: Params, q: tuple, v: tuple) -> tuple:
    """(s [m], ds/dt [m/s]) downhill from the origin."""
    _, downhill = axes(params)
    return float(q[0][:3] @ downhill), float(v[0][:3] @ downhill)


def exact(params: Params, speed: float, t: float) -> tuple:
    """(s, ds/dt) after t [s] (N.29)."""
    pull, brake = (params.gravity * x for x in (math.sin(params.slope), params.friction * math.cos(params.slope)))
    s = 0.0
    if speed != 0.0:
        rate = pull - math.copysign(brake, speed)
        stop = -speed / rate if rate * speed < 0.0 else math.inf
        if t < stop:
            return speed * t + 0.5 * rate * t * t, speed + rate * t
        s, t = -0.5 * speed * speed / rate, t - stop
    rate = max(0.0, pull - brake)
    return s + 0.5 * rate * t * t, rate * t
