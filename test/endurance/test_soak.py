"""Short forms of the endurance tests, as a user runs them: three kills; some seconds; a node that
ends; signals; bad input.
"""

import json
import os
import re
import shlex
import signal
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import psutil
import pytest
from domain import alone
from without import hide

pytest.importorskip(
    "rclpy", reason="rclpy is not importable: no ROS 2 here (./testbed test brings it)"
)

from long_run import long_run  # noqa: E402
from loop_watch import SoakEnded, Watch  # noqa: E402
from soak import chosen_tests, main, make_parser  # noqa: E402
from waiting import wait  # noqa: E402

from rbdyn_ros.ros.node_processes import NodeProcesses  # noqa: E402

ROOT = Path(__file__).parents[2]
LIMIT = 240.0  # [s]


def started(*words: str) -> subprocess.Popen:
    """The script with these words, in a ROS domain of its own."""
    return subprocess.Popen(
        [sys.executable, str(Path(__file__).with_name("soak.py")), *words],
        env=os.environ | alone(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def result(test: str, out: Path, *words: str) -> dict:
    """The result of one of the tests."""
    process = started(*words, "--out", str(out))
    said = "".join(process.communicate(timeout=LIMIT))
    found = json.loads((out / "soak.json").read_text())[test]
    assert not found["failure"] and "Traceback" not in said, said
    assert process.returncode == (0 if found["passed"] else 1), said
    return found


def test_controller_recorder_and_simulator_are_killed_and_come_back(tmp_path):
    found = result("kills", tmp_path / "out", "--kills", "3")
    timeless = {
        check["name"]: check["ok"]
        for check in found["checks"]
        if not check["name"].startswith("from a controller's kill")
    }  # one kill's real time is the neighbors' affair; the median is of many
    assert len(timeless) == 5 and all(timeless.values()), found["checks"]
    killed = {row["victim"]: row for row in found["rows"]}
    assert set(killed) == {"controller", "recorder", "simulator"}
    assert 0.0 <= killed["controller"]["pushed"] <= 0.2 and killed["recorder"]["saved"] > 0
    ended = tmp_path / "out" / "kills" / "bag_1"  # of the recorder that was asked to end
    assert (ended / "metadata.yaml").exists()


def test_a_short_run_is_judged_and_drawn(tmp_path):
    """Too short to say anything of the memory; threads, files and the loop's time must not drift
    all the same.
    """
    view = ["--view"] if find_spec("viser") else []
    found = result("soak", tmp_path / "out", "--minutes", "0.1", *view)
    steady = {
        check["name"]: check["ok"]
        for check in found["checks"]
        if not check["name"].startswith(("memory", "round trip"))
    }
    of_viewer = [steady.pop(name) for name in list(steady) if "viewer" in name]
    assert len(of_viewer) == 2 * len(view)  # which may still be meeting the others
    assert len(steady) == 5 and all(steady.values()), found["checks"]
    rows = found["rows"]
    assert len(rows) >= 4 and rows[-1]["simulated"] > rows[0]["simulated"] + 1.0
    assert (tmp_path / "out" / "soak" / "soak.png").stat().st_size > 10_000


def test_a_node_that_ends_before_the_loop_runs_is_named(tmp_path, monkeypatch):
    for name, value in alone().items():
        monkeypatch.setenv(name, value)
    nodes, watch = NodeProcesses(["-p", "rod.mass:=-1.0"], tmp_path), Watch()
    try:
        with pytest.raises(SoakEnded, match=r"the simulator ended.*\(see .*\.log\)"):
            long_run(nodes, watch, 0.1, ("simulator",))
    finally:
        nodes.end()
        watch.close()


def test_a_signal_ends_the_script_and_its_nodes(tmp_path):
    numbers = signal.SIGINT, signal.SIGTERM
    trials = [(n, started("--minutes", "5", "--out", str(tmp_path / n.name))) for n in numbers]
    for number, process in trials:  # side by side, as they mostly wait
        parent = psutil.Process(process.pid)
        wait(lambda: len(parent.children()) == 2 or process.poll() is not None, LIMIT)
        nodes = parent.children()
        process.send_signal(number)
        said = "".join(process.communicate(timeout=LIMIT))
        assert process.returncode == 128 + number and "Traceback" not in said, said
        assert len(nodes) == 2 and not any(node.is_running() for node in nodes)


@pytest.mark.parametrize(
    "words, sentence",
    [
        (("--minutes", "-1"), "--minutes is -1 min; it must be a finite number > 0"),
        (("--kills", "many"), "--kills is 'many'"),
        (("--out", "."), "which is not empty"),
    ],
)
def test_bad_input_is_one_sentence(words, sentence, capsys):
    assert main(words) == 2
    said = capsys.readouterr().err
    assert sentence in said and said.count("\n") == 1


@pytest.mark.parametrize("library, words", [("viser", ("--view",)), ("rosbags", ("--kills", "1"))])
def test_a_missing_library_is_one_sentence(library, words, tmp_path, monkeypatch, capsys):
    hide(library, monkeypatch)
    assert main([*words, "--out", str(tmp_path / "out")]) == 2
    said = capsys.readouterr().err
    assert f" needs {library}, which is not installed" in said and said.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_what_the_page_shows_can_be_typed():
    page = (ROOT / "doc" / "reliability.md").read_text("utf-8")
    shown = re.findall(r"^    \./testbed soak (.+)$", page, re.M)
    assert len(shown) >= 3
    for line in shown:
        assert chosen_tests(make_parser().parse_args(shlex.split(line, comments=True)))
