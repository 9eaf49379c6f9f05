"""What both kinds of port share: how they fail, and how long a read may wait."""

from typing import Protocol

READ_TIMEOUT = 0.005  # [s] a watchdog looks around this often


class CannotOpen(RuntimeError):
    """The port cannot be opened, and waiting will not help; the message says why, and what to
    do.
    """


class NotThere(CannotOpen):
    """The device is not plugged in; it may come."""


class Disconnected(RuntimeError):
    """The port has vanished while it was open."""


class Port(Protocol):
    """An open `Udp` or `SerialPort`."""

    name: str  # in sentences
    strangers: int  # datagrams that came from others than the peer
    unsent: int  # frames for which there was no room

    def read(self) -> bytes:
        """Return what arrives within `READ_TIMEOUT`; empty if nothing does. Gone."""
        ...

    def write(self, data: bytes) -> bool:
        """Send the bytes of a frame; False if there is no peer or no room. Gone."""
        ...

    def reply(self, data: bytes) -> bool:
        """`write` to the sender of what was read last, who is not the peer yet. Gone."""
        ...

    def accept(self) -> None:
        """Take the sender of what was read last as the peer."""

    def forget(self) -> None:
        """Let another peer take the place of the silent one."""

    def discard(self) -> None:
        """Drop the output that the peer has not read."""

    def close(self) -> None:
        """Free the port."""
