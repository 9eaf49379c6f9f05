"""`evaluate --over-ros`: a node that knows nothing of this package, and our own, are scored over real topics."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("rclpy", reason="rclpy is not importable: no ROS 2 here (./testbed test brings it)")

ROOT = Path(__file__).parents[2]
ROWS = """\
rows:
  near: {measure: release, settings: {tilt: 5}, require: [settling_time <= 3.5]}
  late: {measure: release, settings: {tilt: 5, faults: {command: {delay: 0.3}}, duration: 3}, require: [settling_time <= 3.5]}
  step: {measure: step_response, settings: {distance: 0.2}, require: [settling_time <= 3.5]}
  push: {measure: release, law: {lqr: {force_weight: 3}}, require: [settling_time <= 3.5]}
"""


def evaluate(folder: Path, *arguments) -> subprocess.CompletedProcess:
    (folder / "rows.yaml").write_text(ROWS)
    command = [sys.executable, "-m", "rbdyn_ros", "evaluate", "--controller", "mine", "--suite", str(folder / "rows.yaml"), "--over-ros"]
    command += ["--external", "--out", str(folder / "out"), *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300.0)


def test_a_node_of_ones_own_is_scored(tmp_path):
    """The newcomer's node of examples/, with the regulator's gains: it settles as the regulator does."""
    node = subprocess.Popen([sys.executable, str(ROOT / "examples" / "balancer_node.py")])
    try:
        done = evaluate(tmp_path)
    finally:
        node.kill()  # how it ends is not ours
        node.wait()
    rows = {row["row"]: row for row in json.loads((tmp_path / "out" / "evaluation.json").read_text())["rows"]}
    verdicts = {name: row["verdict"] for name, row in rows.items()}
    assert verdicts == {"near": "holds", "late": "misses", "step": "holds", "push": "not for this kind of law"}, done.stderr
    assert rows["near"]["cases"][0]["values"]["settling_time"] == pytest.approx(2.8, abs=0.4)
    assert rows["push"]["cases"][0]["note"] == "the options of a node are its own"
    assert done.returncode == 1


@pytest.mark.parametrize("pace", [[], ["--real-time"]], ids=["lockstep", "real-time"])
def test_our_own_node_is_started_and_scored(tmp_path, pace):
    """From one degree, so that a processor that is away for half a second in real time does not cost the rod."""
    (tmp_path / "rows.yaml").write_text("rows:\n  near: {measure: release, settings: {tilt: 1}, require: [settling_time <= 10, travel <= 0.7]}\n")
    command = [sys.executable, "-m", "rbdyn_ros", "evaluate", "--controller", "lqr", "--suite", str(tmp_path / "rows.yaml")]
    command += ["--over-ros", "--out", str(tmp_path / "out"), *pace]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300.0)
    assert done.returncode == 0, done.stdout + done.stderr
    (case,) = json.loads((tmp_path / "out" / "evaluation.json").read_text())["rows"][0]["cases"]
    assert case["values"]["settling_time"] > 0.5 and case["values"]["travel"] > 0.02  # the rod was let go, and caught
    assert "law: lqr" in (tmp_path / "out" / "controller.log").read_text()


def test_nobody_answers(tmp_path, monkeypatch):
    monkeypatch.setenv("ROS_DOMAIN_ID", "101")
    done = evaluate(tmp_path, "--patience", "0.5", "--waiting", "1")
    assert done.returncode == 2
    assert "no command came on cart/command within 1 s; start your controller in the same ROS_DOMAIN_ID" in done.stderr
