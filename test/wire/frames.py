"""Frames of every kind, as either end may send them."""

import math
import struct

from hypothesis import assume
from hypothesis import strategies as st

from rbdyn_ros.wire.frame import (
    COMPACT,
    FORCE,
    HEARTBEAT,
    STATE,
    Frame,
    Framing,
    Malformed,
    decode,
    encode,
)

UPRIGHT = (0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)  # the numbers of a state

_singles = st.floats(width=32, allow_nan=False, allow_infinity=False)
_u32, _u64 = st.integers(0, 2**32 - 1), st.integers(0, 2**64 - 1)


def stuffed(frame: Frame) -> bytes:
    """The bytes that carry a frame of an end without a key."""
    return Framing().stuff(encode(frame))


def unstuffed(data: bytes, framing: Framing | None = None) -> list[Frame | Malformed]:
    """The frames that end in data, of an end without a key."""
    pieces = (framing or Framing()).pieces(data)
    return [piece if isinstance(piece, Malformed) else decode(piece) for piece in pieces]


def single(x: float) -> float:
    """As a float of 32 bits keeps it."""
    return struct.unpack("<f", struct.pack("<f", x))[0]


@st.composite
def _unit(draw) -> tuple:
    wxyz = draw(st.tuples(*[st.floats(-1.0, 1.0)] * 4).filter(lambda q: math.hypot(*q) > 0.1))
    return tuple(single(component / math.hypot(*wxyz)) for component in wxyz)


@st.composite
def frames(draw) -> Frame:
    """Any frame that is in order."""
    kind = draw(st.sampled_from((HEARTBEAT, STATE, FORCE)))
    header = (kind, draw(st.integers(0, 1)), draw(_u32), draw(_u64), draw(_u64), draw(_u32))
    if kind == HEARTBEAT:
        return Frame(*header)
    if kind == FORCE:
        return Frame(*header, draw(_u64), (draw(_singles), draw(_singles)))
    position, velocity = draw(st.tuples(_singles, _singles)), draw(st.tuples(*[_singles] * 5))
    return Frame(*header, draw(_u64), (*position, *draw(_unit()), *velocity))


# any finite one, by its bits: st.floats(width=16) rejects most of what it draws
_halves = st.tuples(st.booleans(), st.integers(0, 0x7BFF)).map(
    lambda bits: struct.unpack("<e", struct.pack("<H", bits[0] << 15 | bits[1]))[0]
)


@st.composite
def compact_frames(draw) -> Frame:
    """Any compact state, its numbers such as 16 bits keep them."""
    q = list(draw(_unit()))
    left_out = max(range(4), key=lambda i: abs(q[i]))
    q = [struct.unpack("<e", struct.pack("<e", math.copysign(1, q[left_out]) * x))[0] for x in q]
    q[left_out] = math.sqrt(1.0 - sum(x * x for i, x in enumerate(q) if i != left_out))
    assume(max(range(4), key=lambda i: abs(q[i])) == left_out)  # after rounding, too
    header = (draw(st.integers(0, 63)), draw(st.integers(0, 2**16 - 1)), draw(_u32))
    numbers = (*draw(st.tuples(_halves, _halves)), *q, *draw(st.tuples(*[_halves] * 5)))
    return Frame(COMPACT, *header, 0, 0, draw(_u64), numbers)
