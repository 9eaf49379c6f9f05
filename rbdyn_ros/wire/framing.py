"""Frames in a stream of bytes: COBS takes the zeros out of a frame, and a zero ends it.

A receiver that joins late, or that has lost bytes, is in step again after the next zero. Datagrams
carry the same bytes, one or more frames each. Cheshire and Baker, Consistent Overhead Byte
Stuffing, IEEE/ACM ToN 7 (1999).
"""

from collections.abc import Iterator

from rbdyn_ros.optional import library
from rbdyn_ros.wire import frame
from rbdyn_ros.wire.frame import Frame, Malformed

END = b"\0"
_LONGEST = frame.LONGEST + frame.LONGEST // 254 + 1  # what COBS makes of the longest frame


class Framing:
    """Bytes to frames and back. MissingLibrary where `cobs` is not installed."""

    def __init__(self):
        self._cobs = library("cobs.cobs", "hil", "the wire to a board")
        self._begun, self._skipping = bytearray(), False

    def encode(self, sent: Frame) -> bytes:
        """The bytes that carry a frame."""
        return self._cobs.encode(frame.encode(sent)) + END

    def decode(self, data: bytes) -> Iterator[Frame | Malformed]:
        """Every frame that ends in `data`, after what came before; what has not ended is kept."""
        *ended, begun = data.split(END)
        for piece in ended:
            yield from self._ended(piece)
        self._begin(begun)

    def restart(self) -> None:
        """Forget what has begun: another stream follows."""
        self._begun.clear()
        self._skipping = False

    def _begin(self, piece: bytes) -> None:
        """Keep no more than a frame can have, whatever comes."""
        self._begun += piece
        if len(self._begun) > _LONGEST:
            self._begun.clear()
            self._skipping = True

    def _ended(self, piece: bytes) -> Iterator[Frame | Malformed]:
        self._begin(piece)
        whole, skipped = bytes(self._begun), self._skipping
        self.restart()
        if skipped:
            yield Malformed("too long")
        elif whole:  # nothing between two zeros is no frame, and no mistake
            yield self._unstuffed(whole)

    def _unstuffed(self, whole: bytes) -> Frame | Malformed:
        try:
            return frame.decode(self._cobs.decode(whole))
        except self._cobs.DecodeError:
            return Malformed("framing")
