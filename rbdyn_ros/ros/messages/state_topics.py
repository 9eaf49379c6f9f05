"""The state of the plant, its wrenches, its frames and the diagnostics of its step as messages.

Each is created once and refilled, as an object or, if it is sent often, as bytes.

In the frame tree the cart and the rod hang directly below `world` and the cart. The links between
the URDF's hinges are leaves of the same tree, so that RViz finds a transform for every link, with
or without a robot_state_publisher.
"""

import array
import math
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from geometry_msgs.msg import Transform, TransformStamped, Twist, Wrench, WrenchStamped
from nav_msgs.msg import Odometry
from sensor_msgs.msg import Imu, JointState, MultiDOFJointState
from std_msgs.msg import Float64MultiArray
from tf2_msgs.msg import TFMessage

from rbdyn_ros.geometry import vec
from rbdyn_ros.pendulum import spherical_pendulum
from rbdyn_ros.pendulum.coulomb_friction import CREEP
from rbdyn_ros.pendulum.world import NAMES
from rbdyn_ros.pendulum.world import names as contact_names
from rbdyn_ros.ros.messages.cdr import Template
from rbdyn_ros.ros.messages.messages import (
    Frames,
    label_array,
    set_quaternion,
    set_stamp,
    set_xyz,
    set_xyzw,
    xyzw,
)
from rbdyn_ros.ros.messages.sample import PlantDescription, Sample, Vector


class _Templated:
    """A message as an object or as bytes.

    A subclass has `_numbers`, which returns the numbers of a sample in blocks, and `_put`, which
    writes them to the message.
    """

    _numbers: Callable[[Sample], tuple[tuple[float, ...], ...]]
    _put: Callable[..., None]
    _is_stamped = True

    def __init__(self, message: Any, sizes: tuple[int, ...]):
        self.message = message
        self._template = Template(message, self._put, sizes, self._is_stamped)

    def fill(self, sample: Sample):
        """Refill the message from a sample and return it."""
        if self._is_stamped:
            set_stamp(self.message.header.stamp, sample.stamp)
        numbers = self._numbers(sample)  # may replace the message
        self._put(self.message, *numbers)
        return self.message

    def pack(self, sample: Sample) -> bytes:
        """Return the message's bytes."""
        numbers = self._numbers(sample)
        return self._template.pack(sample.stamp, *numbers)


# the labels of ~/integrator
LABELS = (
    "time",  # [s] simulated
    "energy",  # [J]
    "energy_drift",  # [J] energy - energy at the start - work done since
    "momentum_x",  # [kg m/s]
    "momentum_y",
    "angular_momentum_z",  # [kg m^2/s] about the world's origin
    "spin_momentum",  # [kg m^2/s]
    "constraint_residual",  # |quaternion| - 1
    "newton_residual",
    "iterations",  # per step
    "step_time_us",  # [us] of computing per step
    "impacts",  # since the last reset
)
# the last labels of ~/integrator: the newest command that was accepted, zeros while there is none
COMMAND_LABELS = (
    "command_x",  # [N] as commanded, before delay, watchdog and limit
    "command_y",
    "command_age",  # [s] simulated since the answered state; without a stamp, real since arrival
    "commands",  # accepted so far
)


def diagnostic_labels(impulses: tuple[str, ...]) -> tuple[str, ...]:
    """Return the labels if these contacts are possible.

    Their impulses along the normal since the last reset [N s] follow the others.
    """
    return (*LABELS, *(f"contact_impulse_{name}" for name in impulses), *COMMAND_LABELS)


class Labeled(_Templated):
    """std_msgs/Float64MultiArray, whose numbers are named in `layout.dim`."""

    _is_stamped = False

    def __init__(self, labels: tuple[str, ...]):
        super().__init__(label_array(labels), (len(labels),))

    @staticmethod
    def _put(message: Float64MultiArray, numbers: tuple) -> None:
        message.data = array.array("d", numbers)


class StepDiagnosticsTopic(Labeled):
    """~/integrator: the diagnostics of the newest step and the newest command."""

    def __init__(self):
        self._met = NAMES
        super().__init__(diagnostic_labels(NAMES))

    def _numbers(self, sample: Sample) -> tuple[tuple[float, ...], ...]:
        e, met = sample.diagnostics(), contact_names(sample.setup.system.contacts)
        if met != self._met:
            self._met = met
            super().__init__(diagnostic_labels(met))
        numbers = (
            sample.stamp * 1e-9,
            e.energy,
            e.balance,
            *e.momentum,
            e.angular,
            e.spin,
            e.norm_error,
            e.residual,
            e.iterations,
            1e6 * e.step_time,
            float(e.impacts),
            *e.impulses,
            *_newest_command(sample),
        )
        return (numbers,)


def _newest_command(sample: Sample) -> tuple[float, float, float, float]:
    """Return the numbers of COMMAND_LABELS."""
    if sample.command is None:
        return 0.0, 0.0, 0.0, float(sample.commands)
    force, stamp, received = sample.command
    age = (sample.stamp - stamp) * 1e-9 if stamp else time.monotonic() - received
    return *force, max(0.0, age), float(sample.commands)


class Moving:
    """The message of /tf."""

    def __init__(self, frames: Frames):
        edges = (
            (frames.world, frames.cart),
            (frames.cart, frames.rod),
            (frames.rod, frames.disturbance),
            (frames.world, frames.contact),
            (frames.world, frames.cart_x),
            (frames.cart, frames.roll),
            (frames.roll, frames.pitch),
        )
        self.message = TFMessage(transforms=[_edge(*edge) for edge in edges])

    def fill(self, sample: Sample) -> TFMessage:
        """Refill the message from a sample and return it."""
        cart, rod, disturbance, contact, cart_x, roll, pitch = self.message.transforms
        for transform in self.message.transforms:
            set_stamp(transform.header.stamp, sample.stamp)
        set_xyz(cart.transform.translation, (*sample.x, 0.0))
        set_quaternion(rod.transform.rotation, sample.Q)
        set_xyz(disturbance.transform.translation, sample.disturbance[6:])
        set_xyz(contact.transform.translation, sample.pressure()[0])
        set_xyz(cart_x.transform.translation, (sample.x[0], 0.0, 0.0))
        set_quaternion(roll.transform.rotation, _turn(0, sample.angles[0]))
        set_quaternion(pitch.transform.rotation, _turn(1, sample.angles[1]))
        return self.message


def static(frames: Frames, setup: PlantDescription, imu_position: float) -> TFMessage:
    """Return the message of /tf_static: frames on the rod, where robot_description has them."""
    along = (
        (frames.com, spherical_pendulum.build(setup.declared).center),
        (frames.tip, setup.declared.rod_length),
        (frames.imu, imu_position),
    )
    message = TFMessage(transforms=[_edge(frames.rod, child) for child, _ in along])
    for transform, (_, distance) in zip(message.transforms, along):
        transform.transform.translation.z = distance
    return message


def _edge(parent: str, child: str) -> TransformStamped:
    edge = TransformStamped(child_frame_id=child)
    edge.header.frame_id = parent
    edge.transform.rotation.w = 1.0
    return edge


def _turn(axis: int, angle: float) -> tuple:
    turn = [math.cos(0.5 * angle), 0.0, 0.0, 0.0]
    turn[1 + axis] = math.sin(0.5 * angle)
    return tuple(turn)


JOINTS = (
    "cart_x_joint",
    "cart_y_joint",
    "pendulum_roll_joint",
    "pendulum_pitch_joint",
    "pendulum_spin_joint",
)
BALL_JOINT = "pendulum_ball_joint"


class Joints(_Templated):
    """sensor_msgs/JointState: the cart and the ball joint as three hinges; effort is the force of
    the cart's drive.
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


class RodOdometry(_Templated):
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
        set_xyz(message.pose.pose.position, position)
        set_xyzw(message.pose.pose.orientation, orientation)
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
    def _put(message: Any, rotation, angular, wrench) -> None:
        set_xyzw(message.transforms[0].rotation, rotation)
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
        set_xyzw(message.orientation, orientation)
        set_xyz(message.angular_velocity, rate)
        set_xyz(message.linear_acceleration, felt)
        message.orientation_covariance = np.array(of_orientation)
        message.angular_velocity_covariance = np.array(of_rate)
        message.linear_acceleration_covariance = np.array(of_felt)


def friction(sample: Sample) -> tuple[float, float, float]:
    """Return the joint's torque on the rod (3,) [N m, body], viscous and of Coulomb friction."""
    system, w = sample.setup.system, sample.w
    rate = math.sqrt(vec.dot(w, w) + CREEP**2)
    return vec.scale(-system.joint_damping - system.joint_friction / rate, w)


class WrenchTopic(_Templated):
    """geometry_msgs/WrenchStamped in a frame whose origin is the point where the wrench acts."""

    def __init__(self, frame: str, wrench: Callable[[Sample], tuple[Vector, Vector]]):
        message, self._wrench = WrenchStamped(), wrench
        message.header.frame_id = frame
        super().__init__(message, (3, 3))

    def _numbers(self, sample: Sample) -> tuple[Vector, Vector]:
        return self._wrench(sample)

    @staticmethod
    def _put(message: WrenchStamped, force: Vector, torque: Vector) -> None:
        set_xyz(message.wrench.force, force)
        set_xyz(message.wrench.torque, torque)


def wrench_topics(frames: Frames) -> dict[str, WrenchTopic]:
    """Return the topics below wrench/ by name.

    `cart`: the force on the cart, after the limit and the watchdog. `joint`: the wrench of the
    ball joint on the rod, constraint force and friction, in body axes. `contact`: the wrench of
    floor, rail ends and obstacles on the pendulum, mean over the last step, in world axes; zero
    while all are open. `disturbance`: the disturbance of the rod, in body axes, at its point.
    """
    return {
        "cart": WrenchTopic(frames.cart, lambda s: ((*s.force, 0.0), (0.0, 0.0, 0.0))),
        "joint": WrenchTopic(frames.rod, lambda s: (s.body(s.reaction), friction(s))),
        "contact": WrenchTopic(frames.contact, lambda s: s.pressure()[1:]),
        "disturbance": WrenchTopic(
            frames.disturbance, lambda s: (s.body(s.disturbance[:3]), s.body(s.disturbance[3:6]))
        ),
    }
