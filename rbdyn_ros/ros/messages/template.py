"""A message whose shape never changes, as bytes in which a stamp and some numbers are written
anew.

rclpy makes a C structure of a message, field by field, before it writes bytes: 12 us for an
Odometry. To write thirteen numbers where they stand in the bytes of the last one takes two.
"""

import struct
from collections.abc import Callable

from geometry_msgs.msg import WrenchStamped
from rclpy.serialization import serialize_message

from rbdyn_ros.ros.messages.cdr import HEAD
from rbdyn_ros.ros.messages.messages import SECOND, set_stamp

_STAMP = struct.Struct("<iI")
_DOUBLE = 8  # bytes
_LITTLE = b"\0\1"  # plain CDR, little-endian, as every middleware writes it on the usual machines


class Template:
    """Of a message with a header, in which blocks of neighboring doubles change."""

    def __init__(self, message, put: Callable, sizes: tuple):
        """`put(message, *blocks)` writes one tuple of doubles for each of `sizes`; it is called
        here to see where they go.

        Where the middleware writes in another way `known` is false, and each message goes through
        it.
        """
        self._message, self._put = message, put
        blocks = [
            tuple(float(1000 * i + j + 1) for j in range(size)) for i, size in enumerate(sizes)
        ]
        put(message, *blocks)
        self._bytes = bytearray(serialize_message(message))
        packers = [struct.Struct(f"<{size}d") for size in sizes]
        self._places = [
            (packer, self._bytes.find(packer.pack(*block)))
            for packer, block in zip(packers, blocks)
        ]
        self.known = self._bytes[:2] == _LITTLE and all(place >= 0 for _, place in self._places)
        if self.known:  # what nobody writes is zero, as covariances of the truth
            for packer, place in self._places:
                packer.pack_into(self._bytes, place, *(0.0,) * (packer.size // _DOUBLE))

    @property
    def image(self) -> tuple[bytes, list[int]] | None:
        """(bytes, where in them each number stands), where they are known."""
        if not self.known:
            return None
        return bytes(self._bytes), [
            place + 8 * i for packer, place in self._places for i in range(packer.size // _DOUBLE)
        ]

    def packed(self, stamp: int, *blocks: tuple) -> bytes:
        """The message's bytes with another stamp [ns] and other numbers, one tuple for each
        block.
        """
        if not self.known:
            set_stamp(self._message.header.stamp, stamp)
            self._put(self._message, *blocks)
            return serialize_message(self._message)
        _STAMP.pack_into(self._bytes, HEAD, *divmod(stamp, SECOND))
        for (packer, place), block in zip(self._places, blocks):
            packer.pack_into(self._bytes, place, *block)
        return bytes(self._bytes)


class ForceCommand:
    """cart/command, made once: a force on the cart, in answer to a state."""

    def __init__(self, frame: str):
        message = WrenchStamped()
        message.header.frame_id = frame
        self._template = Template(message, self._put, (2,))

    def packed(self, stamp: int, force: tuple[float, float]) -> bytes:
        """Its bytes with the stamp [ns] of the state and the force (2,) [N, world]."""
        return self._template.packed(stamp, force)

    @staticmethod
    def _put(message: WrenchStamped, force: tuple) -> None:
        message.wrench.force.x, message.wrench.force.y = map(float, force)
