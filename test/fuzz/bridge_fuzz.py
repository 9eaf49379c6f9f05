"""Send wrong frames to a running bridge: it must survive, count every one, command nothing, and
accept the next right one.
"""

import socket
import time
from pathlib import Path
from typing import NamedTuple

from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import WrenchStamped
from wire_fuzz import Fuzz

from rbdyn_ros.ros import diagnostics, qos
from rbdyn_ros.ros.node_processes import NodeProcesses, ros_words
from rbdyn_ros.ros.process import leave, watcher
from rbdyn_ros.ros.topic_observer import BRIDGE
from rbdyn_ros.wire.frame import FORCE
from rbdyn_ros.wire.link import Link

# wrong frames between two heartbeats of ours, so that the bridge keeps listening to us
ALIVE_EVERY = 20
PAUSE = 0.002  # [s] after each heartbeat: a socket's buffer is finite
TIMEOUT = 60.0  # [s]


class Survived(NamedTuple):
    """The behavior of a bridge under wrong frames."""

    sent: int
    counted: int  # as malformed, of whatever kind
    # datagrams, ours of every kind, that the system dropped because the bridge's socket was full
    dropped: int
    counts: dict  # reason -> how many
    commands: int  # on cart/command meanwhile: there must be none
    alive: bool  # the process is the same as before
    answered: bool  # a right force frame still becomes a command

    @property
    def passed(self) -> bool:
        """Whether it lives, commanded nothing, and counted every frame that the system has passed
        to it.
        """
        return (
            self.alive
            and self.answered
            and self.commands == 0
            and self.counted <= self.sent <= self.counted + self.dropped
        )


class FuzzedBridge:
    """A bridge in a process of its own, and its peer, which sends wrong frames."""

    def __init__(self, folder: Path):
        self._node, self._executor = watcher("pendulum_fuzz")
        self._malformed, self._accepted, self._commands = {}, 0, 0
        self._node.create_subscription(
            DiagnosticArray, "/diagnostics", self._diagnostics, qos.OFFERED
        )
        self._node.create_subscription(WrenchStamped, "cart/command", self._command, qos.OFFERED)
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._link = Link(timeout=10**9)
        self._bridge = ("127.0.0.1", free_port())
        self._processes = NodeProcesses((), folder)

    def close(self) -> None:
        """End the bridge."""
        self._processes.end()
        self._socket.close()
        leave(self._node)

    def run(self, number: int, seed: int) -> Survived:
        """Send so many wrong frames and return the result. Raise TimeoutError if the bridge does
        not come up.
        """
        self._processes.start(
            "hil_bridge",
            arguments=ros_words(
                (), (f"udp.port:={self._bridge[1]}", "link_timeout:=5.0", "retry:=0.1")
            ),
        )
        end = time.monotonic() + TIMEOUT
        while not self._accepted:
            if time.monotonic() > end or self._processes.failure():
                late = f"the bridge received no frame within {TIMEOUT:g} s"
                raise TimeoutError(self._processes.failure() or late)
            self._send()
            self._turn(0.05)
        for k, wrong in enumerate(Fuzz(seed).frames(number)):
            if k % ALIVE_EVERY == 0:
                self._turn(PAUSE)
                self._send()
            self._socket.sendto(wrong.data, self._bridge)
        counted = self._settled_counts()
        alive, commands = not self._processes.failure(), self._commands
        dropped = dropped_datagrams(self._bridge[1])
        obeys = alive and self._is_obeying()
        return Survived(number, counted, dropped, self._malformed, commands, alive, obeys)

    def _settled_counts(self) -> int:
        """Return what the bridge has counted, once that does not change any more."""
        before, end = -1, time.monotonic() + TIMEOUT
        while (
            before != sum(self._malformed.values())
            and time.monotonic() < end
            and not self._processes.failure()
        ):
            before = sum(self._malformed.values())
            for _ in range(25):
                self._send()
                self._turn(0.1)
        return before

    def _is_obeying(self) -> bool:
        """Return whether a right frame still becomes a command."""
        end = time.monotonic() + TIMEOUT
        while self._commands == 0 and time.monotonic() < end:
            self._send(FORCE, (1.0, 0.0))
            self._turn(0.1)
        return self._commands > 0

    def _send(self, kind: int = 1, numbers: tuple = ()) -> None:
        self._socket.sendto(
            self._link.outgoing(time.monotonic_ns(), kind, 0, numbers), self._bridge
        )

    def _turn(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0.0:
            self._executor.spin_once(timeout_sec=left)

    def _diagnostics(self, message: DiagnosticArray) -> None:
        values = diagnostics.values_of(message, BRIDGE)
        self._accepted = int(values.get("accepted", self._accepted))
        self._malformed |= {
            key.partition(", ")[2]: int(value)
            for key, value in values.items()
            if key.startswith("malformed, ")
        }

    def _command(self, message: WrenchStamped) -> None:
        self._commands += 1


def free_port() -> int:
    """Return a UDP port of the loopback interface that is free."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as first:
        first.bind(("127.0.0.1", 0))
        return first.getsockname()[1]


def dropped_datagrams(port: int) -> int:
    """Return the number of datagrams that Linux has dropped at the socket of a local port; 0 where
    it does not report them.
    """
    table = Path("/proc/net/udp")
    rows = (
        [line.split() for line in table.read_text("utf-8").splitlines()[1:]]
        if table.exists()
        else []
    )
    return sum(int(row[-1]) for row in rows if int(row[1].rpartition(":")[2], 16) == port)
