"""SIGINT and SIGTERM, from the first import to the last callback: a process that hears one ends with exit code 0."""

import os
import signal
import sys

_NUMBERS = (signal.SIGINT, signal.SIGTERM)


def leave_at_once() -> None:
    """During the imports: nothing has begun that needs an end, and an exception would become an ImportError."""
    for number in _NUMBERS:
        signal.signal(number, lambda number, frame: os._exit(0))


def _silent_about_the_end(unraisable) -> None:
    """A signal may fall into a destructor, which cannot raise: `stop` remembers it, and nothing went wrong."""
    if not isinstance(unraisable.exc_value, SystemExit):
        sys.__unraisablehook__(unraisable)


class Signals:
    """A signal sets `stop`. While `starting` it also raises SystemExit(0), for the warm-up may compile for a minute."""

    def __init__(self, starting: bool = False):
        self.stop, self.starting = False, starting
        sys.unraisablehook = _silent_about_the_end
        for number in _NUMBERS:
            signal.signal(number, self._set)

    def _set(self, number, frame) -> None:
        self.stop = True
        if self.starting:
            raise SystemExit(0)
