"""The processes of an evaluation: workers that measure, each of which holds the law or has it in
another one, so that a law that crashes or hangs takes nothing else with it.
"""

import multiprocessing
import signal
import socket
import sys
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from multiprocessing.connection import Connection, wait
from typing import Any, NamedTuple

from rbdyn_ros.evaluation.bench import limit_memory
from rbdyn_ros.interrupts import CallTimeout, block
from rbdyn_ros.kernel import show_compilations

GRACE = 1.0  # [s] for a process to end by itself
LAST_RESORT = 30.0  # [s] that compiled code may take beyond the time of a call


def start(target: Callable, *arguments: Any) -> tuple[Any, socket.socket]:
    """Start `target(socket, *arguments)` in a process, and return it with the other socket."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    process = multiprocessing.get_context("spawn").Process(
        target=target, args=(theirs, *arguments), daemon=True
    )
    with block():  # Ctrl-C is for the parent, which ends its processes
        process.start()
    theirs.close()
    return process, ours


def describe_exit(process: Any) -> str:
    """Return how a process ended that answers no more, in words that follow its name."""
    process.join(2.0)
    if process.exitcode is None:
        process.kill()
        return "did not answer in time"
    if process.exitcode < 0:
        return f"ended by signal {signal.Signals(-process.exitcode).name}"
    hang = f", as after a call that lasts {LAST_RESORT:g} s too long in compiled code"
    return f"ended with exit code {process.exitcode}{hang if process.exitcode == 1 else ''}"


def end(processes: Iterable[Any]) -> None:
    """End processes whose connections are closed. They end by themselves, and so close what a law
    has opened, such as tqdm's semaphores; one that hangs is killed.
    """
    last = time.monotonic() + GRACE
    for process in processes:
        process.join(max(0.0, last - time.monotonic()))
        process.kill()
        process.join()


class Ended(NamedTuple):
    """The answer in place of that of a process that has ended."""

    sentence: str


class Workers:
    """Worker processes of `with Workers(n, under_test, serve) as workers:`, where
    `serve(under_test)` returns, in each process, the function from a task to its answer.
    """

    def __init__(self, n: int, under_test: Any, serve: Callable):
        self._context = multiprocessing.get_context("spawn")
        self._prepared = under_test, serve
        self._idle, self._busy = [], {}  # workers; connection -> (process, task)
        self._limit = n

    def __enter__(self) -> "Workers":
        return self

    def __exit__(self, *_) -> None:
        busy = [(process, connection) for connection, (process, _) in self._busy.items()]
        for process, _ in busy:
            process.kill()
        for _, connection in self._idle:
            connection.close()
        end(process for process, _ in [*self._idle, *busy])

    def answers(self, tasks: deque[Any], interval: float = 0.2) -> Iterator[tuple[Any, Any]]:
        """Yield (task, answer) as they come, or (None, None) every `interval` [s] without one;
        `tasks` may grow meanwhile.
        """
        while tasks or self._busy:
            while tasks and len(self._busy) < self._limit:
                process, connection = self._idle.pop() if self._idle else self._start()
                self._busy[connection] = process, tasks.popleft()
                connection.send(self._busy[connection][1])
            ready = wait(list(self._busy), interval)
            for connection in ready:
                yield self._receive(connection)
            if not ready:
                yield None, None

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
            return task, Ended(f"the process that measured it {describe_exit(process)}")
        self._idle.append((process, connection))
        return task, answer


def _work(connection: Connection, last_resort: float, under_test: Any, serve: Callable) -> None:
    """Answer tasks until the connection is closed; a law that hangs in compiled code ends the
    process.
    """
    CallTimeout.last_resort = last_resort
    show_compilations(sys.stderr)
    with limit_memory():
        _answer(connection, serve(under_test))
    end(multiprocessing.active_children())  # those of its laws, whose connections are closed now


def _answer(connection: Connection, answer: Callable) -> None:
    """Answer tasks until the connection is closed."""
    while True:
        try:
            task = connection.recv()
        except (EOFError, ConnectionError):
            return
        answered = answer(task)
        try:
            connection.send(answered)
        except ConnectionError:  # whoever asked has been killed meanwhile
            return
