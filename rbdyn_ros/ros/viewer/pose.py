"""Where the pendulum is, from the messages that say it."""

import math
from typing import NamedTuple

from sensor_msgs.msg import JointState

from rbdyn_ros.geometry import conversion, unit_quaternion
from rbdyn_ros.ros.messages.cdr import Motion
from rbdyn_ros.ros.messages.messages import nanoseconds
from rbdyn_ros.ros.messages.state_topics import JOINTS
from rbdyn_ros.types import Vector
from rbdyn_ros.view.scene import Planar, Quaternion

NOTHING = (math.nan, math.nan)


class Pose(NamedTuple):
    """Where the pendulum is."""

    stamp: int  # [ns]
    cart: Planar  # [m]
    attitude: Quaternion  # wxyz
    cart_velocity: Planar = NOTHING  # [m/s, world]
    angular_velocity: Vector = (math.nan, math.nan, math.nan)  # [rad/s, body]


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
