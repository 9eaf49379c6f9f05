"""Launch a file as `ros2 launch` does."""

import os
import signal
import subprocess
import sys
from contextlib import suppress

import pytest
from domain import alone

from .launches import LAUNCH, RUN


@pytest.fixture
def launch(tmp_path):
    """Launch a file in an empty folder, in a ROS domain of its own; whatever is left of it is
    ended.
    """
    started = []

    def start(name: str, *arguments: str, domain: dict | None = None) -> subprocess.Popen:
        command = [sys.executable, "-c", RUN, str(LAUNCH / name), *arguments]
        environment = {**os.environ, **(domain or alone())}
        with open(tmp_path / "said", "a" if domain else "w") as log:
            output = dict(stdout=log, stderr=subprocess.STDOUT)
            started.append(
                subprocess.Popen(
                    command, env=environment, cwd=tmp_path, start_new_session=True, **output
                )
            )
        return started[-1]

    yield start
    for process in started:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
