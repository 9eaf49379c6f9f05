"""The contact candidates of the rod and the cart, one at a time: floor, rail ends, obstacles.

The candidates are numbered: `NAMES`, then the rows of `Contacts.obstacles`
(`pendulum.obstacles`), which move. Each has a gap g [m], negative when it is penetrated,
a unit normal n out of the obstacle [world], and the point that touches: at the height rho along
the rod's axis [m, from the joint], or the cart itself. The rod's foot is the joint; it slides in z
= 0 and never meets a floor below it.
"""

from typing import NamedTuple

import numpy as np

from rbdyn_ros.geometry import unit_quaternion, vec
from rbdyn_ros.kernel import inlined, part
from rbdyn_ros.pendulum import obstacles
from rbdyn_ros.pendulum.obstacles import ON_CART
from rbdyn_ros.types import Contacts, State, Vector

NAMES = ("floor", "stops.x", "stops.y", "obstacle")
FIXED = 4  # candidates that every world has
FLOOR, STOP_X, STOP_Y, OBSTACLE = 0, 1, 2, 3
SPHERE, HALF_SPACE = 1.0, 2.0


@inlined
def count(C):
    """Return the number of candidates."""
    return FIXED + len(C.obstacles)


@part
def is_present(C, i):
    """Return whether candidate i can be met at all."""
    if i == FLOOR:
        return C.floor == 1.0
    if i >= OBSTACLE:
        return i > OBSTACLE or C.obstacle != 0.0
    j = i - STOP_X
    return C.stop_low[j] > -1e300 or C.stop_high[j] < 1e300


def has_candidates(C: Contacts) -> bool:
    """Return whether anything can be met; in Python, since to load a kernel takes much longer."""
    number, is_there = (getattr(kernel, "py_func", kernel) for kernel in (count, is_present))
    return any(is_there(C, i) for i in range(number(C)))


def candidates(C: Contacts) -> tuple[str, ...]:
    """Return the name of each candidate: "floor" to "obstacle", then "obstacle.NAME" of each
    row.
    """
    return (*NAMES, *(f"obstacle.{name}" for name in C.obstacles["name"].tolist()))


def names(C: Contacts) -> tuple[str, ...]:
    """Return the names of the candidates, each once."""
    return tuple(dict.fromkeys(candidates(C)))


def parameter(name: str) -> str:
    """Return the group of parameters behind a candidate's name."""
    return f"contact.{name}" if name in NAMES else name


def are_equal(a: Contacts, b: Contacts) -> bool:
    """Return whether the contacts are the same."""
    return a[:-1] == b[:-1] and np.array_equal(a.obstacles, b.obstacles)


def gaps(C: Contacts, state: State, t: float = 0.0) -> dict[str, float]:
    """Return the gap [m] of everything that can be met, by name, t [s] after moving obstacles
    started.
    """
    R = unit_quaternion.matrix(tuple(state.q[2:].tolist()))
    x, d, found = tuple(state.q[:2].tolist()), (R[0][2], R[1][2], R[2][2]), {}
    for i, name in enumerate(candidates(C)):
        if is_present(C, i):
            found[name] = min(touch(C, i, x, d, t)[0], found.get(name, np.inf))
    return found


@inlined
def velocity(C, i):
    """Return the velocity of candidate i (3,) [m/s, world]."""
    if i <= OBSTACLE:
        return 0.0, 0.0, 0.0
    V = C.obstacles[i - FIXED]["velocity"]
    return V[0], V[1], V[2]


@part
def speed(C):
    """Return the largest speed of an obstacle [m/s]."""
    fastest = 0.0
    for i in range(FIXED, count(C)):
        fastest = max(fastest, vec.norm(velocity(C, i)))
    return fastest


@part
def touch(C, i, x, d, t):
    """Return (g, n, rho) of candidate i for the cart at x (2,) and the rod's direction d [world].

    t [s] is the time since obstacles that move left their places.
    """
    if i > OBSTACLE:
        return obstacles.touch(C.obstacles[i - FIXED], x, d, C.length, t)
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
    return obstacles.of_sphere(joint, C.obstacle_point, d, C.length, C.obstacle_radius)


class Clear(NamedTuple):
    """A pose of the pendulum and its clearance: nothing needs to be checked until something has
    moved that far.
    """

    x: tuple[float, float]  # [m]
    d: Vector  # the rod's direction
    # smallest gap of what the cart can meet [m], inf if there is none, negative: not known
    cart: float
    rod: float  # smallest gap of what the rod can meet [m]
    t: float  # [s] when that was so
    speed: float  # [m/s] of the fastest obstacle


@part
def clear(C, x, d, t):
    """Return the Clear of this pose at t."""
    cart, rod = np.inf, np.inf
    for i in range(count(C)):
        if is_present(C, i):
            g, n, rho = touch(C, i, x, d, t)
            if rho == ON_CART:
                cart = min(cart, g)
            else:
                rod = min(rod, g)
    return Clear(x, d, cart, rod, t, speed(C))


@inlined
def is_open(C, clear, x, d, t):
    """Return whether surely nothing is met at (x, d) until t.

    No gap closes faster than a point of the pendulum and the obstacle move.
    """
    a, b = clear.x, clear.d
    slid = abs(x[0] - a[0]) + abs(x[1] - a[1]) + clear.speed * (t - clear.t)
    turned = abs(d[0] - b[0]) + abs(d[1] - b[1]) + abs(d[2] - b[2])
    return slid < clear.cart and slid + C.length * turned < clear.rod
