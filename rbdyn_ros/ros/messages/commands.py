"""The topics of the commanded force, and the force in their messages.

The hardware plugin of ros2_control publishes efforts of the cart's joints, and so does
`control_msgs/JointCommand`, if that message is installed.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

from geometry_msgs.msg import WrenchStamped
from rclpy.duration import Duration
from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from rbdyn_ros.plant.command import force_of
from rbdyn_ros.plant.status import Rejected
from rbdyn_ros.ros import qos
from rbdyn_ros.ros.messages.cdr import WrenchBytes, force_command
from rbdyn_ros.ros.messages.messages import message_class, nanoseconds
from rbdyn_ros.ros.messages.state_topics import JOINTS
from rbdyn_ros.ros.node import WARN_PERIOD, ManagedNode

CART, EFFORTS = "cart/command", "effort_controller/commands"
TOPIC, STAMPED_TOPIC = "joint_commands", "joint_commands/stamped"
DRIVEN = JOINTS[:2]  # the joints of the cart; the others have no drive
EFFORT = "effort"
UNSET = "no command"  # the reason to reject efforts that no controller has set
KINDS: dict[str, type] = {CART: WrenchStamped, EFFORTS: Float64MultiArray, TOPIC: JointState}
# where `control_msgs` is installed, and has that message
if _kind := message_class("control_msgs/msg/JointCommand"):
    KINDS[STAMPED_TOPIC] = _kind

Planar = tuple[float, float]
ACKNOWLEDGED = Duration(seconds=0.2)  # longest wait for the acknowledgment


class CommandPublisher:
    """Publishes forces on the cart. It keeps more of them than the plant needs, for recorders in
    lockstep.
    """

    def __init__(self, node: ManagedNode):
        self._message = force_command(node.frames.world)
        profile = qos.keeping(qos.KEPT_COMMANDS, qos.COMMAND)
        self._publisher = node.create_lifecycle_publisher(
            WrenchStamped, CART, profile, **qos.PUBLISHING
        )

    def publish(self, stamp: int, force: Planar) -> None:
        """Publish a force (2,) [N] in answer to the state of that stamp [ns]."""
        self._publisher.publish(self._message.pack(stamp, force))

    def wait(self) -> None:
        """Wait until the newest force has arrived, as the process may end next."""
        self._publisher.wait_for_all_acked(ACKNOWLEDGED)


def subscribe(
    node: ManagedNode,
    take: Callable[[Planar, int, str], None],
    reject: Callable[[Rejected], None],
) -> None:
    """Subscribe a node to all topics of commands: `take(force [N], stamp [ns], topic)`."""
    wrench_bytes = WrenchBytes()

    def receive(topic: str, message: Any) -> None:
        if topic == CART:
            try:
                message = wrench_bytes.wrench(message)
            except ValueError as error:
                raise Rejected("malformed", f"{topic}: {error}") from None
            check_frame(message.frame, ("", node.frames.world, node.frames.cart), topic)
            check_finite(message.force + message.torque, topic)
        take(*read(topic, message), topic)

    for topic, kind in KINDS.items():
        callback = node.guard(partial(receive, topic), reject)
        raw = topic == CART
        node.create_subscription(kind, topic, callback, qos.COMMAND, raw=raw, **qos.SUBSCRIBING)


def log_rejection(node: Node, rejected: Rejected) -> None:
    """Warn of a command that is rejected; note once that the plugin waits for a controller."""
    if rejected.reason == UNSET:
        node.get_logger().info(f"waiting: {rejected}", once=True)
    else:
        node.get_logger().warning(f"rejected: {rejected}", throttle_duration_sec=WARN_PERIOD)


def read(topic: str, message: Any) -> tuple[Planar, int]:
    """Return the force (2,) [N] of a message of the topic, of `CART` a `cdr.Wrench`, and the stamp
    [ns] of the state that it answers, 0 if it names none. Raise Rejected if it does not fit.

    The plugin stamps its efforts with its own node's clock, so their age is unknown.
    """
    if topic == CART:
        return force_of(message.force[:2], topic), message.stamp
    if topic == EFFORTS:
        return force_of(message.data, topic), 0
    if topic == TOPIC:
        return force_of_joints(list(message.name), message.effort, topic), 0
    return force_of_stamped(message, topic), nanoseconds(message.header.stamp)


def check_frame(frame: str, allowed: tuple[str, ...], what: str) -> None:
    """Raise Rejected if the frame of a message is not an allowed one."""
    if frame not in allowed:
        known = ", ".join(name for name in allowed if name)
        raise Rejected(
            "frame", f"{what} is in the frame '{frame}'; it must be in {known}, or empty"
        )


def check_finite(numbers: Iterable[float], what: str) -> None:
    """Raise Rejected if one of the numbers of a message is not finite."""
    if not all(map(math.isfinite, numbers)):
        raise Rejected("not finite", f"{what} is {[float(n) for n in numbers]}; it must be finite")


def force_of_joints(names: Sequence[str], efforts: Sequence[float], what: str) -> Planar:
    """Return the force (2,) [N] of efforts by joint name, in any order.

    There is one effort for each name, or one for each joint of the cart, as the plugin sends them.
    NaN is the effort of an interface that no controller has claimed. Such a joint of the cart gets
    zero, as one that is not named. Raise Rejected if no joint of the cart is commanded, or if
    anything else does not fit.
    """
    driven = _cart_joints(names, what)
    if len(efforts) not in (len(names), len(driven)):
        raise Rejected(
            "length",
            f"{what} has {len(efforts)} efforts for {len(names)} joints; it must have one for "
            f"each, or one for each of {', '.join(driven)}",
        )
    named = dict(zip(names if len(efforts) == len(names) else driven, map(float, efforts)))
    commanded = {name: effort for name, effort in named.items() if not math.isnan(effort)}
    for name, effort in commanded.items():
        if name not in DRIVEN and effort:
            raise Rejected(
                "joint",
                f"{what} has an effort of {effort:g} for {name}, which has no drive; it must be "
                "0 or NaN",
            )
        if not math.isfinite(effort):
            raise Rejected(
                "not finite",
                f"{what} has an effort of {effort:g} N for {name}; it must be finite, or NaN if "
                "the joint is not commanded",
            )
    if commanded.keys().isdisjoint(driven):
        raise Rejected(
            UNSET, f"{what} has the effort NaN for {', '.join(driven)}: no controller has set it"
        )
    return commanded.get(DRIVEN[0], 0.0), commanded.get(DRIVEN[1], 0.0)


def force_of_stamped(message: Any, what: str) -> Planar:
    """Return the force (2,) [N] of a `control_msgs/JointCommand`. Raise Rejected if it does not
    fit.
    """
    if message.interface_name != EFFORT:
        raise Rejected(
            "interface",
            f"{what} is for the interface '{message.interface_name}'; it must be for '{EFFORT}'",
        )
    if len(message.values) != len(message.joint_names):
        raise Rejected(
            "length",
            f"{what} has {len(message.values)} values for {len(message.joint_names)} joints; it "
            "must have one for each",
        )
    return force_of_joints(message.joint_names, message.values, what)


def _cart_joints(names: Sequence[str], what: str) -> list[str]:
    """Return the names of the cart's joints, in their order."""
    for name in names:
        if name not in JOINTS:
            raise Rejected(
                "joint", f"{what} names the joint '{name}'; it must be one of {', '.join(JOINTS)}"
            )
        if list(names).count(name) > 1:
            raise Rejected("joint", f"{what} names {name} twice; it must name each joint once")
    driven = [name for name in names if name in DRIVEN]
    if not driven:
        raise Rejected(
            "joint",
            f"{what} names no joint of the cart; it must name {DRIVEN[0]}, {DRIVEN[1]} or both",
        )
    return driven
