"""The processes in which the demo's nodes run."""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

from rbdyn_ros import tracebacks

ONE, TWO = (("simulator", "controller"),), (("simulator",), ("controller",))  # nodes per process
_TIMED = re.compile(
    r"^\[(?:ERROR|FATAL)\] \[[\d.]+\] (?:\[[^]]*\]: )?"
)  # what a logger writes before the sentence
PATIENCE = 5.0  # [s] to end in good order


class Cast:
    """Simulator and controller, in one process or in two; all that they say goes into the file
    `log`.
    """

    def __init__(self, groups: tuple, parameters: list, log: Path):
        """`parameters`: words of the ROS command line, the same for all, so that they see one
        pendulum.
        """
        self._log, self._groups, self._processes = log, groups, []
        with open(log, "w") as said:
            for names in groups:
                command = [
                    sys.executable,
                    "-m",
                    "rbdyn_ros.ros.attached",
                    str(os.getpid()),
                    *names,
                    "--ros-args",
                    *parameters,
                ]
                self._processes.append(
                    subprocess.Popen(
                        command,
                        stdout=said,
                        stderr=said,
                        stdin=subprocess.DEVNULL,
                        start_new_session=True,
                    )
                )

    def ended(self) -> str:
        """Which of them is gone, and why, in its own words; "" while all are there."""
        for names, process in zip(self._groups, self._processes):
            if process.poll() is not None:
                who = " and the ".join(name.replace("_", " ") for name in names)
                were = "were" if len(names) > 1 else "was"
                return f"the {who} {self._how(process.returncode, were)} (see {self._log})"
        return ""

    def end(self) -> None:
        """Ask all to end, and end those that do not."""
        for process in self._processes:
            process.send_signal(signal.SIGINT)
        for process in self._processes:
            try:
                process.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def _how(self, code: int, were: str) -> str:
        """The way a process ended, from its exit code and its log."""
        log = self._log.read_text(errors="replace").strip()
        if code < 0:
            return f"{were} ended by {signal.Signals(-code).name}{tracebacks.place_of_crash(log)}"
        lines = log.splitlines()
        errors = [
            line
            for line in lines
            if line.startswith("rbdyn_ros: ") or "[ERROR]" in line or "[FATAL]" in line
        ]
        if errors:
            return f"ended: {_TIMED.sub('', errors[0]).removeprefix('rbdyn_ros: ')}"
        return f"ended with exit code {code}; its last line is: {lines[-1] if lines else 'none'}"
