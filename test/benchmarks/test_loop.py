"""The processes that `benchmarks/loop.py` starts measure the figures that it prints."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip(
    "rclpy", reason="rclpy is not importable: no ROS 2 here (./testbed test brings it)"
)

from domain import alone  # noqa: E402

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
sys.path.insert(0, str(BENCHMARKS))

import loop  # noqa: E402


@pytest.mark.parametrize("who", [loop.OURS, loop.PEER])
def test_a_process_that_is_measured_gives_the_figures(who):
    words = [sys.executable, BENCHMARKS / who, "1", "0.5", "1.0"]
    environment = {**os.environ, **alone()}
    done = subprocess.run(words, env=environment, stdout=subprocess.PIPE, timeout=120)
    assert done.returncode == 0
    figures = json.loads(done.stdout)
    assert all(figures[name] >= 0.0 for name in ("period_p99_ms", "round_trip_p50_ms"))
