"""Combine joint_states and odometry of the same instant to the state of control laws.

The rod's part of an Odometry message is read from its bytes.
"""

import math
from collections.abc import Callable
from functools import partial
from typing import Any, Protocol

import numpy as np
from nav_msgs.msg import Odometry
from rclpy.node import Node
from sensor_msgs.msg import JointState

from rbdyn_ros.control.observer.continuity import JumpDetector
from rbdyn_ros.ros import qos
from rbdyn_ros.ros.diagnostics import Line
from rbdyn_ros.ros.messages.cdr import JointBytes, OdometryBytes, columns
from rbdyn_ros.ros.messages.messages import instant_of, wxyz, xyz
from rbdyn_ros.ros.messages.state_topics import JOINTS
from rbdyn_ros.types import State

CART = JOINTS[:2]


# (message class, name, callback, whether it takes bytes) of each topic
Topics = tuple[tuple[type, str, Callable[[Any], None], bool], ...]


class Synchronizer(Protocol):
    """What makes states of messages."""

    topics: Topics


def subscribe(
    node: Node,
    synchronizer: Synchronizer,
    reject: Callable[[str, ValueError], None],
    use_state: Callable[[], None],
) -> None:
    """Subscribe to the topics of a synchronizer.

    `use_state()` is called after each message; `reject(topic, error)` for one that it refuses.
    """

    def receive(topic: str, take: Callable[[Any], None], message: Any) -> None:
        try:
            take(message)
        except ValueError as error:
            reject(topic, error)
        else:
            use_state()

    for kind, topic, take, raw in synchronizer.topics:
        callback = partial(receive, topic, take)
        node.create_subscription(kind, topic, callback, qos.NEWEST, raw=raw, **qos.subscribing())


class StateSynchronizer:
    """Keeps the newest of both messages.

    `jumped` says whether the pendulum was put where the last state has it; then the past of that
    state means nothing.
    """

    nis, compute_time = math.nan, 0.0  # nothing is estimated

    def __init__(self):
        self.topics: Topics = (
            (JointState, "joint_states", self.joints_bytes, True),
            (Odometry, "odometry", self.odometry_bytes, True),
        )
        self._joint_bytes = JointBytes(CART, ("position", "velocity"))
        self._odometry_bytes = OdometryBytes()
        self.reset()

    def reset(self) -> None:
        """Forget the messages."""
        self._cart: tuple[float, ...] = ()  # position and velocity
        self._rod: tuple[tuple[float, ...], tuple[float, ...]] = ((), ())
        self._cart_stamp, self._rod_stamp = -1, -2
        self._jump_detector, self.jumped = JumpDetector(), False

    def joints(self, message: JointState) -> None:
        """Take the cart. ValueError if the message does not have its joints."""
        self._cart = columns(message, CART, ("position", "velocity"))
        self._cart_stamp = instant_of(message.header)

    def joints_bytes(self, data: bytes) -> None:
        """Take the cart from a serialized message.

        ValueError if it does not have its joints, or is cut off.
        """
        self._cart_stamp, self._cart = self._joint_bytes.columns(data)

    def odometry(self, message: Odometry) -> None:
        """Take the rod."""
        self._rod = (wxyz(message.pose.pose.orientation), xyz(message.twist.twist.angular))
        self._rod_stamp = instant_of(message.header)

    def odometry_bytes(self, data: bytes) -> None:
        """Take the rod from a serialized message. ValueError if it is cut off."""
        motion = self._odometry_bytes.motion(data)
        self._rod, self._rod_stamp = (motion.orientation, motion.angular), motion.stamp

    def state(self) -> tuple[int, State] | None:
        """(stamp [ns], State) once both are of the same instant."""
        if self._cart_stamp != self._rod_stamp:
            return None
        x, y, vx, vy = self._cart
        orientation, angular = self._rod
        q, v = np.array((x, y, *orientation)), np.array((vx, vy, *angular))
        state = State(self._rod_stamp * 1e-9, q, v)
        self.jumped = self._jump_detector.update(state)
        return self._rod_stamp, state

    def reconfigure(self, values: dict[str, Any]) -> None:
        """Ignore other numbers of the plant, which change nothing here."""

    def findings(self) -> list[Line]:
        """Return no diagnostics."""
        return []
