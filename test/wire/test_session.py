"""Ends that share a key, and those who do not have it: a forger, a replayer, a reflector, one who
delays. All clocks and nonces are the test's.
"""

import itertools
import os
import random
from hashlib import blake2s

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("cobs", reason="cobs is not installed (./testbed test brings it)")

import wire_fuzz  # noqa: E402

from rbdyn_ros.wire.frame import (  # noqa: E402
    COMPACT,
    FORCE,
    STATE,
    Frame,
    Framing,
    Malformed,
    decode,
)
from rbdyn_ros.wire.link import Link  # noqa: E402
from rbdyn_ros.wire.session import Session, read_key  # noqa: E402

from .frames import UPRIGHT  # noqa: E402

KEY, OTHER_KEY = bytes(range(32)), bytes(range(1, 33))
MS = 1_000_000  # [ns]
TIMEOUT = 100 * MS
THERE = 10**14  # [ns] the board's clock when the bridge's is 0


def link(key: bytes = KEY, is_board: bool = False, first: int = 1, **options) -> Link:
    """An end whose nonces count from `first`."""
    return Link(
        TIMEOUT, session=Session(key, is_board, itertools.count(first).__next__), **options
    )


class Pair:
    """A bridge and a board, their wire, and whoever listens on it."""

    def __init__(self, first: int = 1, **options):
        self.bridge, self.board = link(first=first), link(is_board=True, first=first, **options)
        self.now = MS  # [ns] of the bridge
        self.to_board, self.to_bridge = [], []  # all that was on the wire

    def up(self, data: bytes, end: Link | None = None) -> list:
        """What the bridge takes."""
        return list((end or self.bridge).incoming(data, self.now))

    def down(self, data: bytes) -> list:
        """What the board takes."""
        return list(self.board.incoming(data, THERE + self.now))

    def ask(self, *words) -> bytes:
        """A frame of the bridge."""
        self.to_board.append(self.bridge.outgoing(self.now, *words))
        return self.to_board[-1]

    def answer(self, *words) -> bytes:
        """A frame of the board."""
        self.to_bridge.append(self.board.outgoing(THERE + self.now, *words))
        return self.to_bridge[-1]

    def pause(self, duration: int) -> tuple[bool, bool]:
        """Whether both ends are up after it."""
        self.now += duration
        return self.bridge.watch(self.now), self.board.watch(THERE + self.now)

    def beat(self) -> "Pair":
        """A heartbeat each way, a millisecond each."""
        self.pause(MS)
        self.up(self.answer())
        self.pause(MS)
        self.down(self.ask())
        return self

    def connected(self) -> "Pair":
        """Two of them: a nonce each way, and then an echo."""
        self.beat().beat()
        assert self.bridge.up and self.board.up
        return self


@pytest.fixture
def pair() -> Pair:
    return Pair().connected()


def test_states_and_forces_pass_and_grow_by_the_tag(pair):
    for i in range(100):
        pair.beat()
        (state,) = pair.down(pair.ask(STATE, 7 + i, UPRIGHT))
        (force,) = pair.up(pair.answer(FORCE, state.stamp, (1.0, -2.0)))
        assert (state.stamp, force.stamp, force.numbers) == (7 + i, 7 + i, (1.0, -2.0))
    assert [
        len(pair.ask(*words)) for words in ((), (STATE, 1, UPRIGHT), (FORCE, 1, (1.0, 2.0)))
    ] == [
        50,
        94,
        58,
    ]
    figures = pair.bridge.figures()
    assert figures["lost"] == 0 and "malformed, tag" not in figures and figures["outages"] == 0


def test_a_tag_is_that_of_the_page(pair):
    """From the definition in doc/hil.md, with the standard library alone."""
    pair.ask(FORCE, 9, (1.0, 2.0))
    (data,) = Framing(keyed=True).pieces(pair.to_board[-1])
    body = data[:44]
    message = b"\0" + (1).to_bytes(8, "little") * 2 + body
    assert data[0] == 2 and data[44:52] == blake2s(message, key=KEY, digest_size=8).digest()


def test_compact_states_are_bound_to_the_bits_that_they_leave_out():
    """A frame 2^16 later has the same bytes, but another tag."""
    pair = Pair(wants_compact=True).connected()
    data = pair.ask(STATE, 5, UPRIGHT)
    assert len(data) == 51 and len(pair.down(data)) == 1
    pair.board.sequence.newest += 2**16 - 1
    pair.bridge._sent = pair.board.sequence.newest + 1
    (piece,) = Framing(keyed=True).pieces(data)
    assert decode(piece, keyed=True).kind == COMPACT and not pair.down(data)
    assert pair.board.statistics.malformed["tag"] == 1
    assert pair.down(pair.ask(STATE, 5, UPRIGHT))


# the forger


@pytest.mark.parametrize("up", [False, True])
def test_a_forger_without_the_key_is_not_received(up):
    pair = Pair().beat().beat() if up else Pair()
    forgers = {"tag": link(OTHER_KEY, is_board=True), "version": Link(TIMEOUT)}
    for _ in range(3):
        for reason, forger in forgers.items():
            sent = [
                forger.outgoing(THERE + pair.now),
                forger.outgoing(THERE + pair.now, FORCE, 1, (9.0, 9.0)),
            ]
            assert not pair.up(b"".join(sent)) and pair.bridge.up == up
            assert reason in pair.bridge.statistics.malformed
            list(forger.incoming(pair.ask(), THERE + pair.now))
            assert not forger.up
    assert pair.bridge.statistics.accepted.total() == (1 if up else 0)
    assert pair.bridge.unverified_reason()


@given(bits=st.sets(st.integers(0, 8 * 56 - 1), min_size=1, max_size=4))
def test_flipped_bits_under_a_crc_that_fits_are_refused(bits):
    pair = Pair().connected()
    (data,) = Framing(keyed=True).pieces(pair.answer(FORCE, 3, (5.0, 6.0)))
    forged = bytearray(data[:-4])
    for bit in bits:
        if bit < 8 * len(forged):
            forged[bit // 8] ^= 1 << bit % 8
    from binascii import crc32

    stuff = pair.bridge.framing.stuff
    same = bytes(forged) == data[:-4]
    received = pair.up(stuff(bytes(forged) + crc32(forged).to_bytes(4, "little")))
    assert bool(received) == same


def test_every_bit_of_the_tag_counts(pair):
    from binascii import crc32

    (data,) = Framing(keyed=True).pieces(pair.answer(FORCE, 3, (5.0, 6.0)))
    for bit in range(64):
        forged = bytearray(data[:-4])
        forged[44 + bit // 8] ^= 1 << bit % 8
        sealed = pair.bridge.framing.stuff(bytes(forged) + crc32(forged).to_bytes(4, "little"))
        assert not pair.up(sealed)
    assert pair.bridge.statistics.malformed["tag"] == 64
    assert pair.up(pair.bridge.framing.stuff(data))


# the replayer


def test_a_replay_in_the_same_session_is_refused(pair):
    for i in range(5):
        pair.beat()
        pair.up(pair.answer(FORCE, i, (1.0, 2.0)))
    for data in pair.to_bridge:
        assert not pair.up(data)


def test_a_replay_of_an_earlier_session_is_refused_at_any_time():
    """In place of the board, before, while and after its own session begins; and on both ways."""
    old = Pair(first=100).connected()
    for i in range(20):
        old.beat()
        old.down(old.ask(STATE, i, UPRIGHT))
        old.up(old.answer(FORCE, i, (1.0, 2.0)))
    new = Pair(first=1)
    for _ in range(3):
        assert not any(map(new.up, old.to_bridge)) and not any(map(new.down, old.to_board))
        new.beat()
    assert new.bridge.up and new.board.up
    assert not any(map(new.up, old.to_bridge)) and not any(map(new.down, old.to_board))


def test_a_silence_ends_the_session(pair):
    """What was recorded before it, received or not, is worth nothing after it."""
    unheard = [pair.answer(FORCE, 1, (3.0, 4.0)), pair.answer()]
    kept = list(pair.to_bridge)
    assert pair.pause(TIMEOUT + MS) == (False, False)
    assert not any(map(pair.up, kept + unheard)) and not pair.bridge.up
    pair.connected()
    assert not any(map(pair.up, kept + unheard))


def test_a_reflected_frame_is_refused(pair):
    """Nor does it begin a session with itself, where both nonces are one."""
    assert not pair.up(pair.ask(FORCE, 1, (1.0, 2.0))) and not pair.down(pair.answer())
    alone, now = link(), MS
    for _ in range(5):
        assert not list(alone.incoming(alone.outgoing(now), now)) and not alone.up
        now += MS
    assert set(alone.statistics.malformed) == {"tag"}


def test_a_frame_after_the_wrap_of_the_sequence_is_no_replay_of_one_before(pair):
    data = pair.answer(FORCE, 1, (3.0, 4.0))
    pair.bridge.sequence.newest = (pair.board._sent - 3) % 2**32  # as 2^32 frames later
    pair.bridge._newest = (THERE + pair.now + MS, pair.now)
    assert not pair.up(data) and pair.bridge.statistics.malformed["stale"] == 1


# who holds frames back


def test_what_was_held_back_for_longer_than_the_timeout_is_refused(pair):
    """Though the stream that is played back slowly never pauses: its echoes tell."""
    delayed, taken = [], []
    for i in range(1000):
        pair.pause(MS)
        pair.down(pair.ask())
        delayed.append((pair.now, pair.answer(FORCE, i, (1.0, 2.0))))
        if i % 2:  # at half the speed
            sent, data = delayed[i // 2]
            taken += [pair.now - sent for _ in pair.up(data)]
    assert len(taken) > 50 and TIMEOUT / 2 < max(taken) <= TIMEOUT


def test_what_waited_at_this_end_for_longer_than_the_timeout_is_refused_too(pair):
    data = pair.answer(FORCE, 1, (1.0, 2.0))
    pair.now += TIMEOUT + MS  # nobody has watched meanwhile
    assert not pair.up(data) and not pair.bridge.up


@given(seed=st.integers(0, 2**32))
def test_whatever_happens_on_the_wire_frames_are_of_the_other_end_new_and_fresh(seed):
    """Dropped, doubled, reordered, delayed, reflected, damaged, and an earlier session's."""
    draw, pair, old = random.Random(seed), Pair(), Pair(first=100).connected()
    recorded = old.to_bridge + old.to_board
    sent = {}  # stamp of a force -> when
    for i in range(1, 120):
        pair.pause(draw.choice((MS, 5 * MS, 30 * MS)))
        made = [pair.answer(), pair.answer(FORCE, i, (1.0, 2.0))]
        sent[i] = pair.now
        recorded += [*made, pair.ask()]
        kind = draw.random()
        chosen = made if kind < 0.5 else draw.choices(recorded, k=3)
        if kind > 0.9:
            chosen = [
                bytes(b ^ draw.choice((0, 0, 0, 4)) for b in data) + b"\0" for data in chosen
            ]
        for data in chosen:
            for frame in pair.up(data):
                if frame.kind == FORCE:
                    assert pair.now - sent.pop(frame.stamp) <= TIMEOUT  # once, and fresh
        pair.down(recorded[-1] if draw.random() < 0.8 else draw.choice(recorded))


def test_one_way_that_is_cut_is_a_silence_on_both(pair):
    """The board hears nothing, and what it sends echoes nothing new."""
    for _ in range(60):
        pair.pause(2 * MS)
        pair.up(pair.answer())
    assert pair.pause(0) == (False, False)
    pair.connected()


def test_an_end_that_starts_anew_is_back_after_the_silence(pair):
    pair.board = link(is_board=True, first=50)
    for _ in range(TIMEOUT // MS // 2 + 3):
        pair.beat()
    assert pair.bridge.up and pair.board.up and pair.bridge.statistics.outages == 1


@pytest.mark.parametrize("first, taken", [(1, True), (2, False)])
def test_a_board_whose_nonce_repeats_after_a_reset_takes_a_replay(first, taken):
    """Where its clock begins again at the same time, too: so it needs a counter or a generator."""
    pair = Pair().connected()
    pair.down(pair.ask(STATE, 1, UPRIGHT))
    reset, received = link(is_board=True, first=first), []
    for i, data in enumerate(pair.to_board):
        reset.outgoing(THERE + (2 * i + 2) * MS)
        received += reset.incoming(data, THERE + (2 * i + 3) * MS)
    assert bool(received) == taken


# the decoder, and the file


def test_wrong_frames_are_counted_and_never_taken():
    counted = wire_fuzz.through_a_link(2000, 1, session=Session(KEY))
    assert not counted.mistaken and sum(counted.counts.values()) == 2000


@given(data=st.binary(max_size=300))
def test_no_bytes_are_an_exception_to_an_end_with_a_key(data):
    pair = Pair().connected()
    assert not pair.up(data + b"\0") and isinstance(decode(data, True), (Frame, Malformed))


def key_file(folder, text: str, mode: int = 0o600) -> str:
    path = folder / "board.key"
    path.write_text(text)
    path.chmod(mode)
    return str(path)


def test_a_key_is_64_hexadecimal_digits(tmp_path, monkeypatch):
    assert read_key(key_file(tmp_path, KEY.hex() + "\n")) == KEY
    assert read_key(key_file(tmp_path, KEY.hex().upper())) == KEY
    monkeypatch.setenv("HOME", str(tmp_path))
    assert read_key(key_file(tmp_path, KEY.hex()).replace(str(tmp_path), "~")) == KEY


@pytest.mark.parametrize(
    "text, mode, sentence",
    [
        ("", 0o600, "has 0 characters; it must have 64 hexadecimal digits, such as"),
        (KEY.hex()[1:], 0o600, "has 63 characters; it must have 64 hexadecimal digits"),
        (KEY.hex() + "0", 0o600, "has 65 characters"),
        ("g" * 64, 0o600, "it must have 64 hexadecimal digits"),
        (KEY.hex(), 0o640, "has mode 640, so others may use it; `chmod 600"),
        (KEY.hex(), 0o604, "has mode 604"),
    ],
)
def test_a_bad_key_file_is_one_sentence(tmp_path, text, mode, sentence):
    with pytest.raises(ValueError, match=sentence.replace("(", "\\(")) as refused:
        read_key(key_file(tmp_path, text, mode))
    assert (KEY.hex()[:8] not in str(refused.value)) and "board.key" in str(refused.value)


def test_the_advised_command_can_be_copied(tmp_path):
    (folder := tmp_path / "my board").mkdir()
    with pytest.raises(ValueError, match="`chmod 600 '.*/my board/board.key'`"):
        read_key(key_file(folder, KEY.hex(), 0o644))


def test_a_key_file_that_is_missing_is_one_sentence():
    with pytest.raises(ValueError, match="the key file /nowhere cannot be read: No such file"):
        read_key("/nowhere")


def test_nonces_are_drawn_at_random_unless_given():
    sessions = [Session(os.urandom(32)) for _ in range(20)]
    assert len({session.own for session in sessions}) == 20 and all(s.own for s in sessions)
