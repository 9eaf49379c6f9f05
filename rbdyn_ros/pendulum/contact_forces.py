"""The contact forces on the pendulum, as ROS and figures need them."""

from typing import NamedTuple

import numpy as np

from rbdyn_ros.geometry import vec
from rbdyn_ros.pendulum.bodies import Memory
from rbdyn_ros.types import Vector


class ContactForce(NamedTuple):
    """A contact that pressed in the last step."""

    contact: int  # of `pendulum.world.candidates`
    point: Vector  # where it acts (3,) [m, world]
    normal: Vector  # out of the obstacle (3,) [world]
    force: Vector  # mean over the step, on the pendulum (3,) [N, world]


def touches(memory: Memory | None) -> tuple[ContactForce, ...]:
    """Return the contacts whose force is not zero; () where there is nothing to touch."""
    if memory is None or not memory.force.any():
        return ()
    rows = (memory.point, memory.normal, memory.force)
    return tuple(
        ContactForce(i, *(vec.three(row[i].tolist(), 0) for row in rows))
        for i in np.flatnonzero(memory.force.any(axis=1)).tolist()
    )


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
