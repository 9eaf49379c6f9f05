"""The state of the plant as messages: each is made once and refilled, as an object or, where it is sent most, as bytes."""

import array

from geometry_msgs.msg import Transform, Twist, Wrench
from nav_msgs.msg import Odometry
from sensor_msgs.msg import Imu, JointState, MultiDOFJointState

from rbdyn_ros.geometry import vec
from rbdyn_ros.models.imu import specific_force
from rbdyn_ros.nodes.frames import Frames
from rbdyn_ros.nodes.messages import set_quaternion, set_stamp, set_xyz, xyzw
from rbdyn_ros.nodes.sample import Sample
from rbdyn_ros.nodes.template import Template

JOINTS = ("cart_x_joint", "cart_y_joint", "pendulum_roll_joint", "pendulum_pitch_joint", "pendulum_spin_joint")
BALL_JOINT = "pendulum_ball_joint"


class _Templated:
    """A message as an object or as bytes; an heir says which `_numbers` of a sample it tells, in blocks, and how they are `_put` in."""

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
    def image(self) -> tuple | None:
        """As `Template.image`."""
        return self._template.image


class Joints(_Templated):
    """sensor_msgs/JointState: the cart and the ball joint as three hinges; effort is what the cart's drive gives."""

    def __init__(self, frames: Frames):
        message = JointState(name=list(JOINTS))
        message.header.frame_id = frames.world
        super().__init__(message, (5, 5, 5))

    @staticmethod
    def _numbers(sample: Sample) -> tuple:
        return sample.x + sample.angles, sample.u + sample.rates, sample.force + (0.0, 0.0, 0.0)

    @staticmethod
    def _put(message: JointState, position: tuple, velocity: tuple, effort: tuple) -> None:
        message.position, message.velocity, message.effort = (array.array("d", block) for block in (position, velocity, effort))


class Pose(_Templated):
    """nav_msgs/Odometry of the rod; the twist is in the child frame."""

    def __init__(self, frames: Frames):
        message = Odometry(child_frame_id=frames.rod)
        message.header.frame_id = frames.world
        super().__init__(message, (3, 4, 6))

    @staticmethod
    def _numbers(sample: Sample) -> tuple:
        return (*sample.x, 0.0), xyzw(sample.Q), sample.V + sample.w

    @staticmethod
    def _put(message: Odometry, position: tuple, orientation: tuple, twist: tuple) -> None:
        turned = message.pose.pose.orientation
        set_xyz(message.pose.pose.position, position)
        turned.x, turned.y, turned.z, turned.w = orientation
        set_xyz(message.twist.twist.linear, twist[:3])
        set_xyz(message.twist.twist.angular, twist[3:])


class BallJoint:
    """sensor_msgs/MultiDOFJointState: the joint's rotation, angular velocity, and its wrench on the rod, in body axes."""

    def __init__(self, frames: Frames):
        self.message = MultiDOFJointState(
            joint_names=[BALL_JOINT], transforms=[Transform()], twist=[Twist()], wrench=[Wrench()]
        )
        self.message.header.frame_id = frames.cart

    def fill(self, sample: Sample) -> MultiDOFJointState:
        """The message, refilled from a sample."""
        message = self.message
        set_stamp(message.header.stamp, sample.stamp)
        set_quaternion(message.transforms[0].rotation, sample.Q)
        set_xyz(message.twist[0].angular, sample.w)
        set_xyz(message.wrench[0].force, sample.body(sample.reaction))
        set_xyz(message.wrench[0].torque, friction(sample))
        return message


class Inertial:
    """sensor_msgs/Imu on the rod: orientation, angular velocity and specific force (REP-145)."""

    def __init__(self, frames: Frames):
        self.message = Imu()
        self.message.header.frame_id = frames.imu

    def fill(self, sample: Sample) -> Imu:
        """The message, refilled from a sample."""
        message = self.message
        set_stamp(message.header.stamp, sample.stamp)
        set_quaternion(message.orientation, sample.Q)
        angular_velocity, felt = sample.inertial or (sample.w, _felt(sample))
        set_xyz(message.angular_velocity, angular_velocity)
        set_xyz(message.linear_acceleration, felt)
        return message


def _felt(sample: Sample) -> tuple:
    """The specific force (3,) [m/s^2, body] where the IMU is."""
    setup = sample.setup
    return specific_force(setup.system, sample.R, sample.w, sample.reaction, sample.disturbance, setup.imu_position)


def friction(sample: Sample) -> tuple:
    """The joint's viscous torque on the rod (3,) [N m, body]."""
    return vec.scale(-sample.setup.system.joint_damping, sample.w)
