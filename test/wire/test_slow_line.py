"""A line that is slower than what is sent over it: a UART passes so many bytes a second."""

import os
import threading
import time
import tty

import pytest

pytest.importorskip("cobs", reason="cobs is not installed (./testbed test brings it)")

from rbdyn_ros.wire.frame import FORCE, STATE  # noqa: E402
from rbdyn_ros.wire.line import SILENT, Line  # noqa: E402
from rbdyn_ros.wire.link import Link  # noqa: E402
from rbdyn_ros.wire.ports import SerialPort  # noqa: E402

from .frames import UPRIGHT  # noqa: E402
from .lines import DEADLINE, Cable  # noqa: E402


class Uart:
    """A board behind a pseudo-terminal that passes so many bytes a second, each way; it answers
    each state and sends heartbeats.

    While it is stopped nothing passes.
    """

    def __init__(self, cable: Cable, baud: int):
        cable.plug()
        tty.setraw(cable.master)
        os.set_blocking(cable.master, False)
        self._file, self._rate = cable.master, baud / 10  # [bytes/s], 8N1
        self.reset()
        self.running = True
        self.received = []  # stamps of the states, over all resets
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
                self.received.append(frame.stamp)
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
    sender.until(lambda: len(board.received) > 150)
    assert max(newer) < 3  # the window, itself included
    assert bridge.line.figures()["held_back"] > 100 and bridge.line.figures()["unsent"] == 0
    assert len([frame for frame in bridge.frames if frame.kind == FORCE]) > 100


def test_a_board_that_is_stopped_and_reset_receives_fresh_states_at_once(ends, cable, uart):
    """Eight times; what was sent to the stopped board, heartbeats included, is a few frames and
    not what the port holds.
    """
    board = uart(921600)
    bridge = ends(lambda: SerialPort(str(cable.path), 921600), retry=1.0)
    sender = Sender(bridge.line)
    bridge.line.begin()
    for _ in range(8):
        received = len(board.received)
        sender.until(lambda: len(board.received) > received + 20)
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
