"""A link on a port, served by a thread: heartbeats, the watchdog of the other end, and ports
that are plugged in and out.
"""

import threading
import time
from collections.abc import Callable

from rbdyn_ros.wire.frame import HEARTBEAT, Frame
from rbdyn_ros.wire.link import Link
from rbdyn_ros.wire.ports import CannotOpen, Disconnected, NotThere, Port

UP, SILENT, CLOSED = "up", "silent", "closed"  # the states of a line; "no port: why" is the fourth
NO_PORT = "no port: "
_SLICE = 0.05  # [s] within which `end` is noticed


class Line:
    """Connects a `Link` to a port; it reads in a thread of its own, and `send` may be called from
    any other.

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
        """Prepare a closed line; `begin` opens it.

        `open_port()` returns a `Udp` or a `SerialPort`; `heartbeat`, `retry` are periods [s]. To a
        silent end a heartbeat is sent only every `retry`, as a port that nobody reads may keep
        them all.
        """
        self.link, self.status = link, CLOSED
        self._open_port, self._heartbeat, self._retry = open_port, heartbeat, retry
        self._on_frame, self._on_change = on_frame, on_change
        self._sending = threading.Lock()  # numbers a frame and writes it as one operation
        self._port: Port | None = None
        self._thread: threading.Thread | None = None
        self._ending = False
        self._beat = 0.0  # [s, steady] when the next heartbeat is due
        self._strangers = self._unsent = 0  # of ports that are closed

    def begin(self) -> None:
        """Open the port and start the thread. Raise CannotOpen if the port cannot be opened.

        A device that is not there yet is waited for.
        """
        self._ending = False
        try:
            self._open()
        except NotThere as error:
            self._set_status(f"{NO_PORT}{error}; it is looked for every {self._retry:g} s")
        self._thread = threading.Thread(target=self._run, name="wire", daemon=True)
        self._thread.start()

    def end(self) -> None:
        """Stop the thread and free the port."""
        self._ending = True
        if self._thread:
            self._thread.join()
            self._thread = None
        self._close()
        self._set_status(CLOSED)

    def send(
        self, kind: int, stamp: int = 0, numbers: tuple[float, ...] = (), safe: bool = False
    ) -> bool:
        """Send a frame now. Return False if the link holds it back, or there is no port, no peer,
        or no room.
        """
        with self._sending:
            now = time.monotonic_ns()
            if not self.link.admits(now, kind, numbers, safe):
                return False
            try:
                return self._port is not None and self._port.write(
                    self.link.outgoing(now, kind, stamp, numbers, safe)
                )
            except Disconnected:  # the thread finds it, too
                return False

    def figures(self) -> dict[str, float]:
        """Return the figures of the link and the counts of the port."""
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
                self._set_status(
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
            self._set_status(UP)
            self._on_frame(frame, now)
        if self.link.greeted:
            self._answer(port)
        if not self.link.watch(now) and self.status == UP:
            port.forget()
            self._set_status(SILENT)

    def _answer(self, port: Port) -> None:
        """Send the nonce of this session to an end that begins one."""
        self.link.greeted = False
        with self._sending:
            try:
                port.reply(self.link.outgoing(time.monotonic_ns()))
            except Disconnected:  # the next read says so
                pass

    def _discard_stale_output(self, port: Port) -> None:
        """Drop the output that the other end has not read during its silence, and send it a
        heartbeat at once.
        """
        with self._sending:
            port.discard()
        self._beat = 0.0

    def _reopen(self) -> bool:
        """Try to open the port again, after a pause. Return whether it is open."""
        end = time.monotonic() + self._retry
        while time.monotonic() < end and not self._ending:
            time.sleep(min(_SLICE, self._retry))
        try:
            self._open()
        except NotThere:  # the status says so already
            pass
        except CannotOpen as error:
            self._set_status(NO_PORT + str(error))
        return self._port is not None

    def _open(self) -> None:
        self._port = self._open_port()
        self._set_status(SILENT)

    def _close(self) -> None:
        with self._sending:
            port, self._port = self._port, None
            if port:
                self._strangers, self._unsent = (
                    self._strangers + port.strangers,
                    self._unsent + port.unsent,
                )
                port.close()
        self.link.disconnect()

    def _set_status(self, status: str) -> None:
        if status != self.status:
            self.status = status
            self._on_change(status)
