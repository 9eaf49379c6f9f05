"""Several rigid bodies as arrays: inertia, configuration and motion, energy and momentum.

q (n, 7): position of the center of mass [m, world], orientation wxyz (principal axes to world)
v (n, 6): its velocity [m/s, world], angular velocity [rad/s, body]
"""

from typing import NamedTuple

import numpy as np

from rbdyn_ros.geometry import float_arrays, quaternion
from rbdyn_ros.types import Array


class Bodies(NamedTuple):
    """n rigid bodies, made by `build`, which checks them."""

    mass: Array  # (n,) [kg]
    inertia: Array  # (n, 3) [kg m^2] principal, about the center of mass, body axes
    gravity: Array  # (3,) [m/s^2, world]
    # (n, 6) 1: along x, y, z of the world it keeps the velocity of its start, whatever acts on it;
    # so does its turning (all three, or none)
    held: Array


def build(mass, inertia, gravity=(0.0, 0.0, -9.81), held=(0.0,) * 6) -> Bodies:
    """Return the bodies of mass (n,) [kg] and principal inertia (n, 3) [kg m^2]. Raise ValueError
    naming the body that is impossible.

    held (n, 6), or (6,) for all, says in which directions of the world a body cannot move: (0, 0,
    1, 1, 1, 1) is a cart in a plane.
    """
    mass = np.atleast_1d(float_arrays.array(mass, "mass")).copy()
    inertia = np.atleast_2d(float_arrays.array(inertia, "inertia", 3)).copy()
    if inertia.ndim != 2:
        raise ValueError(
            f"inertia has shape {inertia.shape}; it must be (n, 3): the principal moments of "
            "each body, about the axes that its orientation turns to the world"
        )
    if len(mass) != len(inertia):
        raise ValueError(
            f"mass is given for {len(mass)} bodies and inertia for {len(inertia)}; give both "
            "for each body"
        )
    for i, (m, J) in enumerate(zip(mass, inertia)):
        if not m > 0.0:
            raise ValueError(f"the mass of body {i} is {m} kg; it must be > 0")
        if not min(J) > 0.0 or 2.0 * max(J) > sum(J) * (1.0 + 1e-12):
            raise ValueError(
                f"the inertia of body {i} is {tuple(map(float, J))} kg m^2; each must be > 0 "
                "and none larger than the sum of the others"
            )
    held = np.broadcast_to(float_arrays.array(held, "held", 6), (len(mass), 6)).copy()
    for i, row in enumerate(held):
        if not np.isin(row, (0.0, 1.0)).all() or len(set(row[3:])) != 1:
            raise ValueError(
                f"held of body {i} is {tuple(map(float, row))}; take 0 or 1 each, and one "
                "number for all three turns"
            )
    return Bodies(mass, inertia, float_arrays.array(gravity, "gravity", 3).copy(), held)


def configuration(bodies: Bodies, position, orientation=(1.0, 0.0, 0.0, 0.0)) -> Array:
    """Return q (n, 7) for positions (n, 3) [m] and orientations (n, 4) wxyz, or one orientation
    for all.
    """
    n = len(bodies.mass)
    r = np.broadcast_to(float_arrays.array(position, "position", 3), (n, 3))
    return np.ascontiguousarray(
        np.hstack(
            [r, np.broadcast_to(float_arrays.unit_quaternion(orientation, "orientation"), (n, 4))]
        )
    )


def motion(bodies: Bodies, velocity=(0.0, 0.0, 0.0), angular_velocity=(0.0, 0.0, 0.0)) -> Array:
    """Return v (n, 6) for velocities [m/s, world] and angular velocities [rad/s, body], each (n,
    3) or one for all.
    """
    n = len(bodies.mass)
    parts = (velocity, "velocity"), (angular_velocity, "angular_velocity")
    return np.ascontiguousarray(
        np.hstack(
            [np.broadcast_to(float_arrays.array(value, name, 3), (n, 3)) for value, name in parts]
        )
    )


def energy(bodies: Bodies, q, v) -> Array:
    """Return the kinetic plus potential energy [J], zero at the origin, of q (..., n, 7), v (...,
    n, 6).

    Held directions have none: a wall that moves at a prescribed velocity stores no energy.
    """
    q, v, free = np.asarray(q), np.asarray(v), 1.0 - bodies.held
    kinetic = 0.5 * bodies.mass * (free[:, :3] * v[..., :3] ** 2).sum(-1)
    kinetic = kinetic + 0.5 * (free[:, 3:] * bodies.inertia * v[..., 3:] ** 2).sum(-1)
    return (kinetic - bodies.mass * ((free[:, :3] * q[..., :3]) @ bodies.gravity)).sum(-1)


def momentum(bodies: Bodies, v) -> Array:
    """Return the linear momentum (..., 3) [kg m/s, world], which held directions do not have."""
    free = bodies.mass[:, None] * (1.0 - bodies.held[:, :3])
    return (free * np.asarray(v)[..., :3]).sum(-2)


def angular_momentum(bodies: Bodies, q, v) -> Array:
    """Return the angular momentum about the origin (..., 3) [kg m^2/s, world], the sum of r x m r'
    + R J w.
    """
    q, v = np.asarray(q), np.asarray(v)
    free = bodies.mass[:, None] * (1.0 - bodies.held[:, :3])
    orbital = np.cross(q[..., :3], free * v[..., :3])
    inertia = bodies.inertia * (1.0 - bodies.held[:, 3:])
    return (orbital + quaternion.rotate(q[..., 3:], inertia * v[..., 3:])).sum(-2)
