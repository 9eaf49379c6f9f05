"""One line that tells how it goes: rewritten in place on a terminal, one line a second
elsewhere.
"""

import shutil
import time
from collections.abc import Callable
from typing import TextIO

IN_PLACE, LINES = 0.1, 1.0  # [s] between two updates
_ERASE = "\r\x1b[2K"


class LiveLine:
    """`show(text)` as often as you like; `close()` leaves the last one standing."""

    def __init__(self, stream: TextIO, clock: Callable = time.monotonic):
        self._stream, self._clock = stream, clock
        self._in_place = stream.isatty()
        self._period = IN_PLACE if self._in_place else LINES
        self._next, self._open = 0.0, False

    def show(self, text: Callable[[], str]) -> None:
        """Show what `text()` says, if an update is due."""
        if self._clock() < self._next:
            return
        self._next = self._clock() + self._period
        if self._in_place:
            columns = shutil.get_terminal_size().columns
            self._stream.write(_ERASE + text()[: columns - 1])
            self._open = True
        else:
            self._stream.write(text() + "\n")
        self._stream.flush()

    def close(self) -> None:
        """End the line that is open."""
        if self._open:
            self._stream.write("\n")
            self._stream.flush()
            self._open = False
