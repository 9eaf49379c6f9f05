"""Changes of parameters whose kernels are not in memory, while a node is configured.

Kernels of the cache are loaded in a thread, for a fraction of a second, and the service answers
after that. Kernels that the cache lacks are compiled in a process of low priority, which fills the
cache: a thread of this process would keep the interpreter for up to 1.4 s at a time. The service
answers at once that the change is not made yet; it is made by itself then. The activation of an
inactive node waits for it.

Private interface: executors of rclpy send what a service's callback returns by its method
`send_response`, which is replaced here, so that a response may follow later.
Tested with rclpy 7.1.6 (Jazzy).
Fallback: where an executor does not call it, a request whose kernels have to be loaded has no
response.
"""

import os
import pickle
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any, NamedTuple

from rcl_interfaces.msg import SetParametersResult
from rcl_interfaces.srv import SetParameters, SetParametersAtomically
from rclpy.node import Node

from rbdyn_ros import tracebacks
from rbdyn_ros.kernel_sources import CACHE, MEMORY, KernelMissing, only_from

NICE = 10  # of the process that compiles
_LATER = (
    "not set yet, as its machine code is not on this machine: it is compiled beside the running "
    "node, for a minute or two, and set by itself then (the log says when)"
)


class _Deferred(NamedTuple):
    """What a callback returns in place of a response: the request, and its changes that wait."""

    request: Any
    changes: dict[str, Any]


class DelayedChanges:
    """The changes of one node that wait for their kernels."""

    def __init__(self, node: Node, parameters: Any, prepare: Callable[[dict[str, Any]], object]):
        """Wrap the services of the node that set its `Parameters`; `prepare(values)` brings all
        kernels into memory.
        """
        self._node, self._parameters, self._prepare = node, parameters, prepare
        self._missing: dict[str, Any] = {}  # of the request that is being answered
        self._waiting: dict[str, Any] = {}  # for the compiler
        self._thread: threading.Thread | None = None
        self._process: subprocess.Popen | None = None
        self._failed, self._closed = "", False
        for service in node.services:
            if service.srv_type in (SetParameters, SetParametersAtomically):
                self._wrap(service)

    def add(self, changes: dict[str, Any]) -> str:
        """Note changes that lack a kernel; return the reason for the response."""
        self._missing.update(changes)
        return f"{', '.join(changes)}: {_LATER}"

    def drop(self, names: Iterable[str]) -> None:
        """Forget waiting changes of parameters that are set anew."""
        for name in names:
            self._waiting.pop(name, None)

    def settle(self) -> None:
        """Wait for the compiler, and set what waits for it."""
        if self._thread and self._waiting:
            names = ", ".join(self._waiting)
            self._node.get_logger().info(f"{names}: waiting until its machine code is compiled")
            self._thread.join()
            self._finish(self._failed)

    def close(self) -> None:
        """End the process that compiles."""
        self._closed = True
        if self._process:
            self._process.kill()

    def _wrap(self, service: Any) -> None:
        """Let a service of a configured node answer later where kernels have to be loaded."""
        answer: Callable[[Any, Any], Any] = service.callback
        send = service.send_response

        def attempt(request):
            self._missing = {}
            with only_from(MEMORY):
                return answer(request, service.srv_type.Response())

        def callback(request, response):
            if not getattr(self._node, "configured", True):
                return answer(request, response)
            done = attempt(request)
            return _Deferred(request, self._missing) if self._missing else done

        def send_response(response, header) -> None:
            if not isinstance(response, _Deferred):
                send(response, header)
                return

            def again() -> None:
                done = attempt(response.request)
                if self._missing:
                    self._compile(self._missing)
                send(done, header)

            values = {**self._parameters.values, **response.changes}
            threading.Thread(target=self._load, args=(values, again), daemon=True).start()

        service.callback, service.send_response = callback, send_response

    def _load(self, values: dict[str, Any], then: Callable[[], None]) -> None:
        """Load what the cache has, and call `then()` in the executor, which finds what is wrong
        with the values.
        """
        try:
            with only_from(CACHE):
                self._prepare(values)
        except (Exception, KernelMissing):
            pass

        def run() -> None:
            if not self._closed:
                then()

        if not self._closed and self._node.executor:
            self._node.executor.create_task(run)

    def _compile(self, changes: dict[str, Any]) -> None:
        self._waiting.update(changes)
        self._node.get_logger().warning(f"{', '.join(changes)}: {_LATER}")
        if self._thread is None:
            values = {**self._parameters.values, **self._waiting}
            self._thread = threading.Thread(target=self._work, args=(values,), daemon=True)
            self._thread.start()

    def _work(self, values: dict[str, Any]) -> None:
        self._process = process = subprocess.Popen(
            [sys.executable, "-m", __name__],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            start_new_session=True,  # Ctrl-C of the terminal is for the node, which ends it
        )
        assert process.stdin and process.stderr
        said = ""
        with suppress(BrokenPipeError), process.stdin:  # where it was killed
            process.stdin.write(pickle.dumps((self._prepare, values)))
            process.stdin.flush()
            said = process.stderr.read().decode().strip()  # until it ends
        self._failed = said if process.wait() else ""
        me = threading.current_thread()
        self._load(values, lambda: self._finish(self._failed) if self._thread is me else None)

    def _finish(self, failed: str) -> None:
        """Set what waits, or say why that is not possible."""
        self._thread, self._process, self._missing = None, None, {}
        changes, self._waiting = self._waiting, {}
        if not changes:
            return
        with only_from(MEMORY):
            result: SetParametersResult = self._parameters.set(changes)
        if self._missing and not failed:
            failed = "the cache of Numba did not keep its machine code; give it at the start"
        names, log = ", ".join(changes), self._node.get_logger()
        if result.successful:
            log.info(f"{names}: compiled, and set now")
        else:
            log.error(f"{names}: not set: {failed or result.reason}")


def _end_with_parent() -> None:
    """End this process where the standard input ends: its parent, which keeps it open, is gone."""
    os.read(sys.stdin.fileno(), 1)  # past the buffer, whose lock the end of Python needs
    os._exit(1)


def main() -> int:
    """Prepare what is pickled on the standard input; return 1, with the reason, if it fails."""
    os.nice(NICE)
    prepare, values = pickle.load(sys.stdin.buffer)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    try:
        prepare(values)
    except Exception as error:
        print(tracebacks.sentence(error), file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
