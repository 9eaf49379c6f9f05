"""Nodes in processes of their own that may be killed and started anew."""

import os
import signal
import subprocess
import sys
from pathlib import Path

PATIENCE = 5.0  # [s] to end in good order


class Crew:
    """Each node in its process; all that it says is appended to the file <name>.log of
    `folder`.
    """

    def __init__(self, words: list, folder: Path):
        """`words`: of the ROS command line, the same for all."""
        self._words, self._folder = words, folder
        self.processes = {}  # name -> Popen

    def start(self, name: str, *words: str) -> None:
        """Start a node; `words` come after those for all."""
        command = [
            sys.executable,
            "-m",
            "rbdyn_ros.ros.attached",
            str(os.getpid()),
            name,
            "--ros-args",
            *self._words,
            *words,
        ]
        with open(self.log(name), "a") as said:
            self.processes[name] = subprocess.Popen(
                command, stdout=said, stderr=said, stdin=subprocess.DEVNULL, start_new_session=True
            )

    def kill(self, name: str) -> None:
        """End a node as a crash does: it is not asked."""
        self.processes[name].kill()
        self.processes[name].wait()

    def gone(self) -> str:
        """The names of those who ended without being asked, "" mostly."""
        return ", ".join(
            name for name, process in self.processes.items() if process.poll() is not None
        )

    def end(self) -> None:
        """Ask all to end, and end those that do not."""
        for process in self.processes.values():
            process.send_signal(signal.SIGINT)
        for process in self.processes.values():
            try:
                process.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def log(self, name: str) -> Path:
        """Where a node's words go."""
        return self._folder / f"{name}.log"
