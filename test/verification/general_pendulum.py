"""The pendulum as a model of two bodies: a cart that slides and does not turn, and a rod on a ball
joint; what it meets are pairs with the world.

    model = build(params, upright(tilt, azimuth), gamma)

The rod is a capsule whose radius is round-off, where it meets what is curved or ends.
"""

import numpy as np

from rbdyn_ros.geometry import quaternion
from rbdyn_ros.mechanics import model as models
from rbdyn_ros.mechanics import shapes
from rbdyn_ros.mechanics.contact.restitution import LAWS
from rbdyn_ros.mechanics.description import geoms, joints, pairs
from rbdyn_ros.mechanics.pendulum import obstacles, spherical_pendulum, world
from rbdyn_ros.types import Contacts, State

CART, ROD = range(2)
THIN = 1e-9  # [m]
HELD = 1.0, 1.0, 1.0, 1.0, 1.0, 1.0


def build(params: spherical_pendulum.Params, state: State, gamma: float) -> models.Model:
    """The model of the same pendulum in the same state; gamma [kg m^2] is that of the rod."""
    system, C = spherical_pendulum.build(params), params.contacts
    center, x = np.array([0.0, 0.0, system.center]), np.array([*state.q[:2], 0.0])
    R = quaternion.to_matrix(state.q[2:])
    slides = np.array([*system.cart_free * state.v[:2], 0.0])
    held = (0.0, 0.0, *HELD[2:]) if system.cart_free else HELD
    cart = shapes.Body(system.cart_mass, (1.0, 1.0, 1.0), tuple(x), velocity=slides, held=held)
    w = state.v[2:]
    rod = shapes.Body(
        system.rod_mass,
        system.inertia,
        tuple(x + R @ center),
        tuple(state.q[2:]),
        tuple(slides + R @ np.cross(w, center)),
        tuple(w),
    )
    walls, met = meets(C, center, bool(system.cart_free))
    bodies, q, v = shapes.assemble([cart, rod, *walls], (0.0, 0.0, -system.gravity))
    n = len(bodies.mass)
    joint = joints.ball_joint(ROD, -center, CART, (0.0, 0.0, 0.0))
    options = models.Options(
        impact_law=LAWS[int(C.impact_law)], gamma=[0.0, gamma, *(0.0 for _ in walls)]
    )
    return models.build(bodies, q, v, joints.assemble(n, joint), pairs.build(n, *met), options)


def meets(C: Contacts, center: np.ndarray, is_free: bool) -> tuple[list, list]:
    """(bodies of walls that move, pairs) of what the pendulum can meet; `center` is the rod's
    center of mass, seen from the joint.
    """
    tip, cart = np.array([0.0, 0.0, C.length]) - center, np.zeros(3)
    middle = tuple(np.array([0.0, 0.0, 0.5 * C.length]) - center)
    thin, walls, found = geoms.capsule(THIN, C.length, ROD, middle), [], []
    if C.floor:
        law = {"mu": C.floor_friction, "e": C.floor_restitution}
        found.append(pairs.corner(ROD, tip, s=(0.0, 0.0, C.floor_height), **law))
    for k, axis in enumerate(np.eye(3)[: 2 * is_free]):
        for side, at in ((1.0, C.stop_low[k]), (-1.0, C.stop_high[k])):
            if np.isfinite(at):
                stop = {"n": side * axis, "s": at * axis, "e": C.stop_restitution}
                found.append(pairs.corner(CART, cart, **stop))
    if C.obstacle == world.SPHERE:
        ball = geoms.sphere(C.obstacle_radius, position=C.obstacle_point)
        found += geoms.pairs_between(thin, ball, C.obstacle_friction, C.obstacle_restitution)
    for o in C.obstacles:
        law, at, size = (o["friction"], o["restitution"]), tuple(o["center"]), o["size"]
        Q = tuple(quaternion.from_matrix(o["axes"].T)) if o["kind"] < obstacles.WALL_TIP else ()
        if o["kind"] == obstacles.SPHERE:
            found += geoms.pairs_between(thin, geoms.sphere(size[0], position=at), *law)
        elif o["kind"] == obstacles.BOX:
            found += geoms.pairs_between(thin, geoms.box(2.0 * size, -1, at, Q), *law)
        elif o["kind"] == obstacles.CYLINDER:
            solid = geoms.cylinder(size[0], 2.0 * size[2], -1, at, Q)
            found += geoms.pairs_between(thin, solid, *law)
        elif o["kind"] == obstacles.WALL_TIP:
            b, n = 2 + len(walls), o["axes"][0]
            walls.append(shapes.Body(1.0, (1, 1, 1), at, velocity=o["velocity"], held=HELD))
            found.append(pairs.corner(ROD, tip, b, n, mu=law[0], e=law[1]))
            if np.hypot(*n[:2]) > 1e-6:
                found.append(pairs.corner(CART, cart, b, n, e=law[1]))
    return walls, found


def state(model: models.Model) -> tuple[np.ndarray, np.ndarray]:
    """(q, v) of the pendulum."""
    q, v = models.state(model)
    return np.concatenate([q[CART, :2], q[ROD, 3:]]), np.concatenate([v[CART, :2], v[ROD, 3:]])
