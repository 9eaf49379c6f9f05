"""A WrenchStamped message, read from its bytes."""

from geometry_msgs.msg import WrenchStamped
from rclpy.serialization import deserialize_message

from rbdyn_ros.ros.messages.cdr import Layout, Walk
from rbdyn_ros.ros.messages.messages import nanoseconds, xyz


class WrenchBytes:
    """Serialised messages."""

    def __init__(self):
        self._layout, self._frame = Layout(self._look), ""

    def wrench(
        self, data: bytes
    ) -> tuple[int, str, tuple[float, float, float], tuple[float, float, float]]:
        """(stamp [ns], frame, force (3,), torque (3,)). ValueError if the message is cut off."""
        found = self._layout.read(data)
        if found is None:
            message = deserialize_message(data, WrenchStamped)
            return (
                nanoseconds(message.header.stamp),
                message.header.frame_id,
                xyz(message.wrench.force),
                xyz(message.wrench.torque),
            )
        stamp, numbers = found
        return stamp, self._frame, numbers[:3], numbers[3:]

    def _look(self, walk: Walk) -> tuple:
        start = walk.at
        self._frame = walk.text()
        return [slice(start, walk.at)], [(walk.doubles(6), 6)]
