"""Malformed frames, each wrong in a known way, for a receiver on the wire: it must not crash, and
count every one.
"""

import math
import random
import struct
from binascii import crc32
from collections.abc import Iterator
from typing import NamedTuple

from rbdyn_ros.optional import library
from rbdyn_ros.wire import frame
from rbdyn_ros.wire.frame import COMPACT, FORCE, STATE, Frame
from rbdyn_ros.wire.link import Link
from rbdyn_ros.wire.session import Session

_STATE = (0.1, -0.2, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.1, 0.2, 0.3)
ANY = ""  # it is malformed, for whatever reason


class BadFrame(NamedTuple):
    """Bytes that are one malformed frame."""

    data: bytes  # with the zero that ends it
    reason: str  # under which it must be counted, or ANY


class Fuzz:
    """A generator of wrong frames, the same ones for the same seed."""

    def __init__(self, seed: int):
        self._random = random.Random(seed)
        self._cobs = library("cobs.cobs", "hil", "the wire to a board")
        self._ways = (
            self._noise, self._flip_bits, self._cut, self._longer, self._version, self._kind,
            self._payload, self._not_finite, self._not_unit, self._too_long, self._stuffing,
            self._compact,
        )  # fmt: skip

    def frames(self, number: int) -> Iterator[BadFrame]:
        """Yield so many wrong frames."""
        for _ in range(number):
            yield self._random.choice(self._ways)()

    def _noise(self) -> BadFrame:
        length = self._random.randint(1, 80)
        return BadFrame(bytes(self._random.randint(1, 255) for _ in range(length)) + b"\0", ANY)

    def _flip_bits(self) -> BadFrame:
        body = bytearray(self._valid_body())
        body[self._random.randrange(len(body))] ^= 1 << self._random.randrange(8)
        return BadFrame(self._stuff(bytes(body)), "crc")

    def _cut(self) -> BadFrame:
        body = self._valid_body()
        return BadFrame(self._stuff(body[: self._random.randrange(1, len(body))]), ANY)

    def _longer(self) -> BadFrame:
        return BadFrame(
            self._stuff(
                self._valid_body()[:-4] + self._random.randbytes(4 * self._random.randint(1, 3))
            ),
            ANY,
        )

    def _version(self) -> BadFrame:
        return BadFrame(self._change_byte(0, self._random.choice([0, *range(2, 256)])), "version")

    def _kind(self) -> BadFrame:
        return BadFrame(self._change_byte(1, self._random.choice([0, *range(5, 256)])), "kind")

    def _payload(self) -> BadFrame:
        return BadFrame(self._change_byte(1, STATE), "length")

    def _not_finite(self) -> BadFrame:
        force = [self._random.choice((math.nan, math.inf, -math.inf)), 1.0]
        self._random.shuffle(force)
        return BadFrame(self._stuff(_encode(FORCE, tuple(force))), "not finite")

    def _not_unit(self) -> BadFrame:
        scale = self._random.choice((0.0, 0.5, 0.99, 1.01, 2.0, 1e30))
        numbers = _STATE[:2] + tuple(scale * c for c in _STATE[2:6]) + _STATE[6:]
        return BadFrame(self._stuff(_encode(STATE, numbers)), "not unit")

    def _compact(self) -> BadFrame:
        """Return a compact state with a number that is not finite, or of another size."""
        wrong = self._random.choice((math.nan, math.inf, -math.inf))
        body = _encode(COMPACT, (0.1, wrong, *_STATE[2:]))
        if self._random.random() < 0.5:
            return BadFrame(self._stuff(body), "not finite")
        short = body[: -4 - self._random.randint(1, 8)]
        return BadFrame(self._stuff(short + struct.pack("<I", crc32(short))), "length")

    def _too_long(self) -> BadFrame:
        return BadFrame(b"\x01" * self._random.randint(200, 2000) + b"\0", "too long")

    def _stuffing(self) -> BadFrame:
        """Return a frame with a code byte that points beyond the end."""
        return BadFrame(
            bytes((self._random.randint(40, 255),))
            + b"\x01" * self._random.randint(1, 30)
            + b"\0",
            "framing",
        )

    def _valid_body(self) -> bytes:
        """Return the body of a frame with nothing wrong in it."""
        kind = self._random.choice((FORCE, STATE))
        numbers = _STATE if kind == STATE else (self._random.gauss(0.0, 10.0), 1.0)
        return _encode(kind, numbers, self._random.getrandbits(32), self._random.getrandbits(60))

    def _change_byte(self, at: int, value: int) -> bytes:
        """Return a sound frame with one byte changed, and the CRC that belongs to it."""
        body = bytearray(_encode(FORCE, (1.0, 2.0))[:-4])
        body[at] = value
        return self._stuff(bytes(body) + struct.pack("<I", crc32(body)))

    def _stuff(self, body: bytes) -> bytes:
        return self._cobs.encode(body) + b"\0"


def _encode(kind: int, numbers: tuple[float, ...], sequence: int = 0, time: int = 1) -> bytes:
    """Return the body of a frame."""
    return frame.encode(Frame(kind, 0, sequence, time, 0, 0, 1, numbers))


class Counted(NamedTuple):
    """The counts of an end of the wire after wrong frames."""

    counts: dict  # reason -> how many
    mistaken: list  # first few that were taken, or counted under another reason


def through_a_link(number: int, seed: int, session: Session | None = None) -> Counted:
    """Feed so many wrong frames to one end of the wire, in pieces of any length. To an end with a
    key all are wrong, for whatever reason.
    """
    link, mistaken, pieces = Link(timeout=10**9, session=session), [], random.Random(seed)
    for wrong in Fuzz(seed).frames(number):
        before = link.statistics.malformed.copy()
        at = pieces.randint(0, len(wrong.data))
        taken = [*link.incoming(wrong.data[:at], 0), *link.incoming(wrong.data[at:], 0)]
        new = link.statistics.malformed - before
        right = not taken and new.total() == 1 and (bool(session) or wrong.reason in (ANY, *new))
        if not right and len(mistaken) < 5:
            mistaken.append(
                f"{wrong.data[:40].hex()} should be '{wrong.reason}' and is {dict(new)}, taken "
                f"{len(taken)}"
            )
    return Counted(dict(link.statistics.malformed), mistaken)
