"""The state of the plant as messages: each is made once and refilled, as an object or, where it is
sent most, as bytes.
"""

import array

import numpy as np
from geometry_msgs.msg import Transform, Twist, Wrench
from nav_msgs.msg import Odometry
from sensor_msgs.msg import Imu, JointState, MultiDOFJointState

from rbdyn_ros.geometry import vec
from rbdyn_ros.ros.messages.frames import Frames
from rbdyn_ros.ros.messages.messages import set_stamp, set_xyz, xyzw
from rbdyn_ros.ros.messages.sample import Sample
from rbdyn_ros.ros.messages.template import Template

JOINTS = (
    "cart_x_joint",
    "cart_y_joint",
    "pendulum_roll_joint",
    "pendulum_pitch_joint",
    "pendulum_spin_joint",
)
BALL_JOINT = "pendulum_ball_joint"


class _Templated:
    """A message as an object or as bytes; an heir says which `_numbers` of a sample it tells, in
    blocks, and how they are `_put` in.
    """

    def __init__(self, message, sizes: tuple):
        self.message, self._template = message, Template(message, self._put, sizes)

    def fill(self, sample: Sample):
        """The message, refilled from a sample."""
        set_stamp(self.message.header.stamp, sample.stamp)
        self._put(self.message, *self._numbers(sample))
        return self.message

    def packed(self, sample: Sample) -> bytes:
        """The message's bytes."""
        return self._template.packed(sample.stamp, *self._numbers(sample))

    @property
    def image(self) -> tuple[bytes, list[int]] | None:
        """As `Template.image`."""
        return self._template.image


class Joints(_Templated):
    """sensor_msgs/JointState: the cart and the ball joint as three hinges; effort is what the
    cart's drive gives.
    """

    def __init__(self, frames: Frames):
        message = JointState(name=list(JOINTS))
        message.header.frame_id = frames.world
        super().__init__(message, (5, 5, 5))

    @staticmethod
    def _numbers(sample: Sample) -> tuple:
        return sample.x + sample.angles, sample.u + sample.rates, sample.force + (0.0, 0.0, 0.0)

    @staticmethod
    def _put(message: JointState, position: tuple, velocity: tuple, effort: tuple) -> None:
        message.position, message.velocity, message.effort = (
            array.array("d", block) for block in (position, velocity, effort)
        )


class Pose(_Templated):
    """nav_msgs/Odometry of the rod; the twist is in the child frame. Its covariances come last."""

    def __init__(self, frames: Frames):
        message = Odometry(child_frame_id=frames.rod)
        message.header.frame_id = frames.world
        super().__init__(message, (3, 4, 6, 36, 36))

    @staticmethod
    def _numbers(sample: Sample) -> tuple:
        c = sample.covariances()
        return (*sample.x, 0.0), xyzw(sample.Q), sample.V + sample.w, c.pose, c.twist

    @staticmethod
    def _put(message: Odometry, position, orientation, twist, of_pose, of_twist) -> None:
        turned = message.pose.pose.orientation
        set_xyz(message.pose.pose.position, position)
        turned.x, turned.y, turned.z, turned.w = orientation
        set_xyz(message.twist.twist.linear, twist[:3])
        set_xyz(message.twist.twist.angular, twist[3:])
        message.pose.covariance, message.twist.covariance = np.array(of_pose), np.array(of_twist)


class BallJoint(_Templated):
    """sensor_msgs/MultiDOFJointState: the joint's rotation, angular velocity, and its wrench on
    the rod, in body axes.
    """

    def __init__(self, frames: Frames):
        message = MultiDOFJointState(
            joint_names=[BALL_JOINT], transforms=[Transform()], twist=[Twist()], wrench=[Wrench()]
        )
        message.header.frame_id = frames.cart
        super().__init__(message, (4, 3, 6))

    @staticmethod
    def _numbers(sample: Sample) -> tuple:
        return xyzw(sample.Q), sample.w, sample.body(sample.reaction) + friction(sample)

    @staticmethod
    def _put(message: MultiDOFJointState, rotation, angular, wrench) -> None:
        turn = message.transforms[0].rotation
        turn.x, turn.y, turn.z, turn.w = rotation
        set_xyz(message.twist[0].angular, angular)
        set_xyz(message.wrench[0].force, wrench[:3])
        set_xyz(message.wrench[0].torque, wrench[3:])


class Inertial(_Templated):
    """sensor_msgs/Imu on the rod: orientation, angular velocity and specific force (REP-145), each
    with its covariance.

    All three are always given, so no covariance begins with -1; zeros are an ideal sensor's.
    """

    def __init__(self, frames: Frames):
        message = Imu()
        message.header.frame_id = frames.imu
        super().__init__(message, (4, 9, 3, 9, 3, 9))

    @staticmethod
    def _numbers(sample: Sample) -> tuple:
        angular_velocity, felt = sample.inertial or (sample.w, sample.specific_force())
        c = sample.covariances()
        measured = angular_velocity, c.angular_velocity, felt, c.acceleration
        return xyzw(sample.Q), c.orientation, *measured

    @staticmethod
    def _put(message: Imu, orientation, of_orientation, rate, of_rate, felt, of_felt) -> None:
        turn = message.orientation
        turn.x, turn.y, turn.z, turn.w = orientation
        set_xyz(message.angular_velocity, rate)
        set_xyz(message.linear_acceleration, felt)
        message.orientation_covariance = np.array(of_orientation)
        message.angular_velocity_covariance = np.array(of_rate)
        message.linear_acceleration_covariance = np.array(of_felt)


def friction(sample: Sample) -> tuple[float, float, float]:
    """The joint's viscous torque on the rod (3,) [N m, body]."""
    return vec.scale(-sample.setup.system.joint_damping, sample.w)
