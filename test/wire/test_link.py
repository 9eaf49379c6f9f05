"""Both ends of a link on a wire that the test makes: everything on it is either a new frame or
counted.
"""

import sys
import threading

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("cobs", reason="cobs is not installed (./testbed test brings it)")

from rbdyn_ros.wire.frame import COMPACT, FORCE, HEARTBEAT, STATE, Frame  # noqa: E402
from rbdyn_ros.wire.link import Link  # noqa: E402

from .frames import UPRIGHT, stuffed  # noqa: E402

MS = 1_000_000  # [ns]
THERE = 10**14  # [ns] the other end's clock when ours is 0


def judged(link: Link) -> int:
    """How many pieces have been accepted or counted as something else."""
    counts, sequence = link.statistics, link.sequence
    refused = sequence.duplicates + sequence.reordered + sequence.strays
    return counts.accepted.total() + counts.malformed.total() + refused


@pytest.fixture
def link():
    return Link(100 * MS)


def test_states_go_there_and_forces_come_back(link):
    board = Link(100 * MS)
    for i in range(1, 51):
        sent = 4 * MS * i
        (state,) = board.incoming(
            link.outgoing(sent, STATE, stamp=sent, numbers=UPRIGHT), THERE + sent + MS
        )
        answer = board.outgoing(THERE + sent + 2 * MS, FORCE, state.stamp, (1.0, -2.0))
        (force,) = link.incoming(answer, sent + 3 * MS)
        assert (force.kind, force.stamp, force.numbers) == (FORCE, sent, (1.0, -2.0))
    figures = link.figures()
    error = link.clock.offset(203 * MS) - THERE
    assert abs(error) <= 1e6 * figures["clock_uncertainty_ms"] < 2.5 * MS
    assert (figures["accepted"], figures["lost"], figures["outages"]) == (50, 0, 0)
    assert figures["delay_p50_ms"] == pytest.approx(2.0, abs=0.01) and figures[
        "age_p99_ms"
    ] == pytest.approx(1.0, abs=0.1)
    assert figures["jitter_max_ms"] == pytest.approx(0.0, abs=1e-6)


def test_the_other_end_is_up_while_its_frames_come(link):
    board = Link(100 * MS)
    assert not link.watch(0)
    list(link.incoming(board.outgoing(THERE), 10 * MS))
    assert link.watch(110 * MS) and link.up
    assert not link.watch(111 * MS)
    assert link.statistics.outages == 1


def test_after_a_silence_another_board_may_begin_at_zero(link):
    old, new = Link(100 * MS), Link(100 * MS)
    for i in range(5000):
        list(link.incoming(old.outgoing(THERE + MS * i), MS * i))
    assert (
        list(link.incoming(new.outgoing(0), 5000 * MS)) == []
    )  # until it has been silent, it is a replay
    assert link.sequence.strays == 1
    link.watch(5200 * MS)
    assert len(list(link.incoming(new.outgoing(MS), 5201 * MS))) == 1
    assert not link.clock.is_known  # that was another clock


def test_safe_is_received_and_a_force_flagged_safe_is_zero(link):
    board = Link(100 * MS)
    (force,) = link.incoming(board.outgoing(0, FORCE, 1, (5.0, -7.0), safe=True), 0)
    assert link.safe and force.numbers == (0.0, 0.0) and force.stamp == 1
    list(link.incoming(board.outgoing(1, FORCE, 1, (0.0, 0.0)), 1))
    assert not link.safe


@settings(max_examples=60)
@given(st.data())
def test_whatever_the_wire_does_nothing_crashes_and_all_is_counted(data):
    """Frames dropped, doubled, replayed, shuffled, cut, with bits flipped, and noise
    between them.
    """
    board, link = Link(100 * MS), Link(100 * MS)
    sent = [board.outgoing(THERE + MS * i, FORCE, i, (float(i), 0.0)) for i in range(30)]
    pieces = data.draw(st.lists(st.sampled_from(sent), max_size=60), label="order")
    kinds = data.draw(
        st.lists(st.integers(0, 3), min_size=len(pieces), max_size=len(pieces)), label="damage"
    )
    damaged = [_damaged(data, piece, kind) for piece, kind in zip(pieces, kinds)]
    newest = -1
    for i, piece in enumerate(damaged):
        for force in link.incoming(piece, MS * i):
            assert (
                force.stamp == force.sequence > newest
            )  # only what was sent, and never backwards
            newest = force.sequence
    assert judged(link) == sum(bool(part) for piece in damaged for part in piece.split(b"\0"))
    link.figures()


def _damaged(data, piece: bytes, kind: int) -> bytes:
    """The piece as it is; cut; with flipped bits; or noise in its place. Each ends with a zero."""
    if kind == 1:
        return piece[: data.draw(st.integers(0, len(piece) - 2))] + b"\0"
    if kind == 2:
        flipped = bytearray(piece)
        flipped[data.draw(st.integers(0, len(piece) - 2))] ^= 1 << data.draw(st.integers(0, 7))
        return bytes(flipped)
    return data.draw(st.binary(max_size=60)) + b"\0" if kind == 3 else piece


def test_counting_anew_forgets_no_clock(link):
    board = Link(100 * MS)
    list(board.incoming(link.outgoing(MS), THERE + MS))
    list(link.incoming(board.outgoing(THERE + MS), MS))
    list(link.incoming(b"\5\5\0", MS))
    link.reset_statistics()
    figures = link.figures()
    assert figures["accepted"] == 0 and "malformed, framing" not in figures and link.clock.is_known
    assert list(link.incoming(board.outgoing(THERE + 2 * MS), 2 * MS))[0].kind == HEARTBEAT


# echoes, and the clock behind them


def exchange(link: Link, board: Link, at: int, clock) -> None:
    """A frame to the board and one back, a millisecond each way; `clock(t)` is the board's."""
    list(board.incoming(link.outgoing(at), clock(at + MS)))
    list(link.incoming(board.outgoing(clock(at + 2 * MS)), at + 3 * MS))


def test_an_echo_that_cannot_be_gives_no_figures(link):
    """Of a time at which nothing was sent, older than the echo before it, or held for longer than
    it was away.
    """
    board = Link(100 * MS)
    for at in (4 * MS, 8 * MS):
        exchange(link, board, at, lambda t: THERE + t)
    before = link.figures()
    for i, (echo, held) in enumerate(
        ((1, 0), (8 * MS + 1, 0), (4 * MS, 0), (2**63, 0), (8 * MS, 50 * MS))
    ):
        frame = Frame(HEARTBEAT, 0, 2 + i, THERE + 20 * MS + i, echo, held)
        assert list(link.incoming(stuffed(frame), 21 * MS + i)) == [frame]
    after = link.figures()
    assert after["false_echoes"] == 5 and after["accepted"] == 7
    assert [after[f"delay_{which}_ms"] for which in ("p50", "p99", "max")] == [
        before[f"delay_{which}_ms"] for which in ("p50", "p99", "max")
    ]
    assert link.clock.offset(21 * MS) == pytest.approx(THERE, abs=0.1 * MS)


@pytest.mark.parametrize("leap", [-(10**13), -3000 * MS, -30 * MS, 30 * MS, 3000 * MS, 10**15])
def test_a_clock_that_leaps_without_silence_is_recognized_at_once(link, leap):
    """In the first frame after it, or the second: the first may hold an echo from before.

    Its figures are not spoiled.
    """
    board = Link(100 * MS)
    for i in range(1, 200):
        exchange(link, board, 4 * MS * i, lambda t: THERE + t)
    for i in range(200, 203):
        exchange(link, board, 4 * MS * i, lambda t: THERE + leap + t)
    figures = link.figures()
    assert figures["clock_leaps"] == 1 and figures["outages"] == 0 and figures["accepted"] == 202
    assert link.clock.offset(4 * MS * 203) == pytest.approx(THERE + leap, abs=MS)
    assert (
        figures["age_max_ms"] < 3.0
        and figures["jitter_max_ms"] < 1.0
        and figures["delay_max_ms"] < 3.0
    )


@pytest.mark.parametrize("drift", [-0.02, -0.01, 0.01, 0.02])
def test_a_clock_that_drifts_is_not_set(link, drift):
    """As an oscillator of resistor and capacitor drifts, from the first frame on."""
    board = Link(100 * MS)
    for i in range(1, 750):
        exchange(link, board, 4 * MS * i, lambda t: THERE + round((1.0 + drift) * t))
    figures = link.figures()
    assert figures["clock_leaps"] == figures["false_echoes"] == 0
    assert figures["clock_drift_ppm"] == pytest.approx(1e6 * drift, rel=0.01)
    assert all(abs(age - MS) < 7 * MS for age in link.statistics.ages)


def test_a_time_at_the_end_of_its_range_ends_nothing(link):
    """A compact state's time is completed beyond it, and the next frame echoes that time."""
    for frame in (
        Frame(HEARTBEAT, 0, 0, 2**64 - 1, 0, 0),
        Frame(COMPACT, 0, 1, 5, 0, 0, 7, UPRIGHT),
    ):
        assert list(link.incoming(stuffed(frame), MS))
    (answer,) = Link(100 * MS).incoming(link.outgoing(2 * MS), 3 * MS)
    assert answer.echo == 5


@pytest.fixture
def short_slices():
    """Threads take turns as often as they can."""
    usual = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(usual)


def test_figures_are_read_while_frames_come(link, short_slices):
    """As the bridge's timer does, in another thread than the one that receives."""
    board, done = Link(100 * MS), threading.Event()

    def receive() -> None:
        for i in range(1, 300):
            exchange(link, board, 300 * MS * i, lambda t: THERE + t)
        done.set()

    thread = threading.Thread(target=receive)
    thread.start()
    read = 0
    while not done.is_set() and thread.is_alive():
        figures, read = link.figures(), read + 1
        # half the delay, the millisecond in which this clock seems to count and, as long as the
        # drift is not known, a twentieth of the round trip
        assert 0.0 <= figures["clock_uncertainty_ms"] <= 2.2
    thread.join()
    assert done.is_set() and read > 10
    assert link.figures()["accepted"] == 299


# what is held back


def test_states_wait_for_echoes(link):
    board, now = Link(100 * MS), 10 * MS
    assert not link.admits(now, STATE) and link.admits(now, HEARTBEAT)  # nobody is there
    exchange(link, board, now, lambda t: t)
    sent = []
    for now in range(20 * MS, 30 * MS, MS):
        if link.admits(now, STATE):
            sent.append(link.outgoing(now, STATE, now, UPRIGHT))
    assert len(sent) == 3 and link.figures()["held_back"] == 8
    list(board.incoming(sent[0], 30 * MS))
    list(
        link.incoming(board.outgoing(30 * MS), 30 * MS)
    )  # one is acknowledged: there is room for one
    assert [
        link.admits(now, STATE) and link.outgoing(now, STATE, now, UPRIGHT) != b""
        for now in (31 * MS, 32 * MS)
    ] == [True, False]


def test_a_force_of_zero_needs_no_room_and_one_that_is_safe_no_board(link):
    for i in range(4):
        assert link.admits(i, FORCE, (0.0, 0.0), safe=True) and not link.admits(
            i, FORCE, (0.0, 0.0)
        )
    list(link.incoming(Link(100 * MS).outgoing(0), 5))
    assert [
        link.admits(6 + i, FORCE, (1.0, 0.0)) and bool(link.outgoing(6 + i, FORCE, 1, (1.0, 0.0)))
        for i in range(4)
    ] == [True] * 3 + [False]
    assert link.admits(10, FORCE, (0.0, 0.0))


def test_a_board_that_echoes_nothing_gets_a_window_every_20_ms(link):
    """After a link timeout, in which an echo might have come."""
    board, sent = Link(100 * MS), []
    for now in range(MS, 1100 * MS, 2 * MS):
        if now // MS % 20 == 1:
            list(link.incoming(board.outgoing(now), now))  # it hears nothing, so it echoes nothing
        if link.admits(now, STATE):
            sent.append(now)
            link.outgoing(now, STATE, now, UPRIGHT)
    assert len([now for now in sent if now < 100 * MS]) == 3
    assert 120 <= len([now for now in sent if now > 100 * MS]) <= 150
