"""The ports of a wire: a serial port (a UART, a USB device that acts as one, or a pseudo-terminal)
and datagrams, with their errors and the timeout of a read.
"""

import errno
import os
import select
import socket
import termios
import time
from typing import Any

import serial

from rbdyn_ros.files import expand_input

READ_TIMEOUT = 0.005  # [s] the watchdogs are checked this often


class CannotOpen(RuntimeError):
    """The port cannot be opened, now or later; the message says why, and what to do."""


class NotThere(CannotOpen):
    """The device is not plugged in yet; it may be later."""


class Disconnected(RuntimeError):
    """The port has vanished while it was open."""


class Port:
    """An open port with one peer, as a cable has it."""

    name: str  # in messages
    strangers = 0  # datagrams that came from others than the peer
    unsent = 0  # frames for which there was no room

    def read(self) -> bytes:
        """Return what arrives within `READ_TIMEOUT`; empty if nothing does. Raise Disconnected."""
        raise NotImplementedError

    def write(self, data: bytes) -> bool:
        """Send the bytes of a frame. Return False if there is no peer or no room. Raise
        Disconnected.
        """
        raise NotImplementedError

    def reply(self, data: bytes) -> bool:
        """Send the bytes of a frame to the sender of what was read last, peer or not. Raise
        Disconnected.
        """
        return self.write(data)

    def accept(self) -> None:
        """Make the sender of what was read last the peer."""

    def forget(self) -> None:
        """Let another peer replace the silent one."""

    def discard(self) -> None:
        """Drop the output that the peer has not read."""

    def close(self) -> None:
        """Free the port."""


_LARGEST = 2048  # bytes of a datagram; a longer one is cut, and its CRC is wrong


Address = tuple[Any, ...]  # as the socket module has it: (host, port), of IPv6 two more


class Udp(Port):
    """A bound socket and one peer: the given one, or else the first whose frames are valid.

    Datagrams of others are dropped and counted as `strangers`, until the peer is silent: then
    another one may replace it, unless the peer was given.
    """

    def __init__(self, address: str, port: int, peer: tuple[str, int] | None = None):
        """Bind the socket. Raise CannotOpen if that fails.

        `peer` is (address, port), port 0 for any port of that address, or None.
        """
        self._socket = _bind(address, port)
        given = _lookup("udp.peer_address", *peer, self._socket.family)[1] if peer else None
        self._host = given[0] if given else None  # the only one that may be the peer
        self._pinned = given is not None and given[1] != 0
        self._peer, self._open = given if self._pinned else None, not self._pinned
        self._sender = None  # of the newest datagram
        self.name = "udp {}:{}".format(*self._socket.getsockname()[:2])

    def read(self) -> bytes:
        """Return the next datagram of the peer, or of any sender while there is none; empty if
        none comes within `READ_TIMEOUT`.
        """
        try:
            data, self._sender = self._socket.recvfrom(_LARGEST)
        except OSError:
            # a timeout; or the peer's port is unreachable, as some systems report it
            return b""
        if not self._may_be_peer(self._sender):
            self.strangers += 1
            return b""
        return data

    def _may_be_peer(self, sender: Address) -> bool:
        return sender[0] == (self._host or sender[0]) if self._open else sender == self._peer

    def write(self, data: bytes) -> bool:
        """Send a datagram to the peer. Return False if there is none, or no room."""
        return self._send(data, self._peer)

    def reply(self, data: bytes) -> bool:
        """Send a datagram to the sender of what was read last."""
        return self._send(data, self._sender)

    def _send(self, data: bytes, to: Address | None) -> bool:
        if to is None:
            return False
        try:
            self._socket.sendto(data, to)
        except OSError:
            self.unsent += 1
            return False
        return True

    def accept(self) -> None:
        """Make the sender of what was read last, which was valid, the peer."""
        if self._open:
            self._peer, self._open = self._sender, False

    def forget(self) -> None:
        """Let the next valid sender replace the silent peer, unless the peer was given. Until then
        frames still go to it.
        """
        self._open = not self._pinned

    def close(self) -> None:
        """Free the port."""
        self._socket.close()


def _bind(address: str, port: int) -> socket.socket:
    family, sockaddr = _lookup("udp.address", address, port)
    bound = socket.socket(family, socket.SOCK_DGRAM)
    bound.settimeout(READ_TIMEOUT)
    try:
        bound.bind(sockaddr)
    except OSError as error:
        bound.close()
        raise CannotOpen(f"udp.port is {port} on {address}: {_why(error)}") from None
    return bound


def _lookup(
    name: str, address: str, port: int, family: int = socket.AF_UNSPEC
) -> tuple[socket.AddressFamily, Address]:
    try:
        found = socket.getaddrinfo(address, port, family, socket.SOCK_DGRAM)[0]
    except (OSError, UnicodeError):
        raise CannotOpen(
            f"{name} is {address}, which is no address that this machine knows; write one such as "
            "127.0.0.1"
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


_AT_ONCE = 4096  # largest number of bytes of one read
KEEP, LOW, RESET = "keep", "low", "reset"  # what DTR and RTS do when a port is opened
RESET_TIME = 0.1  # [s]


class SerialPort(Port):
    """An open serial port, exclusively for this process."""

    def __init__(self, path: str, baud: int, control_lines: str = KEEP):
        """Open the port at `baud` bit/s, 8N1, without flow control, with its shortest latency.
        Raise NotThere, CannotOpen.
        """
        try:
            port = str(expand_input(path))
            self._serial = serial.Serial(
                port, baud, timeout=READ_TIMEOUT, write_timeout=0, exclusive=True
            )
        except (OSError, ValueError) as error:
            raise _refusal(path, baud, error) from None
        _shorten_latency(self._serial)
        _set_control_lines(self._serial, control_lines)
        self.name = f"{path} at {baud} baud"

    def read(self) -> bytes:
        """Return what has arrived; empty if nothing comes within `READ_TIMEOUT`.

        Raise Disconnected if the cable was pulled.
        """
        try:
            return self._serial.read(min(_AT_ONCE, self._serial.in_waiting or 1))
        except (OSError, TypeError):  # TypeError is pyserial's, closed meanwhile
            raise Disconnected from None

    def write(self, data: bytes) -> bool:
        """Pass bytes to the driver. Return False if it has no room, as where nobody reads the
        other end.

        Raise Disconnected if the cable was pulled.
        """
        try:
            if select.select([], [self._serial], [], 0.0)[1] and self._serial.write(data) == len(
                data
            ):
                return True
        except (OSError, TypeError, ValueError):
            raise Disconnected from None
        self.unsent += 1
        return False

    def discard(self) -> None:
        """Drop the output that the other end has not read, as it is from before its silence."""
        try:
            self._serial.reset_output_buffer()
        except (
            OSError,
            termios.error,
            serial.SerialException,
        ):
            # the port is gone, and the next read says so
            pass

    def close(self) -> None:
        """Free the port, without waiting for the other end to read."""
        self.discard()
        self._serial.close()


def _shorten_latency(port: serial.Serial) -> None:
    """Let the driver pass on what arrives at once, where it can do so: FTDI's waits for 16 ms."""
    try:
        port.set_low_latency_mode(True)
    except (OSError, ValueError, NotImplementedError):  # ValueError: a port without the setting
        pass


def _set_control_lines(port: serial.Serial, control_lines: str) -> None:
    """Set DTR and RTS, which the system has asserted while it opened the port, and let them stay
    when it is closed, as a board may be wired to be reset by their edges.

    An Arduino is reset by the edge of DTR that asserts it, an ESP32 while RTS is asserted and DTR
    is not; so RTS is cleared first and set last.
    """
    try:
        attributes = termios.tcgetattr(port.fileno())
        attributes[2] &= ~termios.HUPCL
        termios.tcsetattr(port.fileno(), termios.TCSANOW, attributes)
        if control_lines == LOW:
            port.rts, port.dtr = False, False
        elif control_lines == RESET:
            port.dtr, port.rts = False, True
            time.sleep(RESET_TIME)
            port.rts = False
            port.dtr, port.rts = True, True
    except (OSError, termios.error):  # a pseudo-terminal has no such lines
        pass


def _refusal(path: str, baud: int, error: Exception) -> CannotOpen:
    number = getattr(error, "errno", None)
    if isinstance(error.__context__, termios.error):  # of which pyserial gives the text alone
        number = error.__context__.args[0]
    if not path or number in (errno.ENOTTY, errno.EISDIR):
        return CannotOpen(
            f"serial.port is {path or repr(path)}, which is no serial port; name one (`ls "
            "/dev/serial/by-id` shows those)"
        )
    if number in (errno.ENOENT, errno.ENXIO, errno.ENODEV):
        return NotThere(
            f"serial.port is {path}: there is no such device; plug it in (`ls /dev/serial/by-id` "
            "shows what is)"
        )
    if number in (errno.EACCES, errno.EPERM):
        return CannotOpen(
            f"serial.port is {path}: permission denied; `sudo usermod -aG dialout $USER`, then "
            "log in again"
        )
    if number in (errno.EBUSY, errno.EAGAIN):
        return CannotOpen(f"serial.port is {path}: another program uses it; end that first")
    why = os.strerror(number) if number else error
    return CannotOpen(
        f"serial.port is {path} at {baud} baud: {why}; name a serial port (`ls /dev/serial/by-id` "
        "shows those), and a baud rate that it has"
    )
