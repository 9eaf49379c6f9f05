"""An exception that a signal raises arrives, wherever the signal falls.

Python runs a signal's handler wherever its main thread stands, also in a destructor or in a function that C has called back;
what is raised there is reported and lost. LLVM calls back in the midst of Numba's loading and compiling, to read and to keep
machine code: a lost exception leaves it with none, and the process then writes to address 0. So nothing is raised
there: the same signal comes again a little later, until it falls where its exception arrives.
"""

import os
import signal
import sys
import threading
from types import FrameType
from typing import Callable

AGAIN = 0.01  # [s]
_CALLED_BACK = "llvmlite.binding.executionengine"  # the only file in use here whose functions C calls back


def raising(exception: type, numbers: tuple = (signal.SIGINT,), when: Callable[[], bool] = lambda: True) -> None:
    """Let these signals raise `exception`, as soon as it arrives, while `when()` is true."""

    def handle(number: int, frame: FrameType | None) -> None:
        if not when():
            return
        if arrives(frame):
            raise exception
        _again(number)

    def lost(unraisable) -> None:
        if isinstance(unraisable.exc_value, exception):
            _again(numbers[0])
        else:
            sys.__unraisablehook__(unraisable)

    sys.unraisablehook = lost
    for number in numbers:
        signal.signal(number, handle)


def arrives(frame: FrameType | None) -> bool:
    """Whether what is raised in this frame reaches its callers: none of them, nor itself, was called back by LLVM."""
    while frame is not None and frame.f_globals.get("__name__") != _CALLED_BACK:
        frame = frame.f_back
    return frame is None


def _again(number: int) -> None:
    timer = threading.Timer(AGAIN, os.kill, (os.getpid(), number))
    timer.daemon = True
    timer.start()
