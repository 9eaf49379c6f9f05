"""What a controller needs of an Odometry message, read from its bytes."""

from nav_msgs.msg import Odometry
from rclpy.serialization import deserialize_message

from rbdyn_ros.nodes import cdr
from rbdyn_ros.nodes.messages import nanoseconds, wxyz, xyz

_ORIENTATION = 3  # doubles before it in the pose
_ANGULAR = 3 + 4 + 36 + 3  # doubles before the angular velocity: position, orientation, covariance, linear velocity


def rod(data: bytes) -> tuple:
    """(stamp [ns], orientation wxyz (4,), angular velocity (3,)) of a serialised Odometry. ValueError if it is cut off."""
    walk = cdr.walk(data)
    if walk is None:
        message = deserialize_message(data, Odometry)
        return nanoseconds(message.header.stamp), wxyz(message.pose.pose.orientation), xyz(message.twist.twist.angular)
    stamp = walk.stamp()
    for _ in ("frame_id", "child_frame_id"):
        walk.skip(walk.length())
    numbers = walk.numbers("d", _ANGULAR + 3)
    x, y, z, w = numbers[_ORIENTATION : _ORIENTATION + 4]
    return stamp, (w, x, y, z), numbers[_ANGULAR:]
