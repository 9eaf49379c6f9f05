"""Nothing is compiled, nor read from the cache, in a running loop, whatever happens there
first.
"""

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip(
    "rclpy", reason="rclpy is not importable: no ROS 2 here (./testbed test brings it)"
)


def test_what_happens_to_running_nodes_loads_no_kernel(tmp_path):
    """In a new process: this one has loaded most of them already."""
    probe = Path(__file__).with_name("rehearsal_probe.py")
    done = subprocess.run(
        [sys.executable, probe, tmp_path], capture_output=True, text=True, timeout=500
    )
    assert done.returncode == 0, done.stderr[-3000:]
    found = json.loads(done.stdout.splitlines()[-1])
    assert len(found) == 13 and not any(found.values()), found
