"""The clients with a key: their BLAKE2s by the official vectors, and their sessions against this
package's, on a wire that drops, doubles, delays and damages.
"""

import ctypes
import itertools
import json
import random
import socket
import subprocess
import time
from binascii import crc32
from hashlib import blake2s

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("cobs", reason="cobs is not installed (./testbed test brings it)")

import wire_fuzz  # noqa: E402

from rbdyn_ros.wire.frame import (  # noqa: E402
    COMPACT,
    FORCE,
    HEARTBEAT,
    STATE,
    Frame,
    Framing,
)
from rbdyn_ros.wire.link import Link  # noqa: E402
from rbdyn_ros.wire.session import Session  # noqa: E402

from .clients import (  # noqa: E402
    CHECKED,
    KEYED,
    KeyedLinkEnd,
    MacKey,
    WireFrame,
    library,
    program,
    python_client,
)
from .frames import UPRIGHT  # noqa: E402

KEY = bytes(range(32))
MS = 1_000_000  # [ns]
TIMEOUT = 100 * MS
THERE = 10**14  # [ns] the board's clock when the bridge's is 0
DEADLINE = 20.0  # [s] of a loaded machine


@pytest.fixture(scope="module")
def c(tmp_path_factory):
    """The C client's library, built for ends with a key."""
    made = library(tmp_path_factory.mktemp("c"), KEYED)
    made.mac_begin.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_size_t]
    made.mac_tag.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_void_p]
    made.link_key.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_uint64]
    return made


def tag_of(c, message: bytes, key: bytes, size: int) -> bytes:
    """The tag that C makes."""
    mac, out = MacKey(), ctypes.create_string_buffer(size)
    c.mac_begin(ctypes.byref(mac), key, len(key), size)
    c.mac_tag(ctypes.byref(mac), message, len(message), out)
    return out.raw


def test_keyed_blake2s_passes_the_self_test_of_rfc_7693(c):
    """Appendix E: a hash of hashes, of which those with a key are C's."""

    def sequence(size: int, seed: int) -> bytes:
        a, b, out = 0xDEAD4BAD * seed % 2**32, 1, bytearray()
        for _ in range(size):
            a, b = b, (a + b) % 2**32
            out.append(b >> 24)
        return bytes(out)

    total = blake2s()
    for size in (16, 20, 28, 32):
        for length in (0, 3, 64, 65, 255, 1024):
            message, key = sequence(length, length), sequence(size, size)
            total.update(blake2s(message, digest_size=size).digest())
            keyed = tag_of(c, message, key, size) if length else None
            total.update(keyed or blake2s(message, key=key, digest_size=size).digest())
    assert total.hexdigest() == "6a411f08ce25adcdfb02aba641451cec53c598b24f4fc787fbdc88797f4c1dfe"


def test_the_first_known_answer_of_its_authors(c):
    """blake2s-kat: key 00 01 .. 1f, message 00."""
    known = "40d15fee7c328830166ac3f918650f807e7e01e177258cdc0a39b11f598066f1"
    assert tag_of(c, b"\0", KEY, 32).hex() == known


@given(message=st.binary(min_size=1, max_size=200), key=st.binary(min_size=1, max_size=32))
def test_tags_are_those_of_the_standard_library(c, message, key):
    assert tag_of(c, message, key, 8) == blake2s(message, key=key, digest_size=8).digest()


@given(one=st.binary(min_size=8, max_size=8), bit=st.integers(0, 63))
def test_tags_differ_in_any_bit(c, one, bit):
    two = bytearray(one)
    two[bit // 8] ^= 1 << bit % 8
    assert c.mac_differs(one, bytes(two), ctypes.c_size_t(8))
    assert not c.mac_differs(one, one, ctypes.c_size_t(8))


class CBoard:
    """The board's end of the link in C."""

    def __init__(self, c, nonce: int = 1, compact: bool = False):
        self.c, self.end = c, KeyedLinkEnd()
        c.link_begin(ctypes.byref(self.end), TIMEOUT)
        c.link_key(ctypes.byref(self.end), KEY, nonce)
        self.end.compact = compact

    def incoming(self, data: bytes, now: int) -> list:
        """(kind, sequence, stamp) of the frames that are new."""
        frame, found = WireFrame(), []
        for byte in data:
            if self.c.link_receive(ctypes.byref(self.end), byte, now, ctypes.byref(frame)):
                found.append((frame.kind, frame.sequence, frame.stamp))
        return found

    def outgoing(self, now: int, kind: int = HEARTBEAT, stamp: int = 0, numbers=()) -> bytes:
        out = ctypes.create_string_buffer(94)
        sent = WireFrame(kind=kind, stamp=stamp, numbers=(ctypes.c_float * 11)(*numbers))
        size = self.c.link_send(ctypes.byref(self.end), now, ctypes.byref(sent), out)
        return out.raw[:size]

    def watch(self, now: int) -> bool:
        return bool(self.c.link_watch(ctypes.byref(self.end), now))


def ends(c, compact: bool = False) -> tuple[Link, CBoard, Link]:
    """A bridge, a board in C, and one in Python that draws the same nonces."""
    bridge = Link(TIMEOUT, session=Session(KEY, draw=itertools.count(1000).__next__))
    session = Session(KEY, is_board=True, draw=itertools.count(1).__next__)
    return bridge, CBoard(c, 1, compact), Link(TIMEOUT, wants_compact=compact, session=session)


@pytest.mark.parametrize("compact", [False, True])
@pytest.mark.parametrize("seed", range(8))
def test_the_board_in_c_takes_and_sends_what_the_one_in_python_does(c, compact, seed):
    """Whatever happens on the way to it: dropped, doubled, from an earlier time, reflected,
    damaged, delayed until the session ends.
    """
    draw, (bridge, board, twin), now = random.Random(seed), ends(c, compact), MS
    recorded, taken = [], 0
    for i in range(400):
        now += 120 * MS if i % 50 == 49 else draw.choice((MS, MS, 2 * MS, 9 * MS, 30 * MS))
        made = bridge.outgoing(now) + bridge.outgoing(now, STATE, i, UPRIGHT)
        recorded.append(made)
        chance, data = draw.random(), made
        if chance > 0.8:
            data = draw.choice(recorded[-200:])
        if chance > 0.95:
            data = bytes(byte ^ draw.choice((0, 0, 0, 4)) for byte in data) + b"\0"
        received = [
            (frame.kind, frame.sequence, frame.stamp) for frame in twin.incoming(data, THERE + now)
        ]
        assert board.incoming(data, THERE + now) == received
        taken += len(received)
        assert board.watch(THERE + now) == twin.watch(THERE + now)
        answer = twin.outgoing(THERE + now), twin.outgoing(THERE + now, FORCE, i, (1.0, 2.0))
        sent = board.outgoing(THERE + now), board.outgoing(THERE + now, FORCE, i, (1.0, 2.0))
        assert sent == answer
        recorded += [sent[0]]
        list(bridge.incoming(b"".join(sent), now))
        bridge.watch(now)
    assert taken > 100 and board.end.forged > 5 and board.end.outages >= 4


def test_the_board_in_c_takes_no_forger_and_no_replay(c):
    bridge, board, _ = ends(c)
    forgers = [Link(TIMEOUT), Link(TIMEOUT, session=Session(KEY[::-1]))]
    recorded, now = [], MS
    for i in range(20):
        now += MS
        list(bridge.incoming(board.outgoing(THERE + now), now))
        recorded.append(bridge.outgoing(now, STATE, i, UPRIGHT) if i > 3 else bridge.outgoing(now))
        board.incoming(recorded[-1], THERE + now)
        for forger in forgers:
            assert not board.incoming(forger.outgoing(now, STATE, 1, UPRIGHT), THERE + now)
        assert not board.incoming(board.outgoing(THERE + now), THERE + now)  # reflected
    accepted = board.end.accepted
    late = bridge.outgoing(now, STATE, 99, UPRIGHT)
    waiting = CBoard.__new__(CBoard)
    waiting.c, waiting.end = c, KeyedLinkEnd.from_buffer_copy(board.end)
    assert not waiting.incoming(late, THERE + now + TIMEOUT + MS)  # nobody has watched meanwhile
    assert waiting.incoming(late, THERE + now) == [] and waiting.end.outages == 1
    assert board.watch(THERE + now) and accepted >= 18
    for end in (board, CBoard(c, 2)):  # in the same session, and after a reset
        for data in recorded:
            end.outgoing(THERE + now)
            assert not end.incoming(data, THERE + now)
    assert board.end.accepted == accepted


def test_the_python_client_answers_in_a_session_only():
    module, written = python_client(), []
    law = {"gains": [1.0] * 4, "force_limit": 20.0}
    board = module.Board(law, written.append, module.Session(KEY))
    forger = module.Board(law, written.append, module.Session(KEY[::-1]))
    bridge = Link(3_000_000_000, session=Session(KEY))
    for _ in range(3):
        for end in (forger, board):
            end.send(HEARTBEAT)
            list(bridge.incoming(written.pop(), time.monotonic_ns()))
            end.take(bridge.outgoing(time.monotonic_ns()))
    assert bridge.up and board.up and not forger.up
    state = bridge.outgoing(time.monotonic_ns(), STATE, 7, UPRIGHT)
    for end, data in ((forger, state), (board, state), (board, state)):
        end.take(data)
    (force,) = bridge.incoming(written.pop(), time.monotonic_ns())
    assert (force.kind, force.stamp, written) == (FORCE, 7, [])


# the program


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    """The path of the program."""
    return str(program(tmp_path_factory.mktemp("c"), *CHECKED))


def key_file(folder, text: str, mode: int = 0o600) -> str:
    path = folder / "board.key"
    path.write_text(text)
    path.chmod(mode)
    return str(path)


@pytest.mark.parametrize(
    "text, mode, sentence",
    [
        (KEY.hex(), 0o644, "has mode 644, so others may use it; `chmod 600"),
        (KEY.hex()[1:], 0o600, "must have 64 hexadecimal digits"),
        (KEY.hex() + "0", 0o600, "must have 64 hexadecimal digits"),
        (KEY.hex() + "\n\n0", 0o600, "must have 64 hexadecimal digits"),
        ("", 0o600, "must have 64 hexadecimal digits"),
    ],
)
def test_a_bad_key_file_is_one_sentence(client, tmp_path, text, mode, sentence):
    words = ("controller", "--udp", "127.0.0.1", "9", "--key", key_file(tmp_path, text, mode))
    done = subprocess.run([client, *words], capture_output=True, text=True, timeout=DEADLINE)
    assert done.returncode == 2 and sentence in done.stderr and done.stderr.count("\n") == 1


def wrong_frames() -> list[bytes]:
    """Those of the fuzzer; and what a key has sealed, cut and changed, under a CRC that fits."""
    draw, framing, session = random.Random(1), Framing(keyed=True), Session(KEY)
    found = [each.data for each in wire_fuzz.Fuzz(1).frames(300)]
    for _ in range(300):
        kind = draw.choice((HEARTBEAT, STATE, COMPACT))
        body = bytearray(
            session.seal(Frame(kind, 0, 5, 6, 7, 8, 9, UPRIGHT * (kind != HEARTBEAT)))
        )
        body[draw.randrange(1, len(body))] ^= 1 << draw.randrange(8)
        body = body[: draw.randrange(1, len(body) - 3)]
        found.append(framing.stuff(bytes(body) + crc32(body).to_bytes(4, "little")))
    return found


def test_the_program_answers_with_its_key_whatever_comes_beside(client, tmp_path):
    """It is built with the address and undefined-behavior sanitizers."""
    bridge, stamps = Link(3_000_000_000, session=Session(KEY)), []
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as ours:
        ours.bind(("127.0.0.1", 0))
        ours.settimeout(DEADLINE)
        words = ("--udp", "127.0.0.1", str(ours.getsockname()[1]))
        path = key_file(tmp_path, KEY.hex() + "\n")
        process = subprocess.Popen(
            [client, "controller", *words, "--key", path], stdout=subprocess.PIPE
        )
        try:
            there = ours.recvfrom(2048)[1]
            for i, wrong in enumerate(wrong_frames()):
                ours.sendto(wrong, there)
                if i % 50 == 0:
                    ours.recvfrom(2048)  # it has time; what overflows its buffer is lost
            while 7 not in stamps:
                data, there = ours.recvfrom(2048)
                now = time.monotonic_ns()
                stamps += [f.stamp for f in bridge.incoming(data, now) if f.kind == FORCE]
                ours.sendto(bridge.outgoing(now), there)
                if bridge.up:
                    ours.sendto(bridge.outgoing(now, STATE, 7, UPRIGHT), there)
        finally:
            process.terminate()
            said = process.communicate(timeout=DEADLINE)[0]
    counted = json.loads(said)
    assert process.returncode == 0 and counted["malformed"] + counted["old"] > 100
