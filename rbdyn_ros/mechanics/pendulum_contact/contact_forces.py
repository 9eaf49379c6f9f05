"""The contact forces on the pendulum, as ROS and figures need them."""

from typing import NamedTuple

import numpy as np

from rbdyn_ros.geometry import unit_quaternion, vec
from rbdyn_ros.mechanics.pendulum import world
from rbdyn_ros.mechanics.pendulum_contact.contact_state import ContactState
from rbdyn_ros.types import Array, Vector


class ContactForce(NamedTuple):
    """A contact that pressed in the last step."""

    contact: int  # of `mechanics.pendulum.world.candidates`
    point: Vector  # where it acts (3,) [m, world]
    normal: Vector  # out of the obstacle (3,) [world]
    force: Vector  # mean over the step, on the pendulum (3,) [N, world]


def touches(memory: ContactState | None, q: Array) -> tuple[ContactForce, ...]:
    """Return the contacts whose force is not zero, at the pose q (6,); () where there is nothing
    to touch.
    """
    if memory is None or not memory.force.any():
        return ()
    joint = float(q[0]), float(q[1]), 0.0
    d = unit_quaternion.rotate(tuple(q[2:].tolist()), (0.0, 0.0, 1.0))
    return tuple(
        ContactForce(
            i,
            vec.axpy(_height(memory, i), d, joint),
            tuple(memory.axes[i, 0].tolist()),
            tuple(memory.force[i].tolist()),
        )
        for i in np.flatnonzero(memory.force.any(axis=1)).tolist()
    )


def _height(memory: ContactState, i: int) -> float:
    return 0.0 if memory.rho[i] == world.ON_CART else float(memory.rho[i])


def resultant(touches: tuple[ContactForce, ...]) -> tuple[Vector, Vector, Vector]:
    """Return (point, force, torque) [m, N, N m, world] of all touches, one wrench with the same
    effect on a body.

    The point is the mean of the touches' points weighted by the size of their forces; one touch
    alone has no torque. All three are (0, 0, 0) if nothing touches.
    """
    if not touches:
        zero: Vector = (0.0, 0.0, 0.0)
        return zero, zero, zero
    points, forces = (
        np.array([getattr(touch, name) for touch in touches]) for name in ("point", "force")
    )
    sizes = np.linalg.norm(forces, axis=1)
    point = points[0] if len(touches) == 1 else sizes @ points / sizes.sum()
    torque = np.cross(points - point, forces).sum(axis=0)
    (px, py, pz), (tx, ty, tz) = point.tolist(), torque.tolist()
    fx, fy, fz = forces.sum(axis=0).tolist()
    return (px, py, pz), (fx, fy, fz), (tx, ty, tz)
