"""Who may be the peer of a UDP port: whoever comes, a pinned address, an end that has the key."""

import socket
import time

import pytest

pytest.importorskip("cobs", reason="cobs is not installed (./testbed test brings it)")

from rbdyn_ros.wire.frame import FORCE  # noqa: E402
from rbdyn_ros.wire.line import SILENT, UP, Line  # noqa: E402
from rbdyn_ros.wire.link import Link  # noqa: E402
from rbdyn_ros.wire.ports import Udp  # noqa: E402
from rbdyn_ros.wire.session import Session  # noqa: E402

from .lines import DEADLINE, TIMEOUT, wait_for  # noqa: E402

KEY = bytes(range(32))


@pytest.fixture
def lines():
    """Begin lines, each with what it hears, that end after the test."""
    made = []

    def line(port: Udp, session: Session) -> tuple[Line, list]:
        received = []
        made.append(
            Line(
                lambda: port,
                Link(TIMEOUT, session=session),
                0.02,
                0.05,
                lambda frame, now: received.append(frame),
                lambda status: None,
            )
        )
        made[-1].begin()
        return made[-1], received

    yield line
    for each in made:
        each.end()


@pytest.mark.parametrize("given, taken", [(None, True), ("port", False), ("address", False)])
def test_a_displacer_takes_the_place_of_a_silent_peer_unless_it_is_pinned(given, taken):
    """A valid sender of another address, after any silence; and one of the board's address from
    another port.
    """
    board, displacer, restarted = (socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in "123")
    for sender, host in ((board, 1), (displacer, 2), (restarted, 1)):
        sender.bind((f"127.0.0.{host}", 0))
        sender.settimeout(DEADLINE)
    peer = {None: None, "port": board.getsockname(), "address": ("127.0.0.1", 0)}[given]
    bridge = Udp("127.0.0.1", 0, peer)
    there = ("127.0.0.1", int(bridge.name.rpartition(":")[2]))

    def received(sender) -> bool:
        """Whether it is listened to; then its frame is taken for valid, and answered."""
        before = bridge.strangers
        sender.sendto(b"frame", there)
        end = time.monotonic() + DEADLINE
        while not (data := bridge.read()) and bridge.strangers == before:
            assert time.monotonic() < end, "waited in vain"
        if data:
            bridge.accept()
            assert bridge.write(b"answer") and sender.recv(10) == b"answer"
        return bool(data)

    try:
        if given == "address":
            assert not received(displacer) and not bridge.write(b"")  # it knows no port yet
        assert received(board) and not received(displacer) and not received(restarted)
        bridge.forget()
        assert received(displacer) == taken
        bridge.forget()
        assert received(restarted) == (given != "port")
    finally:
        for end in (board, displacer, restarted, bridge):
            end.close()


def test_with_a_key_a_displacer_without_it_is_no_peer_of_a_silent_bridge(lines):
    """The bridge knows no address; the board is answered where it is."""
    bridge, received = lines(Udp("127.0.0.1", 0), Session(KEY))
    there = ("127.0.0.1", int(bridge._port.name.rpartition(":")[2]))
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as other:
        for forger in (Link(TIMEOUT), Link(TIMEOUT, session=Session(KEY[::-1], is_board=True))):
            other.sendto(forger.outgoing(1, FORCE, 1, (20.0, 0.0)), there)
            other.sendto(forger.outgoing(2), there)
    wait_for(lambda: bridge.link.statistics.malformed.total() == 4)
    assert bridge.status == SILENT and bridge._port._peer is None
    assert "no key" in bridge.link.unverified_reason()
    board, _ = lines(Udp("127.0.0.1", 0, there), Session(KEY, is_board=True))
    wait_for(lambda: bridge.status == board.status == UP)
    assert board.send(FORCE, 5, (1.0, 2.0))
    wait_for(lambda: [frame for frame in received if frame.kind == FORCE])
