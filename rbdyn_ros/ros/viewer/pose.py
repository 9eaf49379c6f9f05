"""Where the pendulum is and what acts on it, from the messages that say it."""

import math
from collections.abc import Mapping
from typing import NamedTuple

from geometry_msgs.msg import TransformStamped
from sensor_msgs.msg import JointState

from rbdyn_ros.geometry import conversion, unit_quaternion, vec
from rbdyn_ros.ros.messages.cdr import Motion
from rbdyn_ros.ros.messages.messages import Frames, nanoseconds, wxyz, xyz
from rbdyn_ros.ros.messages.state_topics import JOINTS
from rbdyn_ros.types import Vector
from rbdyn_ros.view.scene import UPRIGHT, ZERO, Planar, Quaternion

NOTHING = (math.nan, math.nan)


class Pose(NamedTuple):
    """Where the pendulum is."""

    stamp: int  # [ns]
    cart: Planar  # [m]
    attitude: Quaternion  # wxyz
    cart_velocity: Planar = NOTHING  # [m/s, world]
    angular_velocity: Vector = (math.nan, math.nan, math.nan)  # [rad/s, body]


class Forces(NamedTuple):
    """What acts, as it was looked at last, and what follows from it."""

    commanded: Planar  # [N, world]
    applied: Planar  # [N, world]
    joint: Vector | None  # [N, world]
    command_age: float  # [s]
    energy: float  # [J]
    balance: float  # [J]


def pose_of_odometry(motion: Motion) -> Pose:
    """The pose of the rod; the twist is in the child frame."""
    stamp, (x, y, _), attitude, linear, angular = motion
    velocity = unit_quaternion.rotate(attitude, linear)
    return Pose(stamp, (x, y), attitude, (velocity[0], velocity[1]), angular)


def pose_of_joints(message: JointState) -> Pose | None:
    """The pose from the five joints of the URDF; None where one is missing."""
    places = dict(zip(message.name, message.position))
    if not all(joint in places for joint in JOINTS):
        return None
    x, y, *angles = (places[joint] for joint in JOINTS)
    speeds = dict(zip(message.name, message.velocity))
    attitude = tuple(conversion.xyz_to_quaternion(angles).tolist())
    velocity = (speeds.get(JOINTS[0], math.nan), speeds.get(JOINTS[1], math.nan))
    return Pose(nanoseconds(message.header.stamp), (x, y), attitude, velocity)


Transforms = Mapping[str, TransformStamped]  # by child frame


def pose_of_transforms(transforms: Transforms, frames: Frames) -> Pose | None:
    """The pose from /tf, without velocities; None where no chain leads to the rod."""
    cart, rod = (_in_world(transforms, frame, frames.world) for frame in (frames.cart, frames.rod))
    if cart is None or rod is None:
        return None
    (x, y, _), attitude = cart[0], rod[1]
    return Pose(nanoseconds(transforms[frames.rod].header.stamp), (x, y), attitude)


def _in_world(transforms: Transforms, frame: str, world: str) -> tuple[Vector, Quaternion] | None:
    """(position [m], wxyz) of a frame in the world; None where no chain leads to it."""
    chain = []
    while frame != world:
        edge = transforms.get(frame)
        if edge is None or len(chain) > len(transforms):
            return None
        chain.append(edge.transform)
        frame = edge.header.frame_id
    position, attitude = ZERO, UPRIGHT
    for edge in reversed(chain):
        place = unit_quaternion.rotate(attitude, xyz(edge.translation))
        position = vec.add(position, place)
        turned = unit_quaternion.product(attitude, wxyz(edge.rotation))
        attitude = unit_quaternion.normalize(turned)
    return position, attitude


def place_on_axis(
    force: Vector, torque: Vector, height: float, length: float
) -> tuple[float, Vector]:
    """(height [m], torque (3,) [N m]) of a wrench in the rod's axes, given at a `height`, there on
    the rod of a `length` [m] where the force alone has its torque about x and y.
    """
    across = force[0] ** 2 + force[1] ** 2
    if across == 0.0:
        return height, torque
    # (d e3 x f) . (e3 x f) = d |e3 x f|^2
    lever = (torque[1] * force[0] - torque[0] * force[1]) / across
    lever = max(-height, min(length - height, lever))
    left = (torque[0] + lever * force[1], torque[1] - lever * force[0], torque[2])
    return height + lever, left
