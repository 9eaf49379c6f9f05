"""Scenes of several bodies, each a start for `bodies.model.build`, with the statics and motion
that are known exactly.

chain, door, top_on_plane   bodies on joints
tower      boxes of equal size, four corners on the box below: floor n carries the weight of all
           above
overhang   boxes shifted by s L/(2 k), k = 1 at the top: stands for s < 1, the center of mass of
           each part over an edge
pyramid    three balls on a floor, one in their middle. With theta between the contact and the
           vertical, the moment on a lower ball makes friction equal above and below, so
           T = N tan(theta/2): stands for mu >= tan(theta/2),
           N = m g/(3 (cos theta + tan(theta/2) sin theta)) = m g/3
block      a block on its four lower corners, on a slope that rises towards -x by the angle a
           about y; s is the way downhill. Sliding with the sign of ds/dt,
           d^2s/dt^2 = g (sin a -+ mu cos a)                                               (N.29)
           it stops, and stays if tan a <= mu, else turns downhill
"""

import math
from typing import NamedTuple

import numpy as np

from rbdyn_ros.bodies import shapes
from rbdyn_ros.bodies.description import contact_pairs as pairs
from rbdyn_ros.bodies.description import joint_kinds
from rbdyn_ros.bodies.description.contact_pairs import Pairs
from rbdyn_ros.bodies.description.joint_kinds import Constraints
from rbdyn_ros.bodies.description.rigid_bodies import Bodies
from rbdyn_ros.bodies.description.rows import WORLD
from rbdyn_ros.geometry import quaternion
from rbdyn_ros.numerics.arguments import number
from rbdyn_ros.types import Array

GRAVITY = 9.81  # [m/s^2]
HALF = np.array([0.25, 0.25, 0.1])  # [m] of a box
FRICTION = 0.5  # mu of the boxes
RADIUS, CLEARANCE = 0.1, 0.002  # [m] of a ball, and between the lower ones
EDGE, HEIGHT = 0.9, 2.0  # [m] of the door
BOTTOM = [(x, y) for x in (-1.0, 1.0) for y in (-1.0, 1.0)]


class ModelParts(NamedTuple):
    """The arguments of `model.build(*scene)`: bodies, a start that satisfies the joints, joints,
    pairs.
    """

    bodies: Bodies
    q: Array  # (n, 7)
    v: Array  # (n, 6)
    constraints: Constraints | None = None
    pairs: Pairs | None = None


def chain(rods: int = 5) -> ModelParts:
    """Return rods of 1 kg with ball joints, hung at the origin and released from horizontal; the
    first one turns about its axis.
    """
    length, along_x = 0.4, quaternion.exp((0.0, np.pi / 2.0, 0.0))
    bodies, q, v = shapes.assemble(
        [
            shapes.rod(length, 1.0, position=(length * (i + 0.5), 0.0, 0.0), orientation=along_x)
            for i in range(rods)
        ]
    )
    near, far = (0.0, 0.0, -length / 2.0), (0.0, 0.0, length / 2.0)
    links = [joint_kinds.ball_joint(i, near, i - 1, far) for i in range(1, rods)]
    v[0, 5] = 5.0
    v[:, 1] = 0.2 * q[:, 0]  # a push sideways: the whole chain turns about z at 0.2 rad/s
    v[:, 3] = -0.2  # z of the world is -x of a rod along x
    return ModelParts(
        bodies,
        q,
        v,
        joint_kinds.assemble(rods, joint_kinds.anchor(0, near, (0.0, 0.0, 0.0)), *links),
    )


def door(lean: float = 0.3) -> ModelParts:
    """Return a door of 20 kg on two hinges, the axis leaning [rad] towards x; opened by 90 degrees
    it swings back and forth.
    """
    inertia = 20.0 / 12.0 * np.array([HEIGHT**2, EDGE**2 + HEIGHT**2, EDGE**2])
    tilted = quaternion.exp((0.0, lean, 0.0))
    axis = quaternion.rotate(tilted, np.eye(3)[2])
    opened = quaternion.product(tilted, quaternion.exp((0.0, 0.0, np.pi / 2.0)))
    center = quaternion.rotate(opened, np.array([EDGE / 2.0, 0.0, 0.0]))
    hinges = [
        joint_kinds.hinge(0, (-EDGE / 2.0, 0.0, z), WORLD, z * axis, (0.0, 0.0, 1.0), axis)
        for z in (0.6, -0.6)
    ]
    return ModelParts(*one_body(20.0, inertia, center, opened), joint_kinds.assemble(1, *hinges))


def top_on_plane() -> ModelParts:
    """Return a top of 0.5 kg whose tip slides without friction in z = 0, tilted by 0.35 rad and
    spinning with 60 rad/s.
    """
    tip, turned = np.array([0.0, 0.0, -0.05]), quaternion.exp((0.0, 0.35, 0.0))
    start = -quaternion.rotate(turned, tip), turned, (0.1, 0.0, 0.0), (0.0, 0.0, 60.0)
    plane = joint_kinds.plane(0, tip, WORLD, (0.0, 0.0, 1.0))
    return ModelParts(*one_body(0.5, (8e-4, 8e-4, 5e-4), *start), joint_kinds.assemble(1, plane))


def one_body(mass: float, inertia, *start) -> tuple[Bodies, Array, Array]:
    """Return (bodies, q, v) of one body; `start` are its position, orientation and velocities."""
    return shapes.assemble([shapes.Body(mass, tuple(inertia), *start)], (0.0, 0.0, -GRAVITY))


def tower(top: float = 1.0) -> ModelParts:
    """Return five boxes, four of 1 kg and the topmost of `top` kg, released with gaps of 1 cm
    between all of them.
    """
    mass, drop = np.array([1.0, 1.0, 1.0, 1.0, top]), 0.01
    touches = [
        pairs.corner(i, (x * HALF[0], y * HALF[1], -HALF[2]), **_top_of(i), mu=FRICTION)
        for i in range(len(mass))
        for x, y in BOTTOM
    ]
    heights = HALF[2] + (2.0 * HALF[2] + drop) * np.arange(len(mass)) + drop
    return _stack([_box(m, (0.0, 0.0, z)) for m, z in zip(mass, heights)], touches)


def overhang(share: float = 0.98) -> ModelParts:
    """Return four boxes of 1 kg, each shifted over the one below by `share` of the limit of
    statics, the lowest over a table's edge x = 0.
    """
    boxes, mu = 4, FRICTION
    shift = share * HALF[0] / np.arange(boxes, 0, -1)
    x = np.cumsum(shift) - HALF[0]
    touches = []
    for i in range(boxes):
        edge = HALF[0] - shift[i]  # of the support, in the frame of box i
        touches += [
            pairs.corner(i, (-HALF[0], y * HALF[1], -HALF[2]), **_top_of(i), mu=mu)
            for y in (-1.0, 1.0)
        ]
        if i == 0:
            touches += [pairs.corner(0, (edge, y * HALF[1], -HALF[2]), mu=mu) for y in (-1.0, 1.0)]
        else:
            below = {"b": i, "n": (0.0, 0.0, -1.0), "s": (0.0, 0.0, -HALF[2]), "mu": mu}
            touches += [
                pairs.corner(i - 1, (HALF[0], y * HALF[1], HALF[2]), **below) for y in (-1.0, 1.0)
            ]
    heights = HALF[2] * (2.0 * np.arange(boxes) + 1.0)
    positions = np.column_stack([x, np.zeros(boxes), heights])
    return _stack([_box(1.0, position) for position in positions], touches)


def pyramid(mu: float = 0.4) -> ModelParts:
    """Return four balls of 1 kg, touching: three on the floor (balls 0 to 2), one on them."""
    angle = 2.0 * np.pi / 3.0 * np.arange(3)
    out = 2.0 * RADIUS * np.sin(steepness())
    positions = [(out * np.cos(a), out * np.sin(a), RADIUS) for a in angle]
    positions.append((0.0, 0.0, RADIUS * (1.0 + 2.0 * np.cos(steepness()))))
    touches = [pairs.ball(i, RADIUS, mu=mu) for i in range(3)]
    touches += [pairs.balls(3, RADIUS, i, RADIUS, mu=mu) for i in range(3)]
    touches += [pairs.balls((i + 1) % 3, RADIUS, i, RADIUS, mu=mu) for i in range(3)]
    return _stack([shapes.sphere(RADIUS, 1.0, position=p) for p in positions], touches)


def steepness() -> float:
    """Return theta, the angle between the vertical and the line from an upper to a lower center of
    the pyramid [rad].
    """
    return float(np.arcsin((2.0 * RADIUS + CLEARANCE) / (2.0 * RADIUS * np.sqrt(3.0))))


def _top_of(i: int) -> dict:
    """Return the plane on which box i stands: of the box below, or the floor."""
    return {} if i == 0 else {"b": i - 1, "s": (0.0, 0.0, HALF[2])}


def _box(mass: float, position) -> shapes.Body:
    return shapes.box(2.0 * HALF, mass, position=position)


def _stack(parts: list[shapes.Body], touches: list) -> ModelParts:
    """Return bodies without joints, and the pairs that may touch."""
    bodies, q, v = shapes.assemble(parts, (0.0, 0.0, -GRAVITY))
    return ModelParts(bodies, q, v, None, pairs.build(len(parts), *touches))


class Block(NamedTuple):
    """A homogeneous block of 1 kg without rebound, and the plane under it."""

    friction: float = 0.3  # mu
    slope: float = 0.0  # a [rad]
    edges: tuple = (0.4, 0.3, 0.2)  # along x, y, z of the block [m]


def slope_axes(params: Block) -> tuple[Array, Array]:
    """Return (normal, downhill) of the plane, unit [world]."""
    s, c = math.sin(params.slope), math.cos(params.slope)
    return np.array([s, 0.0, c]), np.array([c, 0.0, -s])


def block(params: Block, speed: float = 0.0) -> ModelParts:
    """Return the block flat on the plane through the origin, at `speed` [m/s] downhill. Raise
    ValueError for a slope beyond 89 degrees.
    """
    half = 0.5 * number(params.slope, "the slope", 0.0, math.radians(89.0))
    normal, downhill = slope_axes(params)
    turned = {"orientation": (math.cos(half), 0.0, math.sin(half), 0.0)}
    start = {"position": normal * params.edges[2] / 2.0, "velocity": speed * downhill}
    part = shapes.box(params.edges, 1.0, **turned, **start)
    a, b, c = 0.5 * np.array(params.edges)
    law = {"n": normal, "mu": params.friction}
    return _stack([part], [pairs.corner(0, (x * a, y * b, -c), **law) for x, y in BOTTOM[::-1]])


def travel(params: Block, q: Array, v: Array) -> tuple[Array, Array]:
    """Return (s [m], ds/dt [m/s]) of the block downhill from the origin, for q (..., 7), v (...,
    6).
    """
    _, downhill = slope_axes(params)
    return q[..., :3] @ downhill, v[..., :3] @ downhill


def slide(params: Block, speed: float, t: float) -> tuple[float, float]:
    """Return (s [m], ds/dt [m/s]) of the block after t [s] (N.29)."""
    pull = GRAVITY * math.sin(params.slope)
    brake = GRAVITY * (params.friction * math.cos(params.slope))
    s = 0.0
    if speed != 0.0:
        rate = pull - math.copysign(brake, speed)
        stop = -speed / rate if rate * speed < 0.0 else math.inf
        if t < stop:
            return speed * t + 0.5 * rate * t * t, speed + rate * t
        s, t = -0.5 * speed * speed / rate, t - stop
    rate = max(0.0, pull - brake)
    return s + 0.5 * rate * t * t, rate * t
