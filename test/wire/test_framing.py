"""Frames in a stream: cut anywhere, joined late, with noise between; never an exception, never
more memory than a frame.
"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("cobs", reason="cobs is not installed (./testbed test brings it)")

from rbdyn_ros.wire.frame import (  # noqa: E402
    FORCE,
    HEARTBEAT,
    LONGEST,
    Frame,
    Framing,
    Malformed,
)

from .frames import frames, stuffed, unstuffed  # noqa: E402

BEAT = Frame(HEARTBEAT, 0, 1, 2, 3, 4)


def fed(stream: bytes, cuts: list) -> list:
    """What a receiver makes of a stream that arrives in pieces."""
    framing, found, ends = Framing(), [], sorted(cut % (len(stream) + 1) for cut in cuts)
    for start, end in zip([0, *ends], [*ends, len(stream)]):
        found += unstuffed(stream[start:end], framing)
    return found


@given(st.lists(frames(), max_size=6), st.lists(st.integers(0, 10_000), max_size=12))
def test_a_stream_may_be_cut_anywhere(sent, cuts):
    stream = b"".join(map(stuffed, sent))
    assert fed(stream, cuts) == sent


@given(frames())
def test_a_frame_has_one_zero_its_last_byte(sent):
    assert stuffed(sent).index(0) == len(stuffed(sent)) - 1


@given(st.binary(max_size=400), frames(), st.lists(st.integers(0, 10_000), max_size=12))
def test_after_any_noise_and_a_zero_the_next_frame_is_read(noise, sent, cuts):
    found = fed(noise + b"\0" + stuffed(sent), cuts)
    assert found[-1] == sent
    assert all(isinstance(thing, (Frame, Malformed)) for thing in found)


@given(frames(), st.integers(1, 100))
def test_a_truncated_frame_is_counted_once(sent, missing):
    data = stuffed(sent)[:-1]
    found = fed(data[: max(1, len(data) - missing)] + b"\0" + stuffed(BEAT), [])
    assert len(found) == 2 and isinstance(found[0], Malformed) and found[1] == BEAT


def test_a_stream_without_zeros_takes_no_memory():
    framing = Framing()
    for _ in range(1000):
        assert unstuffed(b"\1" * 1000, framing) == []
        assert len(framing._begun) <= LONGEST + 2
    assert unstuffed(b"\0", framing) == [Malformed("too long")]
    assert unstuffed(stuffed(BEAT), framing) == [BEAT]


def test_zeros_alone_are_no_mistake():
    assert unstuffed(b"\0" * 50) == []


def test_the_longest_frame_of_ones_fits():
    full = Frame(FORCE, 1, 2**32 - 1, 2**64 - 1, 2**64 - 1, 2**32 - 1, 2**64 - 1, (1.5, -1.5))
    assert unstuffed(stuffed(full)) == [full]
