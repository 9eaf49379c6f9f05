"""Nodes in processes of their own, which can be killed and started again."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from rbdyn_ros import tracebacks
from rbdyn_ros.interrupts import Interruption

# What a logger writes before the sentence
_PREFIX = re.compile(r"^\[(?:ERROR|FATAL)\] \[[\d.]+\] (?:\[[^]]*\]: )?")
COMING_UP = 180.0  # [s] that nodes may take: the first start on a machine compiles
SHUTDOWN_TIMEOUT = 5.0  # [s] from SIGINT to SIGKILL


def ros_words(files: Iterable[str | Path], settings: Iterable[str] = ()) -> list[str]:
    """Return the words of a ROS command line: parameter files, and settings "name:=value" over
    them.
    """
    words = [word for file in files for word in ("--params-file", str(file))]
    return words + [word for setting in settings for word in ("-p", setting)]


class NodeProcesses:
    """Processes with one or several nodes each; their output goes into log files."""

    def __init__(self, parameters: Sequence[str], log: Path):
        """Store the `parameters`, words of the ROS command line, the same for all processes.

        `log` is a folder, to which each process appends its file <name>.log, or else one file for
        all, which begins empty.
        """
        self._parameters, self._log = tuple(parameters), log
        self.processes: dict[str, subprocess.Popen] = {}  # by the names of its nodes
        if not log.is_dir():
            log.write_text("", "utf-8")

    def start(self, *nodes: str, arguments: Sequence[str] = ()) -> None:
        """Start a process with these nodes; its `arguments` follow those for all processes. Only
        the main thread may do it.
        """
        name = " and the ".join(node.replace("_", " ") for node in nodes)
        command = [sys.executable, "-m", "rbdyn_ros.ros.start", str(os.getpid()), *nodes]
        # a signal waits: it must not find a process that `end` does not know
        with open(self.log(name), "a", encoding="utf-8") as output, Interruption() as stop:
            self.processes[name] = subprocess.Popen(
                [*command, "--ros-args", *self._parameters, *arguments],
                stdout=output,
                stderr=output,
                stdin=subprocess.DEVNULL,
                start_new_session=True,
            )
        if stop.signal:
            signal.raise_signal(stop.signal)

    def failure(self) -> str:
        """Return one sentence on the first process that has ended, and why; "" if none has."""
        for name, process in self.processes.items():
            if process.poll() is not None:
                were = "were" if " and the " in name else "was"
                reason = self._reason(name, process.returncode, were)
                return f"the {name} {reason} (see {self.log(name)})"
        return ""

    def end(self) -> None:
        """Interrupt all processes, and kill those that do not end."""
        for process in self.processes.values():
            process.send_signal(signal.SIGINT)
        for process in self.processes.values():
            try:
                process.wait(SHUTDOWN_TIMEOUT)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def log(self, name: str) -> Path:
        """Return the file with the output of a process."""
        return self._log / f"{name.replace(' ', '_')}.log" if self._log.is_dir() else self._log

    def _reason(self, name: str, code: int, were: str) -> str:
        """Return how a process ended, from its exit code and its log."""
        log = self.log(name).read_text("utf-8", "replace").strip()
        if code < 0:
            return f"{were} ended by {signal.Signals(-code).name}{tracebacks.place_of_crash(log)}"
        lines = log.splitlines()
        for line in lines:
            if line.startswith("rbdyn_ros: ") or "[ERROR]" in line or "[FATAL]" in line:
                return f"ended: {_PREFIX.sub('', line).removeprefix('rbdyn_ros: ')}"
        return f"ended with exit code {code}; its last line is: {lines[-1] if lines else 'none'}"
