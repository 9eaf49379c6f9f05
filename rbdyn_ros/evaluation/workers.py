"""Processes that measure: each holds the law under test, so that one that crashes or hangs takes
nothing else with it.
"""

import multiprocessing
import signal
from collections import deque
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection, wait
from typing import Any, NamedTuple

from rbdyn_ros.evaluation import bench
from rbdyn_ros.evaluation.bench import load
from rbdyn_ros.interrupts import CallTimeout, block

LAST_RESORT = 30.0  # [s] that compiled code may take beyond the time of a call


class Ended(NamedTuple):
    """The answer in the place of that of a process which has ended."""

    sentence: str


class Workers:
    """`with Workers(n, under_test, serve) as workers:`, where `serve(under_test)` returns, in each
    process, the function from a task to its answer.
    """

    def __init__(self, n: int, under_test: Any, serve: Callable, does: str = "measured it"):
        self._context = multiprocessing.get_context("spawn")
        self._prepared, self._does = (under_test, serve), does
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
        process = self._context.Process(
            target=_work, args=(theirs, LAST_RESORT, *self._prepared), daemon=False
        )
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
            return task, Ended(f"the process that {self._does} ended {_how(process.exitcode)}")
        self._idle.append((process, connection))
        return task, answer


def try_to_load(name: str) -> None:
    """Load the law `name` in a process of its own first, which ends where the law crashes it or
    hangs in compiled code, as no other process could then. ValueError, in a sentence.
    """
    with Workers(1, (name, bench.LONGEST), _loader, "loaded it") as workers:
        for task, answer in workers.answers(deque(["load"])):
            if isinstance(answer, Ended):
                raise ValueError(f"controller '{name}' does not load: {answer.sentence}")
            if task and answer:
                raise ValueError(answer)


def _loader(asked: tuple[str, float]) -> Callable[[str], str]:
    """What answers why a law does not load; "": it does."""

    def answer(_task: str) -> str:
        try:
            load(*asked)
        except ValueError as error:
            return str(error)
        return ""

    return answer


def _work(connection: Connection, last_resort: float, under_test: Any, serve: Callable) -> None:
    """The life of a worker, which ends with a law that hangs in compiled code."""
    CallTimeout.last_resort = last_resort
    with bench.limit_memory():
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
    hang = f", as after a call that lasts {LAST_RESORT:g} s too long in compiled code"
    return f"with exit code {code}{hang if code == 1 else ''}"
