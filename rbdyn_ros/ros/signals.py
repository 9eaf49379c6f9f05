"""SIGINT and SIGTERM, from the first import to the last callback: a process that hears one ends
with exit code 0.
"""

import os
import signal

from rbdyn_ros import interrupts

_NUMBERS = (signal.SIGINT, signal.SIGTERM)


def leave_at_once() -> None:
    """During the imports: nothing has begun that needs an end, and an exception would become an
    ImportError.
    """
    for number in _NUMBERS:
        signal.signal(number, lambda number, frame: os._exit(0))


class Signals:
    """A signal sets `stop`.

    While `starting` it also raises SystemExit, for the warm-up may compile for a minute.
    """

    def __init__(self, starting: bool = False):
        self.stop, self.starting = False, starting
        interrupts.raising(SystemExit, _NUMBERS, when=self._heard)

    def _heard(self, number: int) -> bool:
        self.stop = True
        return self.starting
