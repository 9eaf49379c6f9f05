"""Boxes and balls on top of each other, with the statics that say whether they stand and what their contacts carry.

    tower      boxes of equal size, four corners on the box below: floor n carries the weight of all above
    overhang   boxes shifted by s L/(2 k), k = 1 at the top: stands for s < 1, the centre of mass of each part over an edge
    pyramid    three balls on a floor, one in their middle. With theta between the contact and the vertical, the moment on
               a lower ball makes friction equal above and below, so T = N tan(theta/2): stands for mu >= tan(theta/2),
               N = m g/(3 (cos theta + tan(theta/2) sin theta)) = m g/3
"""

from typing import NamedTuple

import numpy as np

from rbdyn_ros.bodies import rigid_bodies
from rbdyn_ros.mechanics.description import pairs
from rbdyn_ros.types import Array

GRAVITY = 9.81  # [m/s^2]
HALF = np.array([0.25, 0.25, 0.1])  # [m] of a box
RADIUS, CLEARANCE = 0.1, 0.002  # [m] of a ball, and between the lower ones
BOTTOM = [(x, y) for x in (-1.0, 1.0) for y in (-1.0, 1.0)]


class Stack(NamedTuple):
    """Bodies and their contacts; `level` says for each contact which joint of the stack it belongs to."""

    bodies: rigid_bodies.Bodies
    pairs: pairs.Pairs
    q: Array  # (n, 7)
    level: Array  # (k,) 0 on the floor


def tower(boxes: int = 5, top: float = 1.0, drop: float = 0.01, mu: float = 0.5) -> Stack:
    """Boxes of 1 kg, the topmost `top` kg, let go with gaps of `drop` [m] between all of them."""
    mass = np.ones(boxes)
    mass[-1] = top
    touches = [pairs.corner(i, (x * HALF[0], y * HALF[1], -HALF[2]), **_top_of(i), mu=mu) for i in range(boxes) for x, y in BOTTOM]
    heights = HALF[2] + (2.0 * HALF[2] + drop) * np.arange(boxes) + drop
    return _stack(mass, [_box_inertia(m) for m in mass], [(0.0, 0.0, z) for z in heights], touches, np.repeat(np.arange(boxes), 4))


def overhang(boxes: int = 4, share: float = 0.98, mu: float = 0.5) -> Stack:
    """Boxes of 1 kg, each pushed out over the one below by `share` of what statics allows, the lowest over a table's edge x = 0."""
    shift = share * HALF[0] / np.arange(boxes, 0, -1)
    x = np.cumsum(shift) - HALF[0]
    touches = []
    for i in range(boxes):
        edge = HALF[0] - shift[i]  # of what is below, seen from box i
        touches += [pairs.corner(i, (-HALF[0], y * HALF[1], -HALF[2]), **_top_of(i), mu=mu) for y in (-1.0, 1.0)]
        if i == 0:
            touches += [pairs.corner(0, (edge, y * HALF[1], -HALF[2]), mu=mu) for y in (-1.0, 1.0)]
        else:
            below = {"b": i, "n": (0.0, 0.0, -1.0), "s": (0.0, 0.0, -HALF[2]), "mu": mu}
            touches += [pairs.corner(i - 1, (HALF[0], y * HALF[1], HALF[2]), **below) for y in (-1.0, 1.0)]
    heights = HALF[2] * (2.0 * np.arange(boxes) + 1.0)
    positions = np.column_stack([x, np.zeros(boxes), heights])
    return _stack(np.ones(boxes), [_box_inertia(1.0)] * boxes, positions, touches, np.repeat(np.arange(boxes), 4))


def pyramid(mu: float = 0.4) -> Stack:
    """Four balls of 1 kg, touching: three on the floor (balls 0 to 2), one on them."""
    angle = 2.0 * np.pi / 3.0 * np.arange(3)
    out = 2.0 * RADIUS * np.sin(steepness())
    positions = [(out * np.cos(a), out * np.sin(a), RADIUS) for a in angle]
    positions.append((0.0, 0.0, RADIUS * (1.0 + 2.0 * np.cos(steepness()))))
    touches = [pairs.ball(i, RADIUS, mu=mu) for i in range(3)]
    touches += [pairs.balls(3, RADIUS, i, RADIUS, mu=mu) for i in range(3)]
    touches += [pairs.balls((i + 1) % 3, RADIUS, i, RADIUS, mu=mu) for i in range(3)]
    return _stack(np.ones(4), [(0.4 * RADIUS**2,) * 3] * 4, positions, touches, np.repeat(np.arange(3), 3))


def steepness() -> float:
    """theta: angle between the vertical and the line from an upper to a lower centre of the pyramid [rad]."""
    return float(np.arcsin((2.0 * RADIUS + CLEARANCE) / (2.0 * RADIUS * np.sqrt(3.0))))


def _top_of(i: int) -> dict:
    """The plane that box i stands on: of the box below, or the floor."""
    return {} if i == 0 else {"b": i - 1, "s": (0.0, 0.0, HALF[2])}


def _box_inertia(mass: float) -> Array:
    return mass / 3.0 * (np.sum(HALF**2) - HALF**2)


def _stack(mass, inertia, positions, touches, level) -> Stack:
    bodies = rigid_bodies.build(mass, inertia, (0.0, 0.0, -GRAVITY))
    return Stack(bodies, pairs.build(len(mass), *touches), rigid_bodies.configuration(bodies, positions), level)
