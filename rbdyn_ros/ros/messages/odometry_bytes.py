"""What a controller needs of an Odometry message, read from its bytes."""

from nav_msgs.msg import Odometry
from rclpy.serialization import deserialize_message

from rbdyn_ros.ros.messages.cdr import Layout, Walk
from rbdyn_ros.ros.messages.messages import nanoseconds, wxyz, xyz

# doubles, in the message's order
_POSITION, _ORIENTATION, _COVARIANCE, _LINEAR, _ANGULAR = (
    3,
    4,
    36,
    3,
    3,
)


class OdometryBytes:
    """The rod of serialised messages."""

    def __init__(self):
        self._layout = Layout(_look)

    def rod(
        self, data: bytes
    ) -> tuple[int, tuple[float, float, float, float], tuple[float, float, float]]:
        """(stamp [ns], orientation wxyz (4,), angular velocity (3,)).

        ValueError if the message is cut off.
        """
        found = self._layout.read(data)
        if found is None:
            message = deserialize_message(data, Odometry)
            return (
                nanoseconds(message.header.stamp),
                wxyz(message.pose.pose.orientation),
                xyz(message.twist.twist.angular),
            )
        stamp, (x, y, z, w, *angular) = found
        return stamp, (w, x, y, z), tuple(angular)


def _look(walk: Walk) -> tuple:
    start = walk.at
    for _ in ("frame_id", "child_frame_id"):
        walk.skip(walk.length())
    end = walk.at
    walk.doubles(_POSITION)
    orientation = walk.doubles(_ORIENTATION)
    walk.doubles(_COVARIANCE + _LINEAR)
    return [slice(start, end)], [(orientation, _ORIENTATION), (walk.doubles(_ANGULAR), _ANGULAR)]
