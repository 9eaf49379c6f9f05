"""Datagrams. The socket is bound to the loopback interface unless another address is asked for."""

import errno
import socket
from typing import Any

from rbdyn_ros.wire.port import READ_TIMEOUT, CannotOpen

_LARGEST = 2048  # bytes of a datagram; what is longer is cut, and its CRC says so


Address = tuple[Any, ...]  # as the socket module has it: (host, port), of IPv6 two more


class Udp:
    """A bound socket and one peer: the given one, or else the first whose frames are valid.

    Nobody else is listened to, and their datagrams are counted as `strangers`, until the peer
    falls silent: then another one may take its place.
    """

    def __init__(self, address: str, port: int, peer: tuple[str, int] | None = None):
        """Bind; `peer` is (address, port) or None. CannotOpen."""
        self._socket = _bound(address, port)
        self._peer = _resolved(peer[0], peer[1], self._socket.family) if peer else None
        self._given, self._open = peer is not None, peer is None  # open to whoever comes
        self._sender = None  # of the newest datagram
        self.strangers = self.unsent = 0
        self.name = "udp {}:{}".format(*self._socket.getsockname()[:2])

    def read(self) -> bytes:
        """The next datagram of the peer, or of anybody while there is none; empty if none comes
        within `READ_TIMEOUT`.
        """
        try:
            data, self._sender = self._socket.recvfrom(_LARGEST)
        except OSError:
            # a timeout; or the peer's refusal of an earlier datagram, as some systems report it
            return b""
        if not self._open and self._sender != self._peer:
            self.strangers += 1
            return b""
        return data

    def write(self, data: bytes) -> bool:
        """Send a datagram to the peer; False if there is none, or no room."""
        if self._peer is None:
            return False
        try:
            self._socket.sendto(data, self._peer)
        except OSError:
            self.unsent += 1
            return False
        return True

    def accept(self) -> None:
        """What was read last is valid: its sender is the peer."""
        if self._open:
            self._peer, self._open = self._sender, False

    def forget(self) -> None:
        """The peer has fallen silent: frames still go to it, but the next valid sender replaces
        it,
        unless the peer was given.
        """
        self._open = not self._given

    def discard(self) -> None:
        """Nothing waits to be read by the peer: datagrams without a receiver are lost."""

    def close(self) -> None:
        """Free the port."""
        self._socket.close()


def _bound(address: str, port: int) -> socket.socket:
    family, sockaddr = _lookup(address, port)
    bound = socket.socket(family, socket.SOCK_DGRAM)
    bound.settimeout(READ_TIMEOUT)
    try:
        bound.bind(sockaddr)
    except OSError as error:
        bound.close()
        raise CannotOpen(f"udp.port is {port} on {address}: {_why(error)}") from None
    return bound


def _resolved(address: str, port: int, family: int) -> Address:
    return _lookup(address, port, family)[1]


def _lookup(
    address: str, port: int, family: int = socket.AF_UNSPEC
) -> tuple[socket.AddressFamily, Address]:
    try:
        found = socket.getaddrinfo(address, port, family, socket.SOCK_DGRAM)[0]
    except (OSError, UnicodeError):
        raise CannotOpen(
            f"{address} is no address that this machine knows; write one such as 127.0.0.1"
        ) from None
    return found[0], found[4]


def _why(error: OSError) -> str:
    known = {
        errno.EADDRINUSE: "another program uses it; end that, or choose another port",
        errno.EADDRNOTAVAIL: "that is not an address of this machine; 127.0.0.1 always is, "
        "0.0.0.0 is all of them",
        errno.EACCES: "that port is reserved; choose one above 1023",
    }
    return known.get(error.errno or 0, str(error.strerror))
