"""Processes that measure: each holds the law under test, so that one that crashes or hangs takes
nothing else with it.
"""

import multiprocessing
import signal
from collections import deque
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection, wait
from typing import Any, NamedTuple

from rbdyn_ros.evaluation.bench import ControllerUnderTest
from rbdyn_ros.evaluation.limits import limit_memory
from rbdyn_ros.interrupts import CallTimeout, block

LAST_RESORT = 30.0  # [s]


class Ended(NamedTuple):
    """The answer in the place of that of a process which has ended."""

    sentence: str


class Workers:
    """`with Workers(n, under_test, serve) as workers:`, where `serve(under_test)` returns, in each
    process, the function from a task to its answer.
    """

    def __init__(self, n: int, under_test: ControllerUnderTest, serve: Callable):
        self._context = multiprocessing.get_context("spawn")
        self._prepared = (under_test, serve)
        self._idle, self._busy = [], {}  # workers; connection -> (process, task)
        self._limit = n

    def __enter__(self) -> "Workers":
        return self

    def __exit__(self, *_) -> None:
        for process in [*(p for p, _ in self._idle), *(p for p, _ in self._busy.values())]:
            process.kill()
            process.join()

    def answers(self, tasks: deque[Any], interval: float = 0.2) -> Iterator[tuple[Any, Any]]:
        """(task, answer) as they come; `tasks` may grow meanwhile. (None, None) every `interval`
        [s] without one.
        """
        while tasks or self._busy:
            while tasks and len(self._busy) < self._limit:
                self._give(tasks.popleft())
            ready = wait(list(self._busy), interval)
            for connection in ready:
                yield self._receive(connection)
            if not ready:
                yield None, None

    def _give(self, task) -> None:
        process, connection = self._idle.pop() if self._idle else self._start()
        connection.send(task)
        self._busy[connection] = process, task

    def _start(self) -> tuple[Any, Any]:
        ours, theirs = self._context.Pipe()
        process = self._context.Process(target=_work, args=(theirs, *self._prepared), daemon=False)
        with block():  # Ctrl-C is for the parent, which ends its workers
            process.start()
        theirs.close()
        return process, ours

    def _receive(self, connection: Any) -> tuple[Any, Any]:
        process, task = self._busy.pop(connection)
        try:
            answer = connection.recv()
        except (EOFError, OSError):
            process.join()
            return task, Ended(f"the process that measured it ended {_how(process.exitcode)}")
        self._idle.append((process, connection))
        return task, answer


def _work(connection: Connection, under_test: ControllerUnderTest, serve: Callable) -> None:
    """The life of a worker, which ends with a law that hangs in compiled code."""
    CallTimeout.last_resort = LAST_RESORT
    with limit_memory():
        answer = serve(under_test)
        while True:
            try:
                task = connection.recv()
            except EOFError:
                return
            connection.send(answer(task))


def _how(code: int) -> str:
    if code < 0:
        return f"by signal {signal.Signals(-code).name}"
    hang = f", as after a command that lasts {LAST_RESORT:g} s in compiled code"
    return f"with exit code {code}{hang if code == 1 else ''}"
