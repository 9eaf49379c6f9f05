"""A frame, the message between the two ends of the wire, byte by byte.

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

All little-endian. `echo` and `held` give the other end the four instants from which it reads the
clocks' offset.
"""

import math
import struct
from binascii import crc32
from typing import NamedTuple

VERSION = 1
HEARTBEAT, STATE, FORCE = 1, 2, 3
SAFE = 1  # flag
LONGEST_HELD = 2**32 - 1  # [ns]
SEQUENCES = 2**32

_HEADER, _CRC = struct.Struct("<BBHIQQI"), struct.Struct("<I")
_PAYLOADS = {
    HEARTBEAT: struct.Struct("<"),
    STATE: struct.Struct("<Q11f"),
    FORCE: struct.Struct("<Q2f"),
}
_OVERHEAD = _HEADER.size + _CRC.size
LONGEST = _OVERHEAD + max(payload.size for payload in _PAYLOADS.values())
_UNIT = 1e-3  # how far |quaternion| may be from 1: a measured one is rounded or noisy


class Frame(NamedTuple):
    """A frame as both ends understand it; units as above."""

    kind: int
    flags: int
    sequence: int
    time: int
    echo: int
    held: int
    stamp: int = 0  # of a state or a force
    numbers: tuple[
        float, ...
    ] = ()  # 11 of a state: q (6,), v (5,) as in types.State; 2 of a force


class Malformed(NamedTuple):
    """Bytes that are no frame, and the word under which they are counted."""

    reason: str  # framing, too long, length, crc, version, kind, not finite, not unit


def encode(frame: Frame) -> bytes:
    """The frame's bytes, CRC included. struct.error for a number beyond its field."""
    header = _HEADER.pack(VERSION, *frame[:5], min(frame.held, LONGEST_HELD))
    body = header + (
        _PAYLOADS[frame.kind].pack(frame.stamp, *frame.numbers) if frame.kind != HEARTBEAT else b""
    )
    return body + _CRC.pack(crc32(body))


def decode(data: bytes) -> Frame | Malformed:
    """The frame of `data`, whatever `data` is.

    The CRC comes before everything that it protects.
    """
    if len(data) < _OVERHEAD:
        return Malformed("length")
    body = data[: -_CRC.size]
    if crc32(body) != _CRC.unpack(data[-_CRC.size :])[0]:
        return Malformed("crc")
    version, kind, *rest = _HEADER.unpack_from(body)
    if version != VERSION:
        return Malformed("version")
    if kind not in _PAYLOADS:
        return Malformed("kind")
    if len(body) != _HEADER.size + _PAYLOADS[kind].size:
        return Malformed("length")
    stamp, *numbers = _PAYLOADS[kind].unpack_from(body, _HEADER.size) or (0,)
    return _sound(Frame(kind, *rest, stamp=stamp, numbers=tuple(numbers)))


def _sound(frame: Frame) -> Frame | Malformed:
    """The frame, or why its numbers are refused."""
    if not all(map(math.isfinite, frame.numbers)):
        return Malformed("not finite")
    if frame.kind == STATE and abs(math.hypot(*frame.numbers[2:6]) - 1.0) > _UNIT:
        return Malformed("not unit")
    return frame
