"""The frame tree as messages.

The cart and the rod hang directly below `world` and the cart. The links between the URDF's hinges
are leaves of the same tree, so that RViz finds a transform for every link, with or without a
robot_state_publisher's help.
"""

import math

from geometry_msgs.msg import TransformStamped
from tf2_msgs.msg import TFMessage

from rbdyn_ros.ros.messages.frames import Frames
from rbdyn_ros.ros.messages.messages import set_quaternion, set_stamp, set_xyz
from rbdyn_ros.ros.messages.sample import Sample
from rbdyn_ros.simulation.plant import Setup


class Moving:
    """/tf."""

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
        """The message, refilled from a sample."""
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


def static(frames: Frames, setup: Setup, imu_position: float) -> TFMessage:
    """/tf_static: what sits on the rod, in one message."""
    along = (
        (frames.com, setup.system.center),
        (frames.tip, setup.params.rod_length),
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
