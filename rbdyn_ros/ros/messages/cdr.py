"""Read and write fields of a message in its bytes.

rclpy takes 10 to 50 us to deserialize a message, reading fields from its bytes a few. A serialized
message (CDR) is four bytes of encoding, then its fields in their order, each aligned to its size;
a text or a sequence follows its length. Messages of a topic mostly differ in their stamp and
their numbers only, whose places are found once.

A message whose shape never changes is written as bytes in which a stamp and some numbers are
replaced: rclpy makes a C structure of a message, field by field, before it writes bytes: 12 us for
an Odometry. To replace thirteen numbers in the bytes of the last one takes two.
"""

import struct
from collections.abc import Callable
from typing import Any, NamedTuple

from geometry_msgs.msg import WrenchStamped
from nav_msgs.msg import Odometry
from rclpy.serialization import deserialize_message, serialize_message
from sensor_msgs.msg import JointState

from rbdyn_ros.ros.messages.messages import (
    SECOND,
    instant,
    instant_of,
    set_stamp,
    wxyz,
    xyz,
    xyzw,
)
from rbdyn_ros.types import Vector

HEAD = 4  # bytes; alignment counts from their end
_ORDERS = {b"\0\0": ">", b"\0\1": "<"}  # plain CDR
_STAMP = 8  # bytes, the first of every header


def deserialize(data: bytes, kind: type) -> Any:
    """Return the message of a class, as the middleware reads it, or raise ValueError."""
    try:
        return deserialize_message(data, kind)
    except RuntimeError:
        raise ValueError(
            f"{len(data)} bytes are no message of the type {kind.__name__}: their sender has "
            "another definition of it, or is broken"
        ) from None


class Walk:
    """A position `at` in the bytes of a message. Its methods raise ValueError if the bytes end too
    soon.
    """

    def __init__(self, data: bytes, order: str):
        self.data, self.order, self.at = data, order, HEAD

    def length(self) -> int:
        """Read the length of the text or the sequence that follows."""
        self.align(4)
        return struct.unpack_from(f"{self.order}I", self.data, self.skip(4))[0]

    def doubles(self, count: int) -> int:
        """Skip `count` doubles and the padding before them. Return where they begin."""
        self.align(8 if count else 1)
        return self.skip(8 * count)

    def text(self) -> str:
        """Read the next text, which ends with a zero."""
        size = self.length()
        start = self.skip(size)
        return bytes(self.data[start : start + size]).rstrip(b"\0").decode(errors="replace")

    def align(self, size: int) -> None:
        """Skip the padding before a number of `size` bytes."""
        self.at += -(self.at - HEAD) % size

    def skip(self, size: int) -> int:
        """Skip `size` bytes and return where they begin. Raise ValueError if there are fewer."""
        start, self.at = self.at, self.at + size
        if self.at > len(self.data):
            raise ValueError(
                f"a message is cut off: of {self.at} bytes or more it has {len(self.data)}"
            )
        return start


# (slices that identify a layout, (place, count) of each block of doubles to be read)
Places = tuple[list[slice], list[tuple[int, int]]]


class _Reader:
    """The places of numbers in the messages of a topic.

    In a message of another layout they are searched from the beginning. A subclass has `_look`,
    which is called at the end of the stamp with which the messages begin, and raises ValueError if
    something is missing; and `_numbers`, for an encoding that only the middleware can read.
    """

    _kind: type
    _look: Callable[[Walk], Places]
    _numbers: Callable[[Any], tuple[float, ...]]

    def __init__(self):
        self._size, self._same = -1, list[tuple[slice, bytes]]()

    def read(self, data: bytes) -> tuple[int, tuple[float, ...]]:
        """Return (stamp [ns], numbers). Raise ValueError as `_look` and `instant` do, and for
        a message that is cut off.
        """
        if not self._is_known(data) and not self._learn(data):
            message = deserialize(data, self._kind)
            return instant_of(message.header), self._numbers(message)
        seconds, fraction = self._stamp.unpack_from(data, HEAD)
        numbers: tuple[float, ...] = ()
        for block, place in self._doubles:
            numbers += block.unpack_from(data, place)
        return instant(seconds, fraction), numbers

    def _is_known(self, data: bytes) -> bool:
        if len(data) != self._size:
            return False
        for part, content in self._same:
            if data[part] != content:
                return False
        return True

    def _learn(self, data: bytes) -> bool:
        self._size, order = -1, _ORDERS.get(bytes(data[:2]))
        if order is None:
            return False
        walk = Walk(data, order)
        walk.skip(_STAMP)
        same, doubles = self._look(walk)
        self._stamp = struct.Struct(f"{order}iI")
        self._doubles = [(struct.Struct(f"{order}{count}d"), place) for place, count in doubles]
        self._size = len(data)
        self._same = [(part, data[part]) for part in (slice(0, HEAD), *same)]
        return True


_FIELDS = ("position", "velocity", "effort")  # in the message's order


def columns(
    message: JointState, joints: tuple[str, ...], fields: tuple[str, ...]
) -> tuple[float, ...]:
    """Return the numbers of the joints, field after field.

    Raise ValueError if the message does not have them.
    """
    names = list(message.name)
    try:
        places = [names.index(joint) for joint in joints]
        return tuple(getattr(message, field)[i] for field in fields for i in places)
    except (ValueError, IndexError):
        raise _without(joints, fields, names) from None


def _without(joints: tuple[str, ...], fields: tuple[str, ...], names: list[str]) -> ValueError:
    wanted = f"{' and '.join(fields)} of {' and '.join(joints)}"
    return ValueError(f"joint_states has {names}; it must have {wanted}")


class JointBytes(_Reader):
    """Reads `columns` from serialized messages, a ValueError where they are not there."""

    _kind = JointState

    def __init__(self, joints: tuple[str, ...], fields: tuple[str, ...]):
        super().__init__()
        self._joints, self._fields = joints, fields

    def _numbers(self, message: JointState) -> tuple[float, ...]:
        return columns(message, self._joints, self._fields)

    def _look(self, walk: Walk) -> Places:
        same, start = [], walk.at
        blocks: dict[str, tuple[int, int]] = {}
        walk.skip(walk.length())
        names = [walk.text() for _ in range(walk.length())]
        for field in _FIELDS:
            count = walk.length()
            same.append(slice(start, walk.at))
            blocks[field], start = (walk.doubles(count), count), walk.at
        try:
            wanted = [names.index(joint) for joint in self._joints]
        except ValueError:
            raise _without(self._joints, self._fields, names) from None
        if any(blocks[field][1] <= i for field in self._fields for i in wanted):
            raise _without(self._joints, self._fields, names)
        return same, [(blocks[field][0] + 8 * i, 1) for field in self._fields for i in wanted]


class RodMotion(NamedTuple):
    """The stamp, pose and twist of an Odometry message."""

    stamp: int  # [ns]
    position: Vector  # [m]
    orientation: tuple[float, float, float, float]  # wxyz
    linear: Vector  # [m/s, child frame]
    angular: Vector  # [rad/s, child frame]


class OdometryBytes(_Reader):
    """Reads serialized Odometry messages, without their covariances."""

    _kind = Odometry

    def motion(self, data: bytes) -> RodMotion:
        """Return the motion. Raise ValueError if the message is cut off."""
        stamp, (px, py, pz, x, y, z, w, u, v, t, p, q, r) = self.read(data)
        return RodMotion(stamp, (px, py, pz), (w, x, y, z), (u, v, t), (p, q, r))

    def _numbers(self, message: Odometry) -> tuple[float, ...]:
        pose, twist = message.pose.pose, message.twist.twist
        attitude = xyzw(wxyz(pose.orientation))
        return *xyz(pose.position), *attitude, *xyz(twist.linear), *xyz(twist.angular)

    def _look(self, walk: Walk) -> Places:
        start = walk.at
        for _ in ("frame_id", "child_frame_id"):
            walk.skip(walk.length())
        end, pose = walk.at, walk.doubles(7)
        walk.doubles(36)  # a covariance
        return [slice(start, end)], [(pose, 7), (walk.doubles(6), 6)]


class Wrench(NamedTuple):
    """The stamp, frame and wrench of a WrenchStamped message."""

    stamp: int  # [ns]
    frame: str
    force: Vector  # [N]
    torque: Vector  # [N m]


class WrenchBytes(_Reader):
    """Reads serialized WrenchStamped messages."""

    _kind = WrenchStamped

    def wrench(self, data: bytes) -> Wrench:
        """Return the wrench. Raise ValueError if the message is cut off."""
        stamp, (fx, fy, fz, tx, ty, tz) = self.read(data)
        return Wrench(stamp, self._frame, (fx, fy, fz), (tx, ty, tz))

    def _numbers(self, message: WrenchStamped) -> tuple[float, ...]:
        self._frame = message.header.frame_id
        return *xyz(message.wrench.force), *xyz(message.wrench.torque)

    def _look(self, walk: Walk) -> Places:
        start = walk.at
        self._frame = walk.text()
        return [slice(start, walk.at)], [(walk.doubles(6), 6)]


_pack_time = struct.Struct("<iI").pack_into
_LITTLE = b"\0\1"  # plain CDR, little-endian, as every middleware writes it on the usual machines


class Template:
    """The bytes of a message that begins with a stamp, or has none, in which blocks of neighboring
    doubles change.
    """

    def __init__(self, message, put: Callable, sizes: tuple, is_stamped: bool = True):
        """Serialize a message, and find the places of its blocks.

        `put(message, *blocks)` writes one tuple of doubles for each of `sizes`; it is called here
        to find them in the bytes. If the middleware writes another encoding, `known` is false, and
        it serializes each message.
        """
        self._message, self._put, self._is_stamped = message, put, is_stamped
        blocks = [
            tuple(float(1000 * i + j + 1) for j in range(size)) for i, size in enumerate(sizes)
        ]
        put(message, *blocks)
        self._bytes = bytearray(serialize_message(message))
        packers = [struct.Struct(f"<{size}d") for size in sizes]
        self._places = [
            (packer.pack_into, self._bytes.find(packer.pack(*block)))
            for packer, block in zip(packers, blocks)
        ]
        self._written: list[tuple | None] = [None for _ in blocks]
        self.known = self._bytes[:2] == _LITTLE and all(place >= 0 for _, place in self._places)

    def pack(self, stamp: int, *blocks: tuple) -> bytes:
        """Return the message's bytes with another stamp [ns], if it has one, and other numbers,
        one tuple for each block.
        """
        if not self.known:
            if self._is_stamped:
                set_stamp(self._message.header.stamp, stamp)
            self._put(self._message, *blocks)
            return serialize_message(self._message)
        data, written = self._bytes, self._written
        if self._is_stamped:
            _pack_time(data, HEAD, stamp // SECOND, stamp % SECOND)
        for i, (pack, place) in enumerate(self._places):
            block = tuple(blocks[i])
            if block is not written[i]:  # as the covariances of true states are
                pack(data, place, *block)
                written[i] = block
        return bytes(data)


def force_command(frame: str) -> Template:
    """Return the message of cart/command, a force on the cart in answer to a state:
    `pack(stamp, force)` takes the stamp [ns] of the state and the force (2,) [N, world].
    """
    message = WrenchStamped()
    message.header.frame_id = frame

    def put(message: WrenchStamped, force: tuple[float, float]) -> None:
        message.wrench.force.x, message.wrench.force.y = map(float, force)

    return Template(message, put, (2,))
