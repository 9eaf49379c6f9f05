"""The frame, the message between the two ends of the wire, byte by byte.

    offset  size  type  field
         0     1   u8   version, 1
         1     1   u8   kind: 1 heartbeat, 2 state, 3 force
         2     2  u16   flags: bit 0 safe, the sender's watchdog has fired and its force is zero
         4     4  u32   sequence, one more than the sender's last frame; 2^32 - 1 is followed by 0
         8     8  u64   time [ns] at which it is sent, on the sender's clock
        16     8  u64   echo [ns]: `time` of the newest frame that was received; 0 none yet
        24     4  u32   held [ns] between that arrival and this sending; 2^32 - 1 longer
        28    ...       payload
      last   4  u32   CRC-32 of all bytes before it (polynomial 04C11DB7, reflected, as in zlib)

    state payload, 52 bytes: u64 stamp [ns] of the measurement; f32 x y [m]
                             w x y z (unit, body to world)  vx vy [m/s]  wx wy wz [rad/s, body]
    force payload, 16 bytes: u64 stamp, repeating that of the state it answers, 0 none;
                             f32 Fx Fy [N, world]

compact state, 41 bytes in all, sent only to an end whose frames carry the flag bit 1, and in the
place of a state:
    u8 version, u8 kind 4, u8 flags (bits 0 to 5; bits 6 and 7: which of w x y z is left out),
    u16 sequence, u32 time (their low bits), u64 stamp,
    f16 x y, the other three of w x y z, vx vy, wx wy wz; u32 CRC-32
The component left out is the largest; it is positive. `Link` completes sequence and time.

All little-endian. `echo` and `held` give the other end the four instants from which it reads the
clocks' offset.

With a shared key (`session`) the version is 2, a heartbeat has a payload, the u64 nonce of its
sender, and 8 bytes before the CRC authenticate those before them.

In a stream of bytes COBS removes the zeros from a frame, and a zero ends it. A receiver that joins
late, or that has lost bytes, is synchronized again after the next zero. Datagrams carry the same
bytes, one or more frames each. Cheshire and Baker, Consistent Overhead Byte Stuffing, IEEE/ACM
ToN 7 (1999).
"""

import math
import struct
from binascii import crc32
from collections.abc import Callable, Iterator
from typing import NamedTuple

from rbdyn_ros.optional import library

VERSION, KEYED_VERSION = 1, 2
TAG = 8  # bytes that authenticate a frame, where the ends share a key
HEARTBEAT, STATE, FORCE, COMPACT = 1, 2, 3, 4
SAFE, WANTS_COMPACT = 1, 2  # flags
LARGEST_COMPACT = 65000.0  # of the numbers of a compact state
LONGEST_HELD = 2**32 - 1  # [ns]
SEQUENCES, TIMES = 2**32, 2**64
LARGEST = 3.4028234663852886e38  # the largest number of a payload, of 32 bits

_COMPACT = struct.Struct("<BBBHIQ10e")
_HEADER, _CRC = struct.Struct("<BBHIQQI"), struct.Struct("<I")
_PAYLOADS = {
    HEARTBEAT: struct.Struct("<"),
    STATE: struct.Struct("<Q11f"),
    FORCE: struct.Struct("<Q2f"),
}
_KEYED_PAYLOADS = _PAYLOADS | {HEARTBEAT: struct.Struct("<Q")}
_OVERHEAD = _HEADER.size + _CRC.size
LONGEST = _OVERHEAD + max(payload.size for payload in _PAYLOADS.values())
_UNIT = 1e-3  # largest deviation of |quaternion| from 1: a measured one is rounded or noisy


class Frame(NamedTuple):
    """The fields of a frame, in the units above."""

    kind: int
    flags: int
    sequence: int
    time: int
    echo: int
    held: int
    stamp: int = 0  # of a state or a force; the nonce of a heartbeat that has one
    numbers: tuple[
        float, ...
    ] = ()  # 11 of a state: q (6,), v (5,) as in types.State; 2 of a force


class Malformed(NamedTuple):
    """Bytes that are not a frame, and the reason under which they are counted."""

    reason: str  # framing, too long, length, crc, version, kind, not finite, not unit


def encode(frame: Frame, sign: Callable[[bytes], bytes] | None = None) -> bytes:
    """Return the frame's bytes, CRC included. Raise struct.error for a number beyond its field.

    With a key, `sign(body)` returns the bytes that authenticate the frame.
    """
    version = KEYED_VERSION if sign else VERSION
    body = (_pack_compact if frame.kind == COMPACT else _pack)(frame, version)
    body += sign(body) if sign else b""
    return body + _CRC.pack(crc32(body))


def _pack_compact(frame: Frame, version: int) -> bytes:
    numbers = list(frame.numbers)
    left_out = max(range(4), key=lambda i: abs(numbers[2 + i]))
    sign = math.copysign(1.0, numbers.pop(2 + left_out))
    numbers[2:5] = (sign * component for component in numbers[2:5])
    flags, sequence = frame.flags & 63 | left_out << 6, frame.sequence % 2**16
    return _COMPACT.pack(
        version, COMPACT, flags, sequence, frame.time % 2**32, frame.stamp, *numbers
    )


def _pack(frame: Frame, version: int) -> bytes:
    header = _HEADER.pack(version, *frame[:5], min(frame.held, LONGEST_HELD))
    payload = _payloads(version)[frame.kind]
    return header + (payload.pack(frame.stamp, *frame.numbers) if payload.size else b"")


def _payloads(version: int) -> dict[int, struct.Struct]:
    return _PAYLOADS if version == VERSION else _KEYED_PAYLOADS


def decode(data: bytes, keyed: bool = False) -> Frame | Malformed:
    """Return the frame of `data`, or why `data` is none. With a key, the tag is not verified here.

    The CRC is checked before everything that it protects.
    """
    if len(data) < _OVERHEAD:
        return Malformed("length")
    if crc32(data[: -_CRC.size]) != _CRC.unpack(data[-_CRC.size :])[0]:
        return Malformed("crc")
    version, kind, *rest = _HEADER.unpack_from(data)
    if version != (KEYED_VERSION if keyed else VERSION):
        return Malformed("version")
    body = data[: -_CRC.size - TAG * keyed]
    if kind == COMPACT:
        return _unpack_compact(body)
    payload = _payloads(version).get(kind)
    if payload is None:
        return Malformed("kind")
    if len(body) != _HEADER.size + payload.size:
        return Malformed("length")
    stamp, *numbers = payload.unpack_from(body, _HEADER.size) or (0,)
    return _validate(Frame(kind, *rest, stamp=stamp, numbers=tuple(numbers)))


def _unpack_compact(body: bytes) -> Frame | Malformed:
    """Return a compact state, its sequence and time still without their high bits."""
    if len(body) != _COMPACT.size:
        return Malformed("length")
    _, _, flags, sequence, sent, stamp, *numbers = _COMPACT.unpack(body)
    if not all(map(math.isfinite, numbers)):
        return Malformed("not finite")
    rest = 1.0 - sum(component * component for component in numbers[2:5])
    if rest < 0.0:
        return Malformed("not unit")
    numbers.insert(2 + (flags >> 6), math.sqrt(rest))
    return Frame(COMPACT, flags & 63, sequence, sent, 0, 0, stamp, tuple(numbers))


def _validate(frame: Frame) -> Frame | Malformed:
    """Return the frame, or why its numbers are invalid."""
    reason = invalid(frame.kind, frame.numbers)
    return Malformed(reason) if reason else frame


def invalid(kind: int, numbers: tuple[float, ...]) -> str:
    """Return why these cannot be the numbers of a frame, as `Malformed` has it; empty if they
    can.
    """
    if not all(abs(number) <= LARGEST for number in numbers):  # nan is not, either
        return "not finite"
    if kind == STATE and abs(math.hypot(*numbers[2:6]) - 1.0) > _UNIT:
        return "not unit"
    return ""


END = b"\0"


class Framing:
    """Makes a stream of the bytes of frames, and finds these in a stream. Raises MissingLibrary
    where `cobs` is not installed.
    """

    def __init__(self, keyed: bool = False):
        """Start between two frames; `keyed` if the ends share a key."""
        self._cobs = library("cobs.cobs", "hil", "the wire to a board")
        self._longest = LONGEST + TAG * keyed + 1  # COBS adds a byte
        self._begun, self._skipping = bytearray(), False

    def stuff(self, data: bytes) -> bytes:
        """Return the bytes that carry those of a frame: COBS and the final zero."""
        return self._cobs.encode(data) + END

    def pieces(self, data: bytes) -> Iterator[bytes | Malformed]:
        """Yield the bytes of every frame that ends in `data`, as `decode` takes them; the begin of
        the next one is kept.
        """
        *ended, begun = data.split(END)
        for piece in ended:
            yield from self._end(piece)
        self._begin(begun)

    def restart(self) -> None:
        """Discard the frame that has begun, as another stream follows."""
        self._begun.clear()
        self._skipping = False

    def _begin(self, piece: bytes) -> None:
        """Append a piece to the frame that has begun, and discard it if it is longer than a frame
        can be.
        """
        self._begun += piece
        if len(self._begun) > self._longest:
            self._begun.clear()
            self._skipping = True

    def _end(self, piece: bytes) -> Iterator[bytes | Malformed]:
        self._begin(piece)
        whole, skipped = bytes(self._begun), self._skipping
        self.restart()
        if skipped:
            yield Malformed("too long")
        elif whole:  # two zeros in succession are no frame, and no error
            yield self._unstuff(whole)

    def _unstuff(self, whole: bytes) -> bytes | Malformed:
        try:
            return self._cobs.decode(whole)
        except self._cobs.DecodeError:
            return Malformed("framing")


WINDOW = 64  # frames: one that is later by more is a stray
JUMP = 10_000  # frames: a larger gap means another sender
NEW, DUPLICATE, REORDERED, STRAY = "new", "duplicate", "reordered", "stray"
_ALL = 2**WINDOW - 1


class Sequence:
    """The newest number and, as bits, which of the `WINDOW` before it have arrived: so which
    frames are new, and how many were lost, duplicated or overtaken.

    Only a NEW frame is used. A number far away is a STRAY, a replay or another sender's, until
    `restart`.
    """

    def __init__(self):
        self.reset_counts()
        self.restart()

    def reset_counts(self) -> None:
        """Reset the counts to zero; the numbering goes on."""
        self.lost = self.duplicates = self.reordered = self.strays = self.arrived = 0

    def restart(self) -> None:
        """Accept any number as the first one; the counts go on."""
        # frames before the first one count as received: they are not counted as lost
        self.newest, self._seen = None, _ALL

    def arrival(self, number: int) -> str:
        """Register a number and return its kind: NEW, DUPLICATE, REORDERED or STRAY."""
        ahead = 1 if self.newest is None else extend(number - self.newest, 32, 0)
        if not -WINDOW < ahead <= JUMP:
            self.strays += 1
            return STRAY
        if ahead > 0:
            return self._step(number, ahead)
        return self._late(-ahead)

    def is_ahead(self, number: int) -> bool:
        """Return whether the number is beyond the newest one."""
        return self.newest is None or extend(number - self.newest, 32, 0) > 0

    def _step(self, number: int, ahead: int) -> str:
        self.lost += ahead - 1
        self.arrived += 1
        self.newest, self._seen = number, (self._seen << ahead | 1) & _ALL
        return NEW

    def _late(self, behind: int) -> str:
        if self._seen >> behind & 1:
            self.duplicates += 1
            return DUPLICATE
        self._seen |= 1 << behind
        self.arrived += 1
        self.reordered += 1
        self.lost -= 1  # it was counted when it was overtaken
        return REORDERED

    @property
    def loss(self) -> float:
        """The fraction of lost frames among all that were sent."""
        return self.lost / max(1, self.lost + self.arrived)


def extend(low: int, bits: int, near: int) -> int:
    """Return the number with these low bits that is nearest to `near`."""
    half = 1 << bits - 1
    return near + (low - near + half) % (2 * half) - half
