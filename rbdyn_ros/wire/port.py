"""What both kinds of port share: how they fail, and how long a read may wait."""

READ_TIMEOUT = 0.005  # [s] a watchdog looks around this often


class CannotOpen(RuntimeError):
    """The port cannot be opened, and waiting will not help; the message says why, and what to
    do.
    """


class NotThere(CannotOpen):
    """The device is not plugged in; it may come."""


class Gone(RuntimeError):
    """The port has vanished while it was open."""
