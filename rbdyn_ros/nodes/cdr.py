"""Reading fields of a message from its bytes, without making the message: rclpy takes 10 to 50 us for that, this a few.

A serialised message (CDR) is four bytes that tell how it was written, then its fields in their order, each aligned to
its size; a text or a sequence stands behind its length.
"""

import struct

from rbdyn_ros.nodes.messages import SECOND

HEAD = 4  # bytes; alignment counts from behind them
_ORDERS = {b"\0\0": ">", b"\0\1": "<"}  # plain CDR
_SIZES = {"i": 4, "I": 4, "d": 8}  # bytes


class Walk:
    """Over the bytes of a message, from `at` on; ValueError where they end too soon."""

    def __init__(self, data: bytes, order: str):
        self.data, self.order, self.at = data, order, HEAD

    def numbers(self, kind: str, count: int = 1) -> tuple:
        """The next ones, of a kind of `struct`."""
        self.align(_SIZES[kind])
        start = self.skip(count * _SIZES[kind])
        return struct.unpack_from(f"{self.order}{count}{kind}", self.data, start)

    def stamp(self) -> int:
        """The next time [ns]."""
        return self.numbers("i")[0] * SECOND + self.numbers("I")[0]

    def length(self) -> int:
        """Of the text or the sequence that follows."""
        return self.numbers("I")[0]

    def text(self) -> str:
        """The next text, which ends with a zero."""
        size = self.length()
        start = self.skip(size)
        return bytes(self.data[start : start + size]).rstrip(b"\0").decode(errors="replace")

    def align(self, size: int) -> None:
        """Go to where a number of so many bytes may stand."""
        self.at += -(self.at - HEAD) % size

    def skip(self, size: int) -> int:
        """Go on by so many bytes; where they begin."""
        start, self.at = self.at, self.at + size
        if self.at > len(self.data):
            raise ValueError(f"a message is cut off: of {self.at} bytes or more it has {len(self.data)}")
        return start


def walk(data: bytes) -> Walk | None:
    """From the first field on; None for an encoding that only the middleware knows."""
    order = _ORDERS.get(bytes(data[:2]))
    return Walk(data, order) if order else None
