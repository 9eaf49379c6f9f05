"""The progress of what takes long: a bar or a notice after two seconds, and a line that is
rewritten in place on a terminal, one line a second elsewhere.
"""

import shutil
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from threading import Timer
from typing import TextIO, TypeVar

T = TypeVar("T")
DELAY = 2.0  # [s]
compilations_to: list[TextIO] = []  # streams that say what compiles: that of a command
IN_PLACE, LINES = 0.1, 1.0  # [s] between two updates
WAITED = (0, 10, 60)  # [s] of a wait that get a line each where lines are not rewritten
FORM = (
    "{percentage:3.0f} %|{bar}| {n:.4g} of {total:.4g} {unit} "
    "[{elapsed} so far, {remaining} to go]"
)
_ERASE = "\r\x1b[2K"


@contextmanager
def bar(total: float, unit: str) -> Iterator[Callable[[float], None]]:
    """Yield a function `show(done)` that draws a progress bar of `total` units on stderr."""
    from tqdm import tqdm  # here: the start of a program need not wait for it

    pace = IN_PLACE if sys.stderr.isatty() else DELAY  # a log file needs fewer lines
    start, drawn = time.time(), []  # tqdm has its own `delay` from 4.58 on

    def show(done: float) -> None:
        if not drawn and time.time() - start >= DELAY:
            drawn.append(tqdm(total=total, unit=unit, mininterval=pace, bar_format=FORM))
            drawn[0].start_t = start
        for one in drawn:
            one.update(done - one.n)

    try:
        yield show
    finally:
        for one in drawn:
            one.close()


def count(things: Iterable[T], unit: str) -> Iterable[T]:
    """Return the things as an iterable that is counted on stderr where it is a terminal."""
    from tqdm import tqdm

    return tqdm(things, unit=f" {unit}", disable=not sys.stderr.isatty())


@contextmanager
def notice(sentence: str) -> Iterator[None]:
    """Print the sentence on stderr if the block has not ended after two seconds."""
    timer = Timer(DELAY, print, (sentence,), {"file": sys.stderr, "flush": True})
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


class LiveLine:
    """A status line: `show(text)` may be called at any rate, and a line that has not changed is
    not written again; `close()` leaves the last one standing.
    """

    def __init__(self, stream: TextIO, clock: Callable[[], float] = time.monotonic):
        self._stream, self._clock = stream, clock
        self._in_place = stream.isatty()
        self._next, self._open, self._last = 0.0, False, ""

    def show(self, text: Callable[[], str]) -> None:
        """Show what `text()` returns, if an update is due."""
        if self._clock() < self._next:
            return
        self._next = self._clock() + (IN_PLACE if self._in_place else LINES)
        line = text()
        if self._in_place:
            self._write(_ERASE + line[: shutil.get_terminal_size().columns - 1])
            self._open = True
        elif line != self._last:  # a log does not need the same line each second
            self._write(line + "\n")
            self._last = line

    def waited(self, seconds: float) -> int:
        """Return the seconds of a wait to show: each whole one in place; elsewhere the last one of
        `WAITED`, so that a log gets three lines.
        """
        if self._in_place:
            return int(seconds)
        return max(mark for mark in WAITED if mark <= max(seconds, 0.0))

    def erase(self) -> None:
        """Take the line away; in a log it stays."""
        self._end(_ERASE)

    def close(self) -> None:
        """End the line that is open."""
        self._end("\n")

    def _end(self, text: str) -> None:
        if self._open:
            self._write(text)
            self._open = False

    def _write(self, text: str) -> None:
        self._stream.write(text)
        self._stream.flush()
