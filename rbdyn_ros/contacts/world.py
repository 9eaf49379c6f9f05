"""What the rod and the cart can meet, one candidate at a time: floor, rail ends, obstacle.

The candidates are numbered (`NAMES`). Each has a gap g [m], negative when it is penetrated, a unit normal n out of the
obstacle [world], and the point that touches: at the height rho along the rod's axis [m, from the joint], or the cart
itself. The rod's foot is the joint; it slides in z = 0 and never meets a floor below it.
"""

from typing import NamedTuple

import numpy as np

from rbdyn_ros.geometry import unit_quaternion, vec
from rbdyn_ros.kernel import inlined, part
from rbdyn_ros.types import Contacts, State

NAMES = ("floor", "stops.x", "stops.y", "obstacle")
COUNT = 4
FLOOR, STOP_X, STOP_Y, OBSTACLE = 0, 1, 2, 3
SPHERE, HALF_SPACE = 1.0, 2.0
ON_CART = -1.0  # instead of rho


@part
def exists(C, i):
    """Whether candidate i can be met at all."""
    if i == FLOOR:
        return C.floor == 1.0
    if i == OBSTACLE:
        return C.obstacle != 0.0
    j = i - STOP_X
    return C.stop_low[j] > -1e300 or C.stop_high[j] < 1e300


def exist(C: Contacts) -> bool:
    """Whether anything can be met."""
    return any(exists(C, i) for i in range(COUNT))


def gaps(C: Contacts, state: State) -> dict:
    """The gap [m] of each candidate that can be met, by name."""
    R = unit_quaternion.matrix(tuple(state.q[2:].tolist()))
    x, d = tuple(state.q[:2].tolist()), (R[0][2], R[1][2], R[2][2])
    return {NAMES[i]: touch(C, i, x, d)[0] for i in range(COUNT) if exists(C, i)}


@inlined
def law(C, i):
    """(mu, e_n) of candidate i."""
    if i == FLOOR:
        return C.floor_friction, C.floor_restitution
    if i == OBSTACLE:
        return C.obstacle_friction, C.obstacle_restitution
    return 0.0, C.stop_restitution


@part
def touch(C, i, x, d):
    """(g, n, rho) of candidate i for the cart at x (2,) and the rod's direction d [world]."""
    if i == STOP_X or i == STOP_Y:
        j = i - STOP_X
        low, high = x[j] - C.stop_low[j], C.stop_high[j] - x[j]
        side = 1.0 if low < high else -1.0
        n = (side, 0.0, 0.0) if i == STOP_X else (0.0, side, 0.0)
        return min(low, high), n, ON_CART
    if i == FLOOR:
        return C.length * d[2] - C.floor_height, (0.0, 0.0, 1.0), C.length
    joint = (x[0], x[1], 0.0)
    if C.obstacle == HALF_SPACE:
        away = vec.sub(vec.axpy(C.length, d, joint), C.obstacle_point)
        return vec.dot(C.obstacle_normal, away), C.obstacle_normal, C.length
    rho = min(C.length, max(0.0, vec.dot(d, vec.sub(C.obstacle_point, joint))))
    away = vec.sub(vec.axpy(rho, d, joint), C.obstacle_point)
    distance = vec.norm(away)
    n = vec.scale(1.0 / distance, away) if distance > 0.0 else (0.0, 0.0, 1.0)
    return distance - C.obstacle_radius, n, rho


class Clear(NamedTuple):
    """A pose of the pendulum and how far nothing is: what need not be looked at until something has moved that far."""

    x: tuple  # (2,) [m]
    d: tuple  # (3,) the rod's direction
    cart: float  # smallest gap of what the cart can meet [m], inf if there is none, negative: not known
    rod: float  # smallest gap of what the rod can meet [m]


@part
def clear(C, x, d):
    """The Clear of this pose."""
    cart, rod = np.inf, np.inf
    for i in range(COUNT):
        if exists(C, i):
            g = touch(C, i, x, d)[0]
            if i == STOP_X or i == STOP_Y:
                cart = min(cart, g)
            else:
                rod = min(rod, g)
    return Clear(x, d, cart, rod)


@inlined
def is_open(C, clear, x, d, x_more, d_more):
    """Whether surely nothing is met at (x, d), nor x_more [m] and d_more [rad] farther: no gap closes faster than a point moves."""
    a, b = clear.x, clear.d
    slid = abs(x[0] - a[0]) + abs(x[1] - a[1]) + x_more
    turned = abs(d[0] - b[0]) + abs(d[1] - b[1]) + abs(d[2] - b[2]) + d_more
    return slid < clear.cart and slid + C.length * turned < clear.rod


@inlined
def frame(n):
    """The contact frame, rows n, t1, t2, right-handed; for n = e3 the tangents are e1, e2.

    Duff and others, "Building an orthonormal basis, revisited" (2017): no branch but the sign, no cancellation.
    """
    sign = 1.0 if n[2] >= 0.0 else -1.0
    a = -1.0 / (sign + n[2])
    b = n[0] * n[1] * a
    t1 = (1.0 + sign * n[0] * n[0] * a, sign * b, -sign * n[0])
    t2 = (b, sign + n[1] * n[1] * a, -n[1])
    return n, t1, t2
