"""A link on a port, kept alive by a thread: heartbeats, the watchdog of the other end, and ports
that come and go.
"""

import threading
import time
from collections.abc import Callable

from rbdyn_ros.wire.frame import HEARTBEAT, Frame
from rbdyn_ros.wire.link import Link
from rbdyn_ros.wire.ports import CannotOpen, Disconnected, NotThere, Port

UP, SILENT, CLOSED = "up", "silent", "closed"  # the states of a line; "no port: why" is the fourth
NO_PORT = "no port: "
_SLICE = 0.05  # [s] an end is seen this soon


class Line:
    """Reads in a thread of its own; `send` may be called from any other.

    `on_frame(frame, now)` is called with each new frame, `on_change(status)` with each new status,
    both in that thread.
    """

    def __init__(
        self,
        open_port: Callable[[], Port],
        link: Link,
        heartbeat: float,
        retry: float,
        on_frame: Callable[[Frame, int], object],
        on_change: Callable[[str], object],
    ):
        """`open_port()` gives a `Udp` or a `SerialPort`; `heartbeat`, `retry` are periods [s].

        To an end that is silent a heartbeat is sent only every `retry`: a port that nobody reads
        may keep them all.
        """
        self.link, self.status = link, CLOSED
        self._open_port, self._heartbeat, self._retry = open_port, heartbeat, retry
        self._on_frame, self._on_change = on_frame, on_change
        self._sending = threading.Lock()  # numbering and writing are one act
        self._port: Port | None = None
        self._thread: threading.Thread | None = None
        self._ending = False
        self._beat = 0.0  # [s, steady] when the next heartbeat is due
        self._strangers = self._unsent = 0  # of ports that are closed

    def begin(self) -> None:
        """Open the port and start the thread.

        CannotOpen; a device that is not there yet is waited for.
        """
        self._ending = False
        try:
            self._open()
        except NotThere as error:
            self._become(NO_PORT + str(error))
        self._thread = threading.Thread(target=self._run, name="wire", daemon=True)
        self._thread.start()

    def end(self) -> None:
        """Stop the thread and free the port."""
        self._ending = True
        if self._thread:
            self._thread.join()
            self._thread = None
        self._close()
        self._become(CLOSED)

    def send(
        self, kind: int, stamp: int = 0, numbers: tuple[float, ...] = (), safe: bool = False
    ) -> bool:
        """Send a frame now; False if the link holds it back, or there is no port, no peer, or no
        room.
        """
        with self._sending:
            now = time.monotonic_ns()
            if not self.link.admits(now, kind, numbers, safe):
                return False
            try:
                return self._port is not None and self._port.write(
                    self.link.outgoing(now, kind, stamp, numbers, safe)
                )
            except Disconnected:  # the thread will find it, too
                return False

    def figures(self) -> dict[str, float]:
        """What the link knows, and what the port has counted."""
        port = self._port
        strangers, unsent = (port.strangers, port.unsent) if port else (0, 0)
        return self.link.figures() | {
            "strangers": self._strangers + strangers,
            "unsent": self._unsent + unsent,
        }

    # the thread

    def _run(self) -> None:
        while not self._ending:
            if self._port is None and not self._reopen():
                continue
            port = self._port
            if port is None:  # `end` has closed it
                continue
            try:
                data = port.read()
            except Disconnected:
                name = port.name
                self._close()
                self._become(
                    f"{NO_PORT}{name} has vanished; it is looked for every {self._retry:g} s"
                )
                continue
            self._take(port, data)
            if time.monotonic() >= self._beat:
                self._beat = time.monotonic() + (
                    self._heartbeat if self.link.up else max(self._heartbeat, self._retry)
                )
                self.send(HEARTBEAT)

    def _take(self, port: Port, data: bytes) -> None:
        now = time.monotonic_ns()
        for frame in self.link.incoming(data, now):
            port.accept()
            if self.status != UP:
                self._discard_stale_output(port)
            self._become(UP)
            self._on_frame(frame, now)
        if self.link.greeted:
            self._answer(port)
        if not self.link.watch(now) and self.status == UP:
            port.forget()
            self._become(SILENT)

    def _answer(self, port: Port) -> None:
        """Tell an end that begins a session the nonce of this one."""
        self.link.greeted = False
        with self._sending:
            try:
                port.reply(self.link.outgoing(time.monotonic_ns()))
            except Disconnected:  # the next read says so
                pass

    def _discard_stale_output(self, port: Port) -> None:
        """The other end is here: drop what it has not read of the time of its silence, and let it
        hear of this end at once.
        """
        with self._sending:
            port.discard()
        self._beat = 0.0

    def _reopen(self) -> bool:
        """Whether the port is back, after a pause."""
        end = time.monotonic() + self._retry
        while time.monotonic() < end and not self._ending:
            time.sleep(min(_SLICE, self._retry))
        try:
            self._open()
        except NotThere:  # that is known
            pass
        except CannotOpen as error:
            self._become(NO_PORT + str(error))
        return self._port is not None

    def _open(self) -> None:
        self._port = self._open_port()
        self._become(SILENT)

    def _close(self) -> None:
        with self._sending:
            port, self._port = self._port, None
            if port:
                self._strangers, self._unsent = (
                    self._strangers + port.strangers,
                    self._unsent + port.unsent,
                )
                port.close()
        self.link.disconnected()

    def _become(self, status: str) -> None:
        if status != self.status:
            self.status = status
            self._on_change(status)
