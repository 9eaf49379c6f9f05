"""A line of a command that says which kernel compiles, and which share of it is done; and whether
Numba compiles now.

Numba tells which function it begins to compile. Those that the kernel reaches are counted; after
the last of them LLVM optimizes all of it, which takes a quarter of the time.

Private interface: `numba.core.event`, which Numba documents.
Tested with Numba 0.56.4 to 0.68.1.
Fallback: nothing is shown.
"""

import threading
import time
from collections.abc import Callable
from typing import Any, TextIO

from numba.core import event

from rbdyn_ros.progress import DELAY, LiveLine

TRANSLATED = 75  # [%] of the time, when each function has been translated once
STEP, LOG = 1, 25  # [%] between two lines, on a terminal and in a log


class CompilationLine(event.Listener):
    """Shows the kernel that compiles on a stream, from the time on when that has taken `delay`."""

    def __init__(self, stream: TextIO, reached: Callable[[Any], set[Any]], delay: float = DELAY):
        self._line, self._reached, self._delay = LiveLine(stream), reached, delay
        self._step = STEP if stream.isatty() else LOG
        self._first = 0.0  # [s, steady] when the first compilation began
        self._what: list[Any] = []  # the kernels that compile, each called by the one before
        self._wanted: set[Any] = set()  # functions that the first one reaches
        self._done: set[Any] = set()

    def on_start(self, event) -> None:
        """Show what compiles."""
        function = event.data["dispatcher"].py_func
        if not self._what:
            self._first = self._first or time.monotonic()
            self._wanted, self._done = self._reached(function), set()
        self._what.append(function)
        if time.monotonic() - self._first >= self._delay:
            self._line.show(self.text)

    def on_end(self, event) -> None:
        """Count what is compiled; leave no line."""
        self._done.add(self._what.pop())
        if not self._what:
            self._line.erase()

    def text(self) -> str:
        """Return the line."""
        kernel = self._what[0]
        name = f"{kernel.__module__.rpartition('.')[2]}.{kernel.__qualname__}"
        percent = TRANSLATED * len(self._done & self._wanted) // max(1, len(self._wanted))
        percent -= percent % self._step
        return f"compiling {name}, once on this machine: {percent} % done"


def watch(stream: TextIO, reached: Callable[[Any], set[Any]]) -> None:
    """Show on a stream whatever compiles from now on."""
    event.register("numba:compile", CompilationLine(stream, reached))


class _Lock(event.Listener):
    """How often the main thread holds, or waits for, the lock under which Numba compiles, reads
    its cache, and is called back by LLVM.
    """

    depth = 0

    def on_start(self, event) -> None:
        self._add(1)

    def on_end(self, event) -> None:
        self._add(-1)

    def _add(self, one: int) -> None:
        if threading.current_thread() is threading.main_thread():
            self.depth += one


_lock = _Lock()
event.register("numba:compiler_lock", _lock)


def is_compiling() -> bool:
    """Return whether Numba compiles or loads a kernel in the main thread."""
    return _lock.depth > 0
