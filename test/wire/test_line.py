"""A line on real sockets and pseudo-terminals: strangers, cables that are pulled, ports that are
taken or missing.
"""

import os
import socket
import threading
import time
import tty

import pytest

pytest.importorskip("cobs", reason="cobs is not installed (./testbed test brings it)")

from rbdyn_ros.wire.frame import FORCE, HEARTBEAT, STATE  # noqa: E402
from rbdyn_ros.wire.line import CLOSED, NO_PORT, SILENT, UP, Line  # noqa: E402
from rbdyn_ros.wire.link import Link  # noqa: E402
from rbdyn_ros.wire.port import CannotOpen, NotThere  # noqa: E402
from rbdyn_ros.wire.ports import (
    SerialPort,  # noqa: E402
    Udp,  # noqa: E402
)

from .frames import UPRIGHT  # noqa: E402

DEADLINE = 20.0  # [s] of a loaded machine
TIMEOUT = 150_000_000  # [ns]


def wait_for(condition) -> None:
    """Until it holds."""
    end = time.monotonic() + DEADLINE
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.005)


class End:
    """A line that remembers what it was told."""

    def __init__(
        self, open_port, heartbeat: float = 0.02, timeout: int = TIMEOUT, retry: float = 0.05
    ):
        self.frames, self.said = [], []
        hear = lambda frame, now: self.frames.append(frame)  # noqa: E731
        self.line = Line(open_port, Link(timeout), heartbeat, retry, hear, self.said.append)


@pytest.fixture
def ends():
    """Make ends that are closed after the test."""
    made = []

    def end(open_port, **options) -> End:
        made.append(End(open_port, **options))
        return made[-1]

    yield end
    for one in made:
        one.line.end()


def free_port() -> int:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def pair_of_udp(ends) -> tuple:
    """A bridge that waits for whoever comes, and a board that knows it."""
    port = free_port()
    bridge = ends(lambda: Udp("127.0.0.1", port))
    board = ends(lambda: Udp("127.0.0.1", 0, ("127.0.0.1", port)))
    return bridge, board


def test_udp_carries_both_ways(ends):
    bridge, board = pair_of_udp(ends)
    for end in (bridge, board):
        end.line.begin()
    wait_for(lambda: bridge.line.status == board.line.status == UP)
    assert bridge.line.send(STATE, 5, UPRIGHT) and board.line.send(FORCE, 5, (1.0, 2.0))
    wait_for(
        lambda: (
            [f for f in board.frames if f.kind == STATE]
            and [f for f in bridge.frames if f.kind == FORCE]
        )
    )
    wait_for(lambda: bridge.line.link.clock.known and bridge.line.link.statistics.delays)
    assert bridge.line.link.clock.uncertainty < 1e9 and bridge.line.figures()["unsent"] == 0


def test_nobody_takes_the_place_of_the_peer(ends):
    bridge, board = pair_of_udp(ends)
    for end in (bridge, board):
        end.line.begin()
    wait_for(lambda: bridge.line.status == UP)
    stranger = Link(TIMEOUT)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as other:
        forged = stranger.outgoing(1, FORCE, 1, (20.0, 0.0))
        other.sendto(forged, ("127.0.0.1", int(bridge.line._port.name.rpartition(":")[2])))
        wait_for(lambda: bridge.line.figures()["strangers"] == 1)
    assert not [frame for frame in bridge.frames if frame.kind == FORCE]


def test_a_board_that_falls_silent_is_told_once_and_may_be_replaced(ends):
    bridge, board = pair_of_udp(ends)
    for end in (bridge, board):
        end.line.begin()
    wait_for(lambda: bridge.line.status == UP)
    board.line.end()
    wait_for(lambda: bridge.line.status == SILENT)
    port = int(bridge.line._port.name.rpartition(":")[2])
    second = ends(lambda: Udp("127.0.0.1", 0, ("127.0.0.1", port)))
    second.line.begin()
    wait_for(lambda: bridge.line.status == UP)
    assert bridge.said == [SILENT, UP, SILENT, UP] and bridge.line.figures()["outages"] == 1


def test_noise_is_counted_and_changes_nothing(ends):
    bridge, board = pair_of_udp(ends)
    bridge.line.begin()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as other:
        port = int(bridge.line._port.name.rpartition(":")[2])
        for data in (b"\1", b"\0\0\0", b"\5abcd\0", bytes(range(256)) * 8, b""):
            other.sendto(data + b"\0", ("127.0.0.1", port))
        wait_for(lambda: bridge.line.link.statistics.malformed.total() >= 4)
    board.line.begin()
    wait_for(lambda: bridge.line.status == UP)


def test_a_port_that_is_taken_is_one_sentence(ends):
    port = free_port()
    ends(lambda: Udp("127.0.0.1", port)).line.begin()
    with pytest.raises(
        CannotOpen,
        match=f"udp.port is {port} on 127.0.0.1: another program uses it; end that, or choose "
        "another",
    ):
        Udp("127.0.0.1", port)


@pytest.mark.parametrize(
    "address, sentence",
    [("192.0.2.1", "is not an address of this machine"), ("no address", "no address that")],
)
def test_an_address_of_somebody_else_is_one_sentence(address, sentence):
    with pytest.raises(CannotOpen, match=sentence):
        Udp(address, free_port())


# pseudo-terminals: serial ports whose other end is in this test


class Cable:
    """A pseudo-terminal under a name of its own, to be plugged in and pulled out."""

    def __init__(self, path):
        self.path, self.master = path, None

    def plug(self) -> None:
        self.master, slave = os.openpty()
        self.path.symlink_to(os.ttyname(slave))
        self._slave = slave

    def pull(self) -> None:
        self.path.unlink()
        for end in (self._slave, self.master):
            os.close(end)
        self.master = None


@pytest.fixture
def cable(tmp_path):
    cable = Cable(tmp_path / "board")
    yield cable
    if cable.master is not None:
        cable.pull()


def test_serial_carries_both_ways(ends, cable):
    cable.plug()
    bridge, board = ends(lambda: SerialPort(str(cable.path), 115200)), Link(TIMEOUT)
    bridge.line.begin()
    os.write(cable.master, board.outgoing(time.monotonic_ns(), FORCE, 9, (3.0, 4.0)))
    wait_for(lambda: bridge.frames)
    assert bridge.frames[0].numbers == (3.0, 4.0) and bridge.line.status == UP
    assert bridge.line.send(STATE, 7, UPRIGHT)
    heard = []
    wait_for(
        lambda: (
            heard.extend(board.incoming(os.read(cable.master, 4096), time.monotonic_ns()))
            or STATE in [f.kind for f in heard]
        )
    )


def test_a_cable_that_is_pulled_is_looked_for_and_found_again(ends, cable):
    cable.plug()
    bridge, board = ends(lambda: SerialPort(str(cable.path), 115200)), Link(TIMEOUT)
    bridge.line.begin()
    os.write(cable.master, board.outgoing(1))
    wait_for(lambda: bridge.line.status == UP)
    cable.pull()
    wait_for(lambda: bridge.line.status.startswith(NO_PORT))
    assert not bridge.line.send(FORCE, 0, (0.0, 0.0))
    time.sleep(0.2)  # several looks; they are not told
    cable.plug()
    wait_for(lambda: bridge.line.status == SILENT)
    os.write(cable.master, board.outgoing(2))
    wait_for(lambda: bridge.line.status == UP)
    gone = f"{NO_PORT}{cable.path} at 115200 baud has vanished; it is looked for every 0.05 s"
    assert bridge.said == [SILENT, UP, gone, SILENT, UP]


def test_a_device_that_is_not_there_yet_is_waited_for(ends, cable):
    bridge = ends(lambda: SerialPort(str(cable.path), 115200))
    bridge.line.begin()
    assert bridge.said == [
        (
            f"{NO_PORT}serial.port is {cable.path}: there is no such device; plug it in (`ls "
            "/dev/serial/by-id` shows what is)"
        )
    ]
    cable.plug()
    wait_for(lambda: bridge.line.status == SILENT)


def test_a_reader_that_is_asleep_blocks_nobody(ends, cable):
    cable.plug()
    bridge = ends(lambda: SerialPort(str(cable.path), 115200), heartbeat=10.0)
    bridge.line.begin()
    sent = [bridge.line.send(STATE, i, UPRIGHT) for i in range(500)]  # the other end says nothing
    assert not any(sent) and bridge.line.figures()["held_back"] == 500
    sent = [bridge.line.send(HEARTBEAT) for _ in range(2000)]  # and reads nothing
    assert not sent[-1] and bridge.line.figures()["unsent"] > 0


def test_two_programs_on_one_serial_port_are_refused(cable):
    cable.plug()
    first = SerialPort(str(cable.path), 115200)
    with pytest.raises(CannotOpen, match="another program uses it"):
        SerialPort(str(cable.path), 115200)
    first.close()


def test_no_such_device_is_told_from_what_waiting_does_not_help(tmp_path):
    with pytest.raises(NotThere):
        SerialPort(str(tmp_path / "nothing"), 115200)
    (tmp_path / "file").touch()
    with pytest.raises(CannotOpen) as refusal:
        SerialPort(str(tmp_path / "file"), 115200)
    assert not isinstance(refusal.value, NotThere)


def test_an_ended_line_has_freed_its_port(ends):
    bridge, _ = pair_of_udp(ends)
    for _ in range(3):
        bridge.line.begin()
        bridge.line.end()
    assert bridge.said == [SILENT, CLOSED] * 3


# a UART: a pseudo-terminal that passes so many bytes a second, each way


class Uart:
    """A board behind a UART; it answers each state and sends heartbeats.

    While it is stopped nothing passes.
    """

    def __init__(self, cable: Cable, baud: int):
        cable.plug()
        tty.setraw(cable.master)
        os.set_blocking(cable.master, False)
        self._file, self._rate = cable.master, baud / 10  # [bytes/s], 8N1
        self.reset()
        self.running = True
        self.heard = []  # stamps of the states, over all resets
        self.behind = lambda stamp: None  # called for each state that arrives
        self._ending = False
        self._thread = threading.Thread(target=self._pass, daemon=True)
        self._thread.start()

    def reset(self) -> None:
        """Begin as after power-on; bytes on their way to it stay where they are."""
        self._link, self._out, self._beat, self.read = Link(3_000_000_000), b"", 0.0, 0

    def end(self) -> None:
        self._ending = True
        self._thread.join()

    def _pass(self) -> None:
        before, owed = (
            time.monotonic(),
            [0.0, 0.0],
        )  # bytes that may pass to the board, and from it
        while not self._ending:
            time.sleep(0.001)
            now = time.monotonic()
            owed = [min(200.0, each + self._rate * (now - before)) for each in owed]
            before = now
            if self.running:
                owed[0] -= self._to_board(int(owed[0]))
                if now >= self._beat:
                    self._beat = now + 0.02
                    self._out += self._link.outgoing(time.monotonic_ns())
                written = os.write(self._file, self._out[: int(owed[1])]) if self._out else 0
                self._out, owed[1] = self._out[written:], owed[1] - written

    def _to_board(self, most: int) -> int:
        try:
            data = os.read(self._file, most) if most else b""
        except BlockingIOError:
            return 0
        self.read += len(data)
        for frame in self._link.incoming(data, time.monotonic_ns()):
            if frame.kind == STATE:
                self.behind(frame.stamp)
                self.heard.append(frame.stamp)
                self._out += self._link.outgoing(
                    time.monotonic_ns(), FORCE, frame.stamp, (1.0, 0.0)
                )
        return len(data)


@pytest.fixture
def uart(cable):
    """Make UARTs; they end with the test."""
    made = []

    def make(baud: int) -> Uart:
        made.append(Uart(cable, baud))
        return made[-1]

    yield make
    for one in made:
        one.end()


class Sender:
    """Sends states at 500 Hz; the stamp is their number."""

    def __init__(self, line: Line):
        self.line, self.number, self.sent = line, 0, []

    def until(self, condition) -> None:
        end = time.monotonic() + DEADLINE
        while not condition():
            assert time.monotonic() < end, "waited in vain"
            self.number += 1
            if self.line.send(STATE, self.number, UPRIGHT):
                self.sent.append(self.number)
            time.sleep(0.002)


def test_states_do_not_queue_on_a_line_that_is_slower_than_they_are(ends, cable, uart):
    """115200 baud carry 134 states a second: of 500 the others are held back, and what arrives is
    among the newest.
    """
    board = uart(115200)
    bridge = ends(lambda: SerialPort(str(cable.path), 115200), timeout=3_000_000_000)
    sender, newer = Sender(bridge.line), []
    board.behind = lambda stamp: newer.append(
        len([number for number in sender.sent[-500:] if number > stamp])
    )
    bridge.line.begin()
    sender.until(lambda: len(board.heard) > 150)
    assert max(newer) < 3  # the window, itself included
    assert bridge.line.figures()["held_back"] > 100 and bridge.line.figures()["unsent"] == 0
    assert len([frame for frame in bridge.frames if frame.kind == FORCE]) > 100


def test_a_board_that_is_stopped_and_reset_hears_fresh_states_at_once(ends, cable, uart):
    """Eight times; what was sent to the stopped board, heartbeats included, is a few frames and
    not what the port holds.
    """
    board = uart(921600)
    bridge = ends(lambda: SerialPort(str(cable.path), 921600), retry=1.0)
    sender = Sender(bridge.line)
    bridge.line.begin()
    for _ in range(8):
        heard = len(board.heard)
        sender.until(lambda: len(board.heard) > heard + 20)
        board.running = False
        before = len(sender.sent)
        sender.until(lambda: bridge.line.status == SILENT)
        end = time.monotonic() + 0.2
        sender.until(lambda: time.monotonic() > end)
        assert (
            len(sender.sent) - before < 30
        )  # a window, and one whose acknowledgement was waited for too long; 500 Hz are 175
        board.reset()
        fresh, read = sender.number, []
        board.behind = lambda stamp: read.append(board.read) if stamp > fresh else None
        board.running = True
        sender.until(lambda: read)
        assert (
            read[0] < 3000
        )  # bytes that the board had to take before the first fresh state; a port holds 20 000
        sender.until(lambda: bridge.frames[-1].kind == FORCE and bridge.frames[-1].stamp > fresh)
