"""Signals that end a command or a node, and a limit on the time of a law's calls.

Work that must end in order keeps a signal in an `Interruption` and looks at it. Everywhere else
the signal ends the process from its handler, after `clean_up`; nothing is raised.
"""

import contextlib
import faulthandler
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing import resource_tracker
from typing import Any, TypeVar

T = TypeVar("T")
SIGNALS = (signal.SIGINT, signal.SIGTERM)  # that end a command
_NOWHERE = open(os.devnull, "w")  # noqa: SIM115 for the stacks of processes that are ended
_cleanups: list[Callable[[], object]] = []


def ending_signals() -> tuple[int, ...]:
    """Return the signals that end a node; SIGHUP, of a terminal that is closed, unless `nohup`
    ignores it.
    """
    is_ignored = signal.getsignal(signal.SIGHUP) == signal.SIG_IGN
    return SIGNALS if is_ignored else (*SIGNALS, signal.SIGHUP)


@contextmanager
def at_end(cleanup: Callable[[], object]) -> Iterator[None]:
    """Call `cleanup()` at the end of the block, also where a signal ends the process in it."""
    _cleanups.append(cleanup)
    try:
        yield
    finally:
        _cleanups.remove(cleanup)
        cleanup()


def clean_up() -> None:
    """End the processes that work for this one, and leave nothing of the open blocks of
    `at_end`.
    """
    for cleanup in (*(child.kill for child in multiprocessing.active_children()), *_cleanups):
        with contextlib.suppress(Exception):  # the signal may have come within the same call
            cleanup()


@contextmanager
def block() -> Iterator[None]:
    """Keep Ctrl-C from the processes that are started in the block: it goes to all processes of a
    terminal, and those that work for another one leave it to that one, which ends them.

    They inherit that it is blocked, as do threads that are started in the block and the processes
    that these start. Here it is delivered afterwards, or at once where a thread takes it that was
    started before.
    """
    resource_tracker.ensure_running()  # whose start, with that of a first process, unblocks it
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


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
    """A limit on the time of calls: `with CallTimeout(seconds) as calls:`, then
    `calls(function, *arguments)`.

    One timer checks every `seconds` whether the same call still lasts, so a call costs little and
    ends between one and two times that. While Numba compiles, time does not count, and nothing is
    raised: LLVM calls back into Python, from where no exception reaches the caller. Outside the
    main thread, and inside compiled code, nothing can be ended; but a process whose `last_resort`
    is set ends, with exit code 1, where compiled code lasts longer than that. A process has one
    such timer: that of an outer limit stands still meanwhile.
    """

    last_resort = 0.0  # [s]; 0: never. For processes that may end.

    def __init__(self, seconds: float):
        self._edges = self._seen = 0  # begins and ends; an odd number: within a call
        self._seconds = seconds
        self._armed = threading.current_thread() is threading.main_thread()

    def __call__(self, function: Callable[..., T], *arguments: Any) -> T:
        """Return what the function returns. Raise CallTimedOut if that takes too long."""
        self._edges += 1
        try:
            return function(*arguments)
        finally:
            self._edges += 1

    def __enter__(self) -> "CallTimeout":
        if self._armed:
            from rbdyn_ros.numerics.kernel_progress import is_compiling  # commands without kernels

            self._is_compiling = is_compiling
            self._before = signal.signal(signal.SIGALRM, self._look)
            self._timer = signal.setitimer(signal.ITIMER_REAL, self._seconds, self._seconds)
            self._put_off_end()
        return self

    def __exit__(self, *_) -> None:
        if self._armed:
            signal.setitimer(signal.ITIMER_REAL, 0.0)
            signal.signal(signal.SIGALRM, self._before)
            signal.setitimer(signal.ITIMER_REAL, *self._timer)
            if self.last_resort:
                faulthandler.cancel_dump_traceback_later()

    def _put_off_end(self) -> None:
        """Let a thread that needs no interpreter end the process, unless this is called again."""
        if self.last_resort:
            seconds = self._seconds + self.last_resort
            faulthandler.dump_traceback_later(seconds, exit=True, file=_NOWHERE)

    def _look(self, _number, _frame) -> None:
        self._put_off_end()
        if self._is_compiling():
            self._seen = 0  # no call: the first has edge 1
        elif self._edges % 2 and self._edges == self._seen:
            raise CallTimedOut
        else:
            self._seen = self._edges
