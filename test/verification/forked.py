"""Nodes in processes of their own, forked from a process that has imported what nodes need: the
imports are half of the processor time of a start.
"""

import os
import signal
import subprocess
import sys
from importlib import import_module
from multiprocessing import get_context
from pathlib import Path

from rbdyn_ros.ros.start import NODES

SERVER = get_context("forkserver")
SERVER.set_forkserver_preload(
    [f"rbdyn_ros.ros.{NODES[name][0]}" for name in ("simulator", "controller", "recorder")]
)


class Forked:
    """A module's `main()` in a process, used as a `subprocess.Popen`; its output goes to a file.

    What starts the first such process gives them all its handling of signals.
    """

    def __init__(self, module: str, words: tuple[str, ...], log: Path):
        log.write_text("")  # it is there as soon as the process is
        given = (module, words, str(log), dict(os.environ))
        self._process = SERVER.Process(target=_run, args=given, daemon=True)
        self._process.start()
        self.pid = self._process.pid

    @property
    def returncode(self) -> int | None:
        """The exit code, once it is known; -N after the signal N."""
        return self._process.exitcode

    def poll(self) -> int | None:
        """Return the exit code; None while the process runs."""
        return self._process.exitcode

    def wait(self, timeout: float | None = None) -> int:
        """Return the exit code at the end. Raise TimeoutExpired after so long [s]."""
        self._process.join(timeout)
        if self._process.exitcode is None:
            raise subprocess.TimeoutExpired(self._process.name, timeout or 0.0)
        return self._process.exitcode

    def send_signal(self, number: int) -> None:
        """Send a signal, unless the process has ended."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        """Send SIGTERM."""
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """Send SIGKILL."""
        self.send_signal(signal.SIGKILL)


def _run(module: str, words: tuple[str, ...], log: str, environment: dict[str, str]) -> None:
    """Be `python -m rbdyn_ros.ros.MODULE WORDS` in this environment."""
    os.environ.clear()
    os.environ.update(environment)
    with open(log, "w") as output:
        for number in (1, 2):
            os.dup2(output.fileno(), number)
    sys.argv = [module, *words]
    sys.exit(import_module(f"rbdyn_ros.ros.{module}").main())
