"""Compact states: half the bytes, only to an end that asks for them, the same to all codecs."""

import ctypes
import math
from binascii import crc32

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("cobs", reason="cobs is not installed (./testbed test brings it)")

from rbdyn_ros.types import State  # noqa: E402
from rbdyn_ros.wire.frame import (  # noqa: E402
    COMPACT,
    FORCE,
    STATE,
    Frame,
    Malformed,
    decode,
    encode,
    extend,
)
from rbdyn_ros.wire.link import Link  # noqa: E402

from .clients import LinkEnd, WireFrame, library, regulator  # noqa: E402
from .frames import compact_frames, frames, stuffed, unstuffed  # noqa: E402
from .test_clients import heard_by_c  # noqa: E402

MS, TIMEOUT = 1_000_000, 100_000_000  # [ns]
LEANING = (0.5, -0.25, 0.96, 0.28, 0.0, 0.0, 0.1, 0.2, 0.3, 0.4, 0.5)  # q (6,), v (5,)


@pytest.fixture(scope="module")
def c(tmp_path_factory):
    """The C client's library."""
    return library(tmp_path_factory.mktemp("c"))


@given(frame=compact_frames())
def test_it_comes_back_as_it_was(frame):
    data = encode(frame)
    back = decode(data)
    assert len(data) == 41 and back[:7] == frame[:7]
    assert back.numbers == pytest.approx(frame.numbers, abs=1e-12)


@given(frame=compact_frames())
def test_the_c_client_reads_the_same(c, frame):
    (received,) = heard_by_c(c, stuffed(frame))
    assert received[:7] == frame[:7]
    assert received.numbers == pytest.approx(frame.numbers, rel=1e-6, abs=1e-7)


@given(
    data=st.lists(st.one_of(compact_frames(), frames()).map(stuffed), min_size=1, max_size=6),
    flips=st.lists(st.integers(0, 10_000), max_size=4),
    body=st.binary(min_size=35, max_size=35),
)
def test_both_refuse_the_same_for_the_same_reason(c, data, flips, body):
    """Flipped bits, and any 35 bytes behind version and kind under a CRC that fits."""
    stream = bytearray(b"".join(data))
    for flip in flips:
        stream[flip // 8 % len(stream)] ^= 1 << flip % 8
    cobs = pytest.importorskip("cobs.cobs")
    forged = bytes((1, COMPACT)) + body
    stream += b"\0" + cobs.encode(forged + crc32(forged).to_bytes(4, "little")) + b"\0"
    ours, theirs = unstuffed(bytes(stream)), heard_by_c(c, bytes(stream))
    assert [each[:7] for each in ours] == [each[:7] for each in theirs]
    for mine, other in zip(ours, theirs):
        if isinstance(mine, Frame):
            assert other.numbers == pytest.approx(mine.numbers, rel=1e-6, abs=2e-4)


@given(near=st.integers(0, 2**64), ahead=st.integers(-(2**31), 2**31 - 1))
def test_low_bits_are_completed(near, ahead):
    assert extend((near + ahead) % 2**32, 32, near) == near + ahead


def connected(**options) -> tuple[Link, Link]:
    """A bridge and a board that have received of each other."""
    bridge, board = Link(TIMEOUT), Link(TIMEOUT, **options)
    list(bridge.incoming(board.outgoing(MS), MS))
    list(board.incoming(bridge.outgoing(2 * MS), 2 * MS))
    list(bridge.incoming(board.outgoing(3 * MS), 3 * MS))
    return bridge, board


def test_only_an_end_that_asks_gets_compact_states():
    for wants, size in ((False, 86), (True, 43)):
        bridge, board = connected(wants_compact=wants)
        data = bridge.outgoing(4 * MS, STATE, 7, LEANING)
        assert len(data) == size
        (state,) = board.incoming(data, 5 * MS)
        assert (state.kind, state.sequence, state.time, state.stamp) == (STATE, 1, 4 * MS, 7)
        assert state.numbers == pytest.approx(LEANING, rel=2**-11)


def test_what_does_not_fit_goes_as_a_whole_state():
    """Numbers beyond 16 bits; an end whose newest echo is a second old, or that is gone."""
    bridge, board = connected(wants_compact=True)
    assert len(bridge.outgoing(4 * MS, STATE, 7, (1e5, *LEANING[1:]))) == 86
    assert len(bridge.outgoing(1003 * MS, STATE, 7, LEANING)) == 86
    bridge.disconnect()
    assert len(bridge.outgoing(1004 * MS, STATE, 7, LEANING)) == 86


def test_an_end_that_was_reset_refuses_them_until_it_knows_the_other(c):
    bridge, _ = connected(wants_compact=True)
    state, beat = bridge.outgoing(4 * MS, STATE, 7, LEANING), bridge.outgoing(5 * MS)
    again, fresh, end, frame = bridge.outgoing(6 * MS, STATE, 8, LEANING), Link(TIMEOUT), *new(c)
    assert list(fresh.incoming(state, 0)) == [] and fresh.statistics.malformed["early"] == 1
    assert [each.stamp for each in fresh.incoming(beat + again, 0)] == [0, 8]
    received = [
        (frame.kind, frame.stamp, frame.sequence, frame.time)
        for byte in state + beat + again
        if c.link_receive(ctypes.byref(end), byte, 0, ctypes.byref(frame))
    ]
    assert received == [(1, 0, 2, 5 * MS), (STATE, 8, 3, 6 * MS)] and (end.old, end.lost) == (1, 0)


def new(c) -> tuple[LinkEnd, WireFrame]:
    end = LinkEnd()
    c.link_begin(ctypes.byref(end), TIMEOUT)
    return end, WireFrame()


@given(base=st.integers(0, 2**32 - 1), ahead=st.integers(1, 9_999), sent=st.integers(0, 2**62))
def test_the_c_client_completes_sequence_and_time(c, base, ahead, sent):
    end, frame = new(c)
    beat = Frame(1, 0, base, sent, 0, 0)
    state = Frame(COMPACT, 0, base + ahead, sent + 2 * MS * ahead % 10**9, 0, 0, 5, LEANING)
    stream = stuffed(beat) + stuffed(state)
    taken = [c.link_receive(ctypes.byref(end), byte, 0, ctypes.byref(frame)) for byte in stream]
    assert sum(taken) == 2 and frame.kind == STATE
    assert (frame.sequence, frame.time) == ((base + ahead) % 2**32, state.time)


def test_the_c_client_asks_where_it_is_asked_to(c):
    for wants in (0, 1):
        end, frame = new(c)
        end.compact, frame.kind, out = wants, FORCE, ctypes.create_string_buffer(86)
        size = c.link_send(ctypes.byref(end), MS, ctypes.byref(frame), out)
        (force,) = unstuffed(out.raw[:size])
        assert force.flags == 2 * wants


@pytest.mark.parametrize("reach, most", [(0.2, 0.02), (2.0, 0.08)])
def test_the_force_hardly_changes(reach, most):
    """Within 5 degrees of upright; 16 bits keep 11 of each number, so less of larger ones."""
    random, law = np.random.default_rng(1), regulator()
    worst = 0.0
    for _ in range(2000):
        angle, azimuth = math.radians(5.0) * random.random() ** 0.5, random.uniform(0.0, math.tau)
        s = math.sin(angle / 2.0)
        q = math.cos(angle / 2.0), s * math.cos(azimuth), s * math.sin(azimuth), 0.0
        numbers = (*random.uniform(-reach, reach, 2), *q, *random.uniform(-reach, reach, 5))
        received = decode(encode(Frame(COMPACT, 0, 0, 0, 0, 0, 0, numbers)))
        assert not isinstance(received, Malformed)
        both = (
            law.command(0.0, State(0.0, np.array(x[:6]), np.array(x[6:])), np.zeros(2))
            for x in (numbers, received.numbers)
        )
        worst = max(worst, float(np.linalg.norm(np.subtract(*both))))
    print(f"within {reach}: compact states change the force by at most {worst:.2g} N")
    assert most / 5.0 < worst < most
