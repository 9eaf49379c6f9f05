"""Raise an exception from a signal handler so that it reaches the main program.

Python runs a signal handler wherever its main thread is, also in a destructor or in a function
that C has called back; an exception that is raised there is reported and dropped. LLVM calls back
while Numba loads and compiles, to read and to store machine code: a dropped exception leaves it
with none, and the process then writes to address 0. There the handler raises nothing; it sends the
same signal again after `AGAIN`, until an exception can pass. It does so during an import, too,
where an exception may become an ImportError or leave half a module behind, for at most
`LONGEST_IMPORT`.

Private interfaces: the name of llvmlite's module whose functions LLVM calls back, that of Numba's
module which compiles, the names of Python's import modules, and
multiprocessing.resource_tracker.ensure_running.
Tested with llvmlite 0.50, Python 3.10 to 3.13.
Fallback: where a module has another name, an exception may be dropped; `sys.unraisablehook` then
sends the signal again, and compiling counts as time of a call. Without `ensure_running` the first
worker process may receive Ctrl-C.
"""

import faulthandler
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

SIGNALS = (signal.SIGINT, signal.SIGTERM)  # that end a command
AGAIN = 0.01  # [s]
_NOWHERE = open(os.devnull, "w")  # noqa: SIM115 for the tracebacks of processes that are ended
LONGEST_IMPORT = 5.0  # [s] for which a signal waits for the end of an import
_CALLED_BACK = (
    "llvmlite.binding.executionengine"  # the only file in use here whose functions C calls back
)
_COMPILER = "numba.core.dispatcher"  # in the stack while a kernel compiles, or is read
_IMPORT = ("importlib._bootstrap", "_frozen_importlib")


def ending_signals() -> tuple[int, ...]:
    """Return the signals that end a node; SIGHUP, of a terminal that is closed, unless `nohup`
    ignores it.
    """
    is_ignored = signal.getsignal(signal.SIGHUP) == signal.SIG_IGN
    return SIGNALS if is_ignored else (*SIGNALS, signal.SIGHUP)


def raise_on(
    exception: type[BaseException],
    numbers: tuple[int, ...] = (signal.SIGINT,),
    when: Callable[[int], bool] = lambda number: True,
) -> None:
    """Let these signals raise `exception`, as soon as it can reach the caller, while
    `when(number)` is true.
    """
    # signal -> since when it waits for an import to end [s, steady]; the signals that have raised
    waiting: dict[int, float] = {}
    raised: list[int] = []

    def handle(number: int, frame: FrameType | None) -> None:
        if not when(number):
            return
        importing = (
            has_caller(frame, _IMPORT)
            and time.monotonic() - waiting.setdefault(number, time.monotonic()) < LONGEST_IMPORT
        )
        if can_propagate(frame) and not importing:
            waiting.clear()
            raised.append(number)
            raise exception
        _resend(number)

    def lost(unraisable) -> None:
        is_destructor = getattr(unraisable.object, "__name__", "") == "__del__"
        lacks_a_part = isinstance(unraisable.exc_value, AttributeError)
        if isinstance(unraisable.exc_value, exception):
            _resend(raised[-1] if raised else numbers[0])
        elif not (raised and is_destructor and lacks_a_part):
            # else of an object whose constructor the exception has left
            sys.__unraisablehook__(unraisable)

    sys.unraisablehook = lost
    for number in numbers:
        signal.signal(number, handle)


def can_propagate(frame: FrameType | None) -> bool:
    """Return whether what is raised in this frame reaches its callers: none of them, nor itself,
    was called back by LLVM.
    """
    return not has_caller(frame, (_CALLED_BACK,))


def has_caller(frame: FrameType | None, modules: tuple[str, ...]) -> bool:
    """Return whether the frame, or one that called it, is of one of these modules."""
    while frame is not None and frame.f_globals.get("__name__") not in modules:
        frame = frame.f_back
    return frame is not None


@contextmanager
def block(numbers: tuple[int, ...] = (signal.SIGINT,)) -> Iterator[None]:
    """Block these signals in the block: they are delivered afterwards.

    Processes that are started in the block never receive them.

    Ctrl-C goes to all processes of a terminal; those that work for another one leave it to that
    one, which ends them.
    """
    from multiprocessing import resource_tracker

    # it starts with the first process of multiprocessing, and unblocks these signals
    getattr(resource_tracker, "ensure_running", lambda: None)()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, numbers)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _resend(number: int) -> None:
    timer = threading.Timer(AGAIN, os.kill, (os.getpid(), number))
    timer.daemon = True
    timer.start()


class Interruption:
    """A context, `with Interruption() as stop:`, that keeps a signal which ends a command or a
    node in `stop.signal` (0: none) until the block ends.
    """

    def __init__(self) -> None:
        self.signal = 0

    def __enter__(self) -> "Interruption":
        numbers = ending_signals()
        self._before = {number: signal.signal(number, self._note) for number in numbers}
        return self

    def __exit__(self, *_) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _note(self, number: int, _frame) -> None:
        self.signal = number


class CallTimedOut(BaseException):
    """An exception raised inside the call that took too long; no `except Exception` of that code
    keeps it from the caller.
    """


class CallTimeout:
    """A limit on the time of calls: `with CallTimeout(seconds) as calls:`, then `calls.edges += 1`
    before each call and after it.

    One timer checks every `seconds` whether the same call still lasts, so a call costs nothing and
    ends between one and two times that. While Numba compiles for the call, its time does not
    count. Outside the main thread, and inside compiled code, nothing can be ended; but a process
    whose `last_resort` is set ends, with exit code 1, where compiled code lasts longer than that.
    """

    last_resort = 0.0  # [s]; 0: never. For processes that may end.

    def __init__(self, seconds: float):
        self.edges = self._seen = 0  # an odd number of edges: within a call
        self._seconds = seconds
        self._armed = threading.current_thread() is threading.main_thread()

    def __enter__(self) -> "CallTimeout":
        if self._armed:
            self._before = signal.signal(signal.SIGALRM, self._look)
            signal.setitimer(signal.ITIMER_REAL, self._seconds, self._seconds)
            self._put_off_end()
        return self

    def __exit__(self, *_) -> None:
        if self._armed:
            signal.setitimer(signal.ITIMER_REAL, 0.0)
            signal.signal(signal.SIGALRM, self._before)
            if self.last_resort:
                faulthandler.cancel_dump_traceback_later()

    def _put_off_end(self) -> None:
        """Let a thread that needs no interpreter end the process, unless this is called again."""
        if self.last_resort:
            seconds = self._seconds + self.last_resort
            faulthandler.dump_traceback_later(seconds, exit=True, file=_NOWHERE)

    def _look(self, _number, frame) -> None:
        self._put_off_end()
        if has_caller(frame, (_COMPILER,)):
            self._seen = 0  # no call: the first has edge 1
            return
        if self.edges % 2 and self.edges == self._seen and can_propagate(frame):
            raise CallTimedOut
        self._seen = self.edges
