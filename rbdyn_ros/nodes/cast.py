"""The processes in which the demo's nodes run."""

import os
import signal
import subprocess
import sys
from pathlib import Path

ONE, TWO = (("simulator", "controller"),), (("simulator",), ("controller",))  # nodes per process
PATIENCE = 5.0  # [s] to end in good order


class Cast:
    """Simulator and controller, in one process or in two; all that they say goes into the file `log`."""

    def __init__(self, groups: tuple, parameters: list, log: Path):
        """`parameters`: words of the ROS command line, the same for all, so that they see one pendulum."""
        self._log, self._processes = log, []
        with open(log, "w") as said:
            for names in groups:
                command = [sys.executable, "-m", "rbdyn_ros.nodes.attached", str(os.getpid()), *names, "--ros-args", *parameters]
                self._processes.append(subprocess.Popen(command, stdout=said, stderr=said, stdin=subprocess.DEVNULL, start_new_session=True))

    def ended(self) -> str:
        """Why one of them is gone, in its own words; "" while all are there."""
        gone = [process for process in self._processes if process.poll() is not None]
        return self._last_words() if gone else ""

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

    def _last_words(self) -> str:
        lines = self._log.read_text(errors="replace").strip().splitlines()
        errors = [line for line in lines if line.startswith("rbdyn_ros: ") or "[ERROR]" in line or "[FATAL]" in line]
        last = (errors or lines or ["nothing was said"])[0 if errors else -1]
        return f"a node ended: {last.removeprefix('rbdyn_ros: ')} (see {self._log})"
