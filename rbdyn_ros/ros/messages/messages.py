"""Parts of messages, their classes by name, and the names of frames.

This is the only place where quaternions change order: wxyz in this library, xyzw in ROS messages.
The tree of frames: world -> cart_link -> (ball joint) pendulum_link, and the frames on the rod.
"""

from importlib import import_module
from typing import NamedTuple

from builtin_interfaces.msg import Time
from geometry_msgs.msg import Quaternion
from std_msgs.msg import Float64MultiArray, Header, MultiArrayDimension


class Frames(NamedTuple):
    """The names of the frames, including the prefix."""

    world: str = "world"
    cart: str = "cart_link"  # origin at the joint, axes of the world
    rod: str = "pendulum_link"  # origin at the joint, z along the rod
    com: str = "pendulum_com"
    tip: str = "pendulum_tip"
    imu: str = "imu_link"
    disturbance: str = "disturbance"  # where the last disturbance acted, axes of the rod
    contact: str = "contact"  # the point where contacts press, axes of the world
    cart_x: str = "cart_x_link"  # the links between the URDF's hinges
    roll: str = "pendulum_roll_link"
    pitch: str = "pendulum_pitch_link"


def frames(prefix: str = "") -> Frames:
    """Return the frames under a prefix. Raise ValueError for a leading slash: tf2 forbids it."""
    if prefix.startswith("/"):
        raise ValueError(f"frame_prefix is '{prefix}'; it must not start with a slash")
    return Frames(*(prefix + name for name in Frames()))


def message_class(kind: str) -> type | None:
    """Return the class of "package/msg/Name"; None if its package is not installed, or does not
    have it.
    """
    package, _, name = kind.split("/")
    try:
        return getattr(import_module(f"{package}.msg"), name, None)
    except ImportError:
        return None


SECOND = 1_000_000_000  # [ns]


def set_stamp(time: Time, ns: int) -> None:
    """Set a time to ns [ns]."""
    time.sec, time.nanosec = divmod(ns, SECOND)


def nanoseconds(time: Time) -> int:
    """Convert a time to [ns]."""
    return time.sec * SECOND + time.nanosec


def instant(seconds: int, fraction: int) -> int:
    """Convert a stamp in whole seconds and nanoseconds to [ns].

    Raise ValueError for an instant before zero, or with a fraction of a second or more: no answer
    could repeat it.
    """
    if seconds < 0 or not 0 <= fraction < SECOND:
        raise ValueError(
            f"a stamp is {seconds} s and {fraction} ns; the seconds must be >= 0 and the "
            "nanoseconds less than 1000000000"
        )
    return seconds * SECOND + fraction


def instant_of(header: Header) -> int:
    """Return the `instant` of a header."""
    return instant(header.stamp.sec, header.stamp.nanosec)


def set_xyz(message, vector) -> None:
    """Set a Vector3 or Point to a vector (3,)."""
    message.x, message.y, message.z = map(float, vector)


def xyz(message) -> tuple[float, float, float]:
    """Return the vector (3,) of a Vector3 or Point."""
    return (message.x, message.y, message.z)


def set_quaternion(message: Quaternion, wxyz) -> None:
    """Set a message to the quaternion wxyz (4,)."""
    message.w, message.x, message.y, message.z = map(float, wxyz)


def set_xyzw(message: Quaternion, xyzw) -> None:
    """Set a message to the quaternion (4,) in the order of messages, scalar last."""
    message.x, message.y, message.z, message.w = xyzw


def wxyz(message: Quaternion) -> tuple[float, float, float, float]:
    """Return the quaternion (4,) of a message, scalar first."""
    return (message.w, message.x, message.y, message.z)


def xyzw(wxyz: tuple[float, float, float, float]) -> tuple[float, float, float, float]:
    """Return a quaternion (4,) in the order of messages, scalar last."""
    return (*wxyz[1:], wxyz[0])


def label_array(labels: tuple[str, ...]) -> Float64MultiArray:
    """Return an array with one value per label, named in `layout.dim`."""
    array = Float64MultiArray(data=[0.0] * len(labels))
    array.layout.dim = [MultiArrayDimension(label=label, size=1, stride=1) for label in labels]
    return array


def labeled(array: Float64MultiArray) -> dict[str, float]:
    """Return the numbers of an array by their labels in `layout.dim`."""
    return dict(zip((dimension.label for dimension in array.layout.dim), array.data))
