"""The state of the plant as messages: each is made once and refilled."""

import array

from geometry_msgs.msg import Transform, Twist, Wrench
from nav_msgs.msg import Odometry
from sensor_msgs.msg import Imu, JointState, MultiDOFJointState

from rbdyn_ros.geometry import vec
from rbdyn_ros.models.imu import specific_force
from rbdyn_ros.nodes.frames import Frames
from rbdyn_ros.nodes.messages import set_quaternion, set_stamp, set_xyz
from rbdyn_ros.nodes.sample import Sample

JOINTS = ("cart_x_joint", "cart_y_joint", "pendulum_roll_joint", "pendulum_pitch_joint", "pendulum_spin_joint")
BALL_JOINT = "pendulum_ball_joint"


class Joints:
    """sensor_msgs/JointState: the cart and the ball joint as three hinges; effort is what the cart's drive gives."""

    def __init__(self, frames: Frames):
        self.message = JointState(name=list(JOINTS))
        self.message.header.frame_id = frames.world

    def fill(self, sample: Sample) -> JointState:
        """The message, refilled from a sample."""
        set_stamp(self.message.header.stamp, sample.stamp)
        self.message.position = array.array("d", sample.x + sample.angles)
        self.message.velocity = array.array("d", sample.u + sample.rates)
        self.message.effort = array.array("d", sample.force + (0.0, 0.0, 0.0))
        return self.message


class Pose:
    """nav_msgs/Odometry of the rod; the twist is in the child frame."""

    def __init__(self, frames: Frames):
        self.message = Odometry(child_frame_id=frames.rod)
        self.message.header.frame_id = frames.world

    def fill(self, sample: Sample) -> Odometry:
        """The message, refilled from a sample."""
        message = self.message
        set_stamp(message.header.stamp, sample.stamp)
        set_xyz(message.pose.pose.position, (*sample.x, 0.0))
        set_quaternion(message.pose.pose.orientation, sample.Q)
        set_xyz(message.twist.twist.linear, sample.body((*sample.u, 0.0)))
        set_xyz(message.twist.twist.angular, sample.w)
        return message


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
