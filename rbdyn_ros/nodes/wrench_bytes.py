"""A WrenchStamped message, read from its bytes."""

from geometry_msgs.msg import WrenchStamped
from rclpy.serialization import deserialize_message

from rbdyn_ros.nodes import cdr
from rbdyn_ros.nodes.messages import nanoseconds, xyz


def wrench(data: bytes) -> tuple:
    """(stamp [ns], frame, force (3,), torque (3,)) of a serialised WrenchStamped. ValueError if it is cut off."""
    walk = cdr.walk(data)
    if walk is None:
        message = deserialize_message(data, WrenchStamped)
        return nanoseconds(message.header.stamp), message.header.frame_id, xyz(message.wrench.force), xyz(message.wrench.torque)
    stamp, frame, numbers = walk.stamp(), walk.text(), walk.numbers("d", 6)
    return stamp, frame, numbers[:3], numbers[3:]
