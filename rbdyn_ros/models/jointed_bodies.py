"""Machines of several bodies and joints: a chain of rods, a door, a top on a frictionless plane."""

from typing import NamedTuple

import numpy as np

from rbdyn_ros.bodies import rigid_bodies
from rbdyn_ros.bodies.rigid_bodies import Bodies
from rbdyn_ros.geometry import quaternion
from rbdyn_ros.mechanics.description import joints
from rbdyn_ros.mechanics.description.joints import Constraints
from rbdyn_ros.mechanics.description.rows import WORLD
from rbdyn_ros.types import Array

EDGE = 0.9  # m, width of the door's leaf
HEIGHT = 2.0  # m, of the door


class Machine(NamedTuple):
    """Bodies, joints and a start that meets them."""

    bodies: Bodies
    constraints: Constraints
    q: Array  # (n, 7)
    v: Array  # (n, 6)


def chain(rods: int = 5, length: float = 0.4, radius: float = 0.01) -> Machine:
    """Rods of 1 kg with ball joints, hung at the origin and let go from horizontal; the first one turns about its axis."""
    inertia = ((3.0 * radius**2 + length**2) / 12.0, (3.0 * radius**2 + length**2) / 12.0, radius**2 / 2.0)
    bodies = rigid_bodies.build(np.ones(rods), [inertia] * rods)
    along_x = quaternion.exp((0.0, np.pi / 2.0, 0.0))
    q = rigid_bodies.configuration(bodies, [(length * (i + 0.5), 0.0, 0.0) for i in range(rods)], along_x)
    near, far = (0.0, 0.0, -length / 2.0), (0.0, 0.0, length / 2.0)
    links = [joints.ball_joint(i, near, i - 1, far) for i in range(1, rods)]
    v = rigid_bodies.motion(bodies)
    v[0, 5] = 5.0
    v[:, 1] = 0.2 * q[:, 0]  # a push sideways: the whole chain turns about z at 0.2 rad/s
    v[:, 3] = -0.2  # z of the world is -x of a rod along x
    return Machine(bodies, joints.assembled(rods, joints.nail(0, near, (0.0, 0.0, 0.0)), *links), q, v)


def door(lean: float = 0.3) -> Machine:
    """A door of 20 kg on two hinges, the axis leaning [rad] towards x; opened by 90 degrees it swings back and forth."""
    inertia = 20.0 / 12.0 * np.array([HEIGHT**2, EDGE**2 + HEIGHT**2, EDGE**2])
    bodies = rigid_bodies.build(20.0, inertia)
    tilted = quaternion.exp((0.0, lean, 0.0))
    axis = quaternion.rotate(tilted, np.array([0.0, 0.0, 1.0]))
    opened = quaternion.product(tilted, quaternion.exp((0.0, 0.0, np.pi / 2.0)))
    q = rigid_bodies.configuration(bodies, quaternion.rotate(opened, np.array([EDGE / 2.0, 0.0, 0.0])), opened)
    at = (0.6, -0.6)
    hinges = [joints.hinge(0, (-EDGE / 2.0, 0.0, z), WORLD, z * axis, (0.0, 0.0, 1.0), axis) for z in at]
    return Machine(bodies, joints.assembled(1, *hinges), q, rigid_bodies.motion(bodies))


def top_on_plane(tilt: float = 0.35, spin: float = 60.0) -> Machine:
    """A top of 0.5 kg whose tip slides without friction in z = 0, tilted [rad] and spinning [rad/s]."""
    bodies = rigid_bodies.build(0.5, (8e-4, 8e-4, 5e-4))
    tip = np.array([0.0, 0.0, -0.05])
    turned = quaternion.exp((0.0, tilt, 0.0))
    q = rigid_bodies.configuration(bodies, -quaternion.rotate(turned, tip), turned)
    v = rigid_bodies.motion(bodies, (0.1, 0.0, 0.0), (0.0, 0.0, spin))
    return Machine(bodies, joints.assembled(1, joints.plane(0, tip, WORLD, (0.0, 0.0, 1.0))), q, v)
