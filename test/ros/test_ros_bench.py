"""`evaluate --over-ros`: a node that knows nothing of this package, and our own, are scored over
real topics.
"""

import json
import re
import subprocess
import sys
import threading
from pathlib import Path

import pytest

pytest.importorskip(
    "rclpy", reason="rclpy is not importable: no ROS 2 here (./testbed test brings it)"
)

from domain import alone  # noqa: E402

ROOT = Path(__file__).parents[2]
ROWS = """\
rows:
  near: {measure: release, settings: {tilt: 5}, require: [settling_time <= 3.5]}
  late:
    measure: release
    settings: {tilt: 5, faults: {command: {delay: 0.3}}, duration: 3}
    require: [settling_time <= 3.5]
  step: {measure: step_response, settings: {distance: 0.2}, require: [settling_time <= 3.5]}
  push: {measure: release, law: {lqr: {force_weight: 3}}, require: [settling_time <= 3.5]}
"""


def evaluate(folder: Path, *arguments, rows: str = ROWS) -> subprocess.CompletedProcess:
    (folder / "rows.yaml").write_text(rows)
    command = [
        sys.executable,
        "-m",
        "rbdyn_ros",
        "evaluate",
        "--controller",
        "mine",
        "--suite",
        str(folder / "rows.yaml"),
        "--over-ros",
    ]
    command += ["--external", "--out", str(folder / "out"), *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300.0)


def test_a_node_of_ones_own_is_scored(tmp_path):
    """The newcomer's node of examples/, with the regulator's gains: it settles as the regulator
    does.
    """
    node = subprocess.Popen([sys.executable, str(ROOT / "examples" / "balancer_node.py")])
    try:
        done = evaluate(tmp_path)
    finally:
        node.kill()  # how it ends is not ours
        node.wait()
    rows = {
        row["row"]: row
        for row in json.loads((tmp_path / "out" / "evaluation.json").read_text())["rows"]
    }
    verdicts = {name: row["verdict"] for name, row in rows.items()}
    assert verdicts == {
        "near": "holds",
        "late": "misses",
        "step": "holds",
        "push": "open",
    }, done.stderr
    assert rows["near"]["cases"][0]["values"]["settling_time"] == pytest.approx(2.8, abs=0.4)
    assert rows["push"]["cases"][0]["note"] == "the options of a node are its own"
    assert done.returncode == 1


@pytest.mark.parametrize("pace", [[], ["--real-time"]], ids=["lockstep", "real-time"])
def test_our_own_node_is_started_and_scored(tmp_path, pace):
    """From one degree, so that a processor that is away for half a second in real time does not
    cost the rod.
    """
    (tmp_path / "rows.yaml").write_text(
        "rows:\n  near: {measure: release, settings: {tilt: 1}, require: [settling_time <= 10, "
        "travel <= 0.7]}\n"
        "  pushed: {measure: uptime, settings: {tilt: 1, duration: 4, runs: 1, interval: 1, "
        "largest: 0.1}, require: [uptime >= 90]}\n"
    )
    command = [
        sys.executable,
        "-m",
        "rbdyn_ros",
        "evaluate",
        "--controller",
        "lqr",
        "--suite",
        str(tmp_path / "rows.yaml"),
    ]
    command += ["--over-ros", "--out", str(tmp_path / "out"), *pace]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300.0)
    assert done.returncode == 0, done.stdout + done.stderr
    rows = json.loads((tmp_path / "out" / "evaluation.json").read_text())["rows"]
    near, pushed = (row["cases"][0]["values"] for row in rows)
    # the rod was let go, and caught
    assert near["settling_time"] > 0.5 and near["travel"] > 0.02
    assert pushed["pushes"] >= 2
    assert "law: lqr" in (tmp_path / "out" / "controller.log").read_text()


SLOW = """
import sys, time
import rclpy
sys.path.insert(0, sys.argv[1])
import balancer_node

class Slow(balancer_node.Balancer):
    def answer(self):
        time.sleep(0.02)
        super().answer()

balancer_node.Balancer = Slow
balancer_node.main()
"""


def test_a_slow_node_is_given_time_estimates(tmp_path, monkeypatch):
    """100 commands of 40 ms: four seconds in one run, and lines that say how far it is."""
    for name, value in alone().items():
        monkeypatch.setenv(name, value)
    settings = "{tilt: 2, duration: 0.2}"
    rows = f"rows:\n  A: {{measure: release, settings: {settings}, require: [travel <= 2]}}\n"
    node = subprocess.Popen([sys.executable, "-c", SLOW, str(ROOT / "examples")])
    try:
        done = evaluate(tmp_path, "--patience", "20", "--waiting", "100", rows=rows)
    finally:
        node.kill()
        node.wait()
    assert done.returncode == 0, done.stdout + done.stderr
    seen = re.findall(
        r"(\d\.\d\d) of 0\.2 s simulated, at most (\d+):(\d\d) min to go in this run", done.stderr
    )
    assert seen and all(
        0.0 < float(simulated) <= 0.2 and int(minutes) < 30 for simulated, minutes, _ in seen
    )


def wrench(x: float, frame: str = "world"):
    """A command that repeats no stamp: it is rejected for another reason before."""
    from geometry_msgs.msg import WrenchStamped

    command = WrenchStamped()
    command.header.frame_id, command.wrench.force.x = frame, x
    return command


def rejected_commands() -> list:
    from std_msgs.msg import Float64MultiArray

    return [
        (
            "cart/command",
            wrench(float("nan")),
            "cart/command is [nan, 0.0, 0.0, 0.0, 0.0, 0.0]; it must be finite",
        ),
        (
            "cart/command",
            wrench(1.0, "base_link"),
            "cart/command is in the frame 'base_link'; it must be in world",
        ),
        (
            "effort_controller/commands",
            Float64MultiArray(data=[1.0, 2.0, 3.0]),
            "effort_controller/commands has 3 elements; it must have 2",
        ),
    ]


@pytest.mark.parametrize(
    "topic, command, sentence", rejected_commands(), ids=["not finite", "frame", "shape"]
)
def test_a_command_that_is_rejected_is_named_where_none_came(
    graph, tmp_path, topic, command, sentence
):
    """What somebody sends is wrong, and it is not silence."""
    from rbdyn_ros.evaluation.metrics import SCENARIO, CannotGoOn, make_scenario
    from rbdyn_ros.evaluation.score import controller_under_test
    from rbdyn_ros.interrupts import Interruption
    from rbdyn_ros.pendulum.spherical_pendulum import upright
    from rbdyn_ros.ros.ros_bench import RosBench

    bench, ended = (
        RosBench(
            controller_under_test("mine", (), None, {}, 2.0, external=True),
            1.5,
            False,
            tmp_path,
            Interruption(),
        ),
        threading.Event(),
    )
    publisher = graph.publisher(type(command), f"/{topic}")

    def send() -> None:
        while not ended.wait(0.05):
            publisher.publish(command)

    sender = threading.Thread(target=send)
    sender.start()
    try:
        with pytest.raises(
            CannotGoOn, match="no command came on cart/command within 1.5 s"
        ) as raised:
            bench.run(
                make_scenario({parameter.name: parameter.default for parameter in SCENARIO}, {}),
                upright(0.05),
                1.0,
            )
    finally:
        ended.set()
        sender.join()
        bench.end()
    assert f"(one was rejected: {sentence}" in str(raised.value)


def test_nobody_answers(tmp_path, monkeypatch):
    monkeypatch.setenv("ROS_DOMAIN_ID", "101")
    done = evaluate(tmp_path, "--patience", "0.5", "--waiting", "1")
    assert done.returncode == 2
    assert (
        "no command came on cart/command within 1 s; start your controller in the same "
        "ROS_DOMAIN_ID" in done.stderr
    )
