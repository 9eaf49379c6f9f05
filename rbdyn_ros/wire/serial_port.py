"""A serial port: a UART, a USB device that poses as one, or a pseudo-terminal."""

import errno
import select
import termios

import serial

from rbdyn_ros.wire.port import READ_TIMEOUT, CannotOpen, Gone, NotThere

_AT_ONCE = 4096  # bytes of one read


class SerialPort:
    """An open port, for this process alone."""

    strangers = 0  # a cable has two ends

    def __init__(self, path: str, baud: int):
        """Open it at `baud` bit/s, 8N1, without flow control. NotThere; CannotOpen."""
        try:
            self._serial = serial.Serial(
                path, baud, timeout=READ_TIMEOUT, write_timeout=0, exclusive=True
            )
        except (OSError, ValueError) as error:
            raise _refusal(path, baud, error) from None
        self.unsent = 0
        self.name = f"{path} at {baud} baud"

    def read(self) -> bytes:
        """What has arrived; empty if nothing comes within `READ_TIMEOUT`.

        Gone if the cable was pulled.
        """
        try:
            return self._serial.read(min(_AT_ONCE, self._serial.in_waiting or 1))
        except (OSError, TypeError):  # TypeError is pyserial's, closed meanwhile
            raise Gone from None

    def write(self, data: bytes) -> bool:
        """Hand bytes to the driver; False if it has no room, as where nobody reads the other end.

        Gone.
        """
        try:
            if select.select([], [self._serial], [], 0.0)[1] and self._serial.write(data) == len(
                data
            ):
                return True
        except (OSError, TypeError, ValueError):
            raise Gone from None
        self.unsent += 1
        return False

    def accept(self) -> None:
        """There is one peer only."""

    def forget(self) -> None:
        """There is one peer only."""

    def discard(self) -> None:
        """Drop what the other end has not read: it is from before its silence."""
        try:
            self._serial.reset_output_buffer()
        except (
            OSError,
            termios.error,
            serial.SerialException,
        ):
            # it is gone, and the next read says so
            pass

    def close(self) -> None:
        """Free the port, without waiting for what the other end has not read."""
        self.discard()
        self._serial.close()


def _refusal(path: str, baud: int, error: Exception) -> CannotOpen:
    number = getattr(error, "errno", None)
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
    return CannotOpen(
        f"serial.port is {path} at {baud} baud: {getattr(error, 'strerror', None) or error}"
    )
