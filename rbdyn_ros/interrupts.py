"""An exception that a signal raises arrives, wherever the signal falls.

Python runs a signal's handler wherever its main thread stands, also in a destructor or in a
function that C has called back; what is raised there is reported and lost. LLVM calls back in the
midst of Numba's loading and compiling, to read and to keep machine code: a lost exception leaves
it with none, and the process then writes to address 0. So nothing is raised there: the same signal
comes again a little later, until it falls where its exception arrives. So it is in an import,
where an exception may become an ImportError or leave half a module behind; but a module that takes
long at its import can be interrupted.
"""

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

AGAIN = 0.01  # [s]
LONGEST_IMPORT = 5.0  # [s] for which a signal waits for the end of an import
_CALLED_BACK = (
    "llvmlite.binding.executionengine"  # the only file in use here whose functions C calls back
)
_IMPORT = ("importlib._bootstrap", "_frozen_importlib")


def raising(
    exception: type[BaseException],
    numbers: tuple[int, ...] = (signal.SIGINT,),
    when: Callable[[int], bool] = lambda number: True,
) -> None:
    """Let these signals raise `exception`, as soon as it arrives, while `when(number)` is true."""
    waiting: dict[
        int, float
    ] = {}  # signal -> since when it waits for an import to end [s, steady]

    def handle(number: int, frame: FrameType | None) -> None:
        if not when(number):
            return
        importing = (
            calls(frame, _IMPORT)
            and time.monotonic() - waiting.setdefault(number, time.monotonic()) < LONGEST_IMPORT
        )
        if arrives(frame) and not importing:
            waiting.clear()
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
    """Whether what is raised in this frame reaches its callers: none of them, nor itself, was
    called back by LLVM.
    """
    return not calls(frame, (_CALLED_BACK,))


def calls(frame: FrameType | None, modules: tuple[str, ...]) -> bool:
    """Whether the frame, or one that called it, is of one of these modules."""
    while frame is not None and frame.f_globals.get("__name__") not in modules:
        frame = frame.f_back
    return frame is not None


@contextmanager
def blocked(numbers: tuple[int, ...] = (signal.SIGINT,)) -> Iterator[None]:
    """No such signal in the block: it comes afterwards.

    Processes that are started in the block never hear it.

    Ctrl-C goes to all processes of a terminal; those that work for another one leave it to that
    one, which ends them.
    """
    from multiprocessing import resource_tracker

    # it comes with the first process of multiprocessing, and unblocks these signals
    resource_tracker.ensure_running()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, numbers)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _again(number: int) -> None:
    timer = threading.Timer(AGAIN, os.kill, (os.getpid(), number))
    timer.daemon = True
    timer.start()
