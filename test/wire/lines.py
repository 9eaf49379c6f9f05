"""Lines that keep what they hear, and cables, for tests."""

import os
from functools import partial

from waiting import wait

from rbdyn_ros.wire.line import Line
from rbdyn_ros.wire.link import Link

DEADLINE = 20.0  # [s] of a loaded machine
TIMEOUT = 150_000_000  # [ns]
wait_for = partial(wait, limit=DEADLINE, every=0.005)


class End:
    """A line that keeps its frames and its statuses."""

    def __init__(
        self, open_port, heartbeat: float = 0.02, timeout: int = TIMEOUT, retry: float = 0.05
    ):
        self.frames, self.said = [], []
        hear = lambda frame, now: self.frames.append(frame)  # noqa: E731
        self.line = Line(open_port, Link(timeout), heartbeat, retry, hear, self.said.append)


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
