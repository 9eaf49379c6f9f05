"""What a controller needs of an Odometry message, read from its bytes: making the message takes 50 us, this takes one.

A serialised message (CDR) is four bytes that tell how it was written, then its fields in their order, each aligned to
its size: stamp, two frames, pose of seven doubles, its covariance of 36, twist of six, its covariance.
"""

import struct

from nav_msgs.msg import Odometry
from rclpy.serialization import deserialize_message

from rbdyn_ros.nodes.messages import SECOND, nanoseconds, wxyz, xyz

_HEAD = 4  # bytes; alignment counts from behind them
_ORDERS = {b"\0\0": ">", b"\0\1": "<"}  # plain CDR
_POSITION, _COVARIANCE, _LINEAR = 3 * 8, 36 * 8, 3 * 8  # bytes


def rod(data: bytes) -> tuple:
    """(stamp [ns], orientation wxyz (4,), angular velocity (3,)) of a serialised Odometry."""
    order = _ORDERS.get(bytes(data[:2]))
    if order is None:  # another encoding, which the middleware knows
        message = deserialize_message(data, Odometry)
        return nanoseconds(message.header.stamp), wxyz(message.pose.pose.orientation), xyz(message.twist.twist.angular)
    seconds, fraction, frame = struct.unpack_from(f"{order}iII", data, _HEAD)
    at = _aligned(12 + frame, 4)
    (child,) = struct.unpack_from(f"{order}I", data, _HEAD + at)
    pose = _HEAD + _aligned(at + 4 + child, 8)
    x, y, z, w = struct.unpack_from(f"{order}4d", data, pose + _POSITION)
    angular = struct.unpack_from(f"{order}3d", data, pose + _POSITION + 4 * 8 + _COVARIANCE + _LINEAR)
    return seconds * SECOND + fraction, (w, x, y, z), angular


def _aligned(place: int, size: int) -> int:
    return place + -place % size
