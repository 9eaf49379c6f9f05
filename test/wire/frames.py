"""Frames of every kind, as either end may send them."""

import math
import struct

from hypothesis import strategies as st

from rbdyn_ros.wire.frame import FORCE, HEARTBEAT, STATE, Frame

UPRIGHT = (0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)  # the numbers of a state

_singles = st.floats(width=32, allow_nan=False, allow_infinity=False)
_u32, _u64 = st.integers(0, 2**32 - 1), st.integers(0, 2**64 - 1)


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
