"""joint_states and odometry of the same instant, joined to the state that control laws know."""

import numpy as np
from nav_msgs.msg import Odometry
from sensor_msgs.msg import JointState

from rbdyn_ros.nodes.messages import nanoseconds, wxyz, xyz
from rbdyn_ros.nodes.state_topics import JOINTS
from rbdyn_ros.types import State

CART = JOINTS[:2]


class StateJoin:
    """Keeps the newest of both messages."""

    def __init__(self):
        self._cart, self._cart_stamp = None, -1
        self._rod, self._rod_stamp = None, -2

    def joints(self, message: JointState) -> None:
        """Take the cart. ValueError if the message does not have its joints."""
        try:
            places = [message.name.index(joint) for joint in CART]
            self._cart = [field[i] for field in (message.position, message.velocity) for i in places]
        except (ValueError, IndexError):
            raise ValueError(f"joint_states has {list(message.name)}; it must have position and velocity of {' and '.join(CART)}") from None
        self._cart_stamp = nanoseconds(message.header.stamp)

    def odometry(self, message: Odometry) -> None:
        """Take the rod."""
        self._rod = (wxyz(message.pose.pose.orientation), xyz(message.twist.twist.angular))
        self._rod_stamp = nanoseconds(message.header.stamp)

    def state(self) -> tuple | None:
        """(stamp [ns], State) once both are of the same instant."""
        if self._cart_stamp != self._rod_stamp:
            return None
        x, y, vx, vy = self._cart
        orientation, angular = self._rod
        q, v = np.array((x, y, *orientation)), np.array((vx, vy, *angular))
        return self._rod_stamp, State(self._rod_stamp * 1e-9, q, v)
