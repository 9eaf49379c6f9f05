"""Short forms of the endurance tests, as a user runs them: three kills; a fifth of a minute;
malformed frames at a bridge; bad input.
"""

import json
import os
import re
import subprocess
import sys
from importlib.util import find_spec

import pytest

pytest.importorskip(
    "rclpy", reason="rclpy is not importable: no ROS 2 here (./testbed test brings it)"
)


def ran_python(*words: str) -> subprocess.CompletedProcess:
    """Python with these words, in a ROS domain of its own process."""
    environment = {name: value for name, value in os.environ.items() if name != "ROS_DOMAIN_ID"}
    return subprocess.run(
        [sys.executable, *words],
        env=environment,
        capture_output=True,
        text=True,
        timeout=240.0,
    )


def ran(*words: str) -> subprocess.CompletedProcess:
    """A command of the package, in a ROS domain of its own process."""
    return ran_python("-m", "rbdyn_ros", *words)


def test_controller_recorder_and_simulator_are_killed_and_come_back(tmp_path):
    done = ran("soak", "--kills", "3", "--out", str(tmp_path / "out"))
    found = json.loads((tmp_path / "out" / "soak.json").read_text())["kills"]
    assert (
        not found["failure"]
        and done.returncode == (0 if found["passed"] else 1)
        and "Traceback" not in done.stderr
    ), done.stdout + done.stderr
    timeless = {
        check["name"]: check["ok"]
        for check in found["checks"]
        if not check["name"].startswith("from a controller's kill")
    }
    assert len(timeless) == 5 and all(timeless.values()), (
        done.stdout
    )  # one kill's real time is the neighbors' affair; the median is of many
    killed = {row["victim"]: row for row in found["rows"]}
    assert set(killed) == {"controller", "recorder", "simulator"}
    assert 0.0 <= killed["controller"]["pushed"] <= 0.2 and killed["recorder"]["saved"] > 0
    assert (
        tmp_path / "out" / "kills" / "bag_1" / "metadata.yaml"
    ).exists()  # the recorder that was asked to end


def test_a_short_soak_is_judged_and_drawn(tmp_path):
    """Too short to say anything of the memory; threads, files and the loop's time must not drift
    all the same.
    """
    view = ["--view"] if find_spec("viser") else []
    done = ran("soak", "--minutes", "0.2", *view, "--out", str(tmp_path / "out"))
    found = json.loads((tmp_path / "out" / "soak.json").read_text())["soak"]
    assert not found["failure"] and done.returncode == (0 if found["passed"] else 1), (
        done.stdout + done.stderr
    )
    steady = {
        check["name"]: check["ok"]
        for check in found["checks"]
        if not check["name"].startswith(("memory", "round trip"))
    }
    of_viewer = [steady.pop(name) for name in list(steady) if "viewer" in name]
    assert len(of_viewer) == 2 * len(view)  # which may still be meeting the others
    assert len(steady) == 5 and all(steady.values()), done.stdout
    assert (
        len(found["rows"]) >= 8
        and found["rows"][-1]["simulated"] > found["rows"][0]["simulated"] + 2.0
    )
    assert (tmp_path / "out" / "soak" / "soak.png").stat().st_size > 10_000


DIES = """
import sys
from pathlib import Path
from rbdyn_ros.interrupts import Interruption
from rbdyn_ros.optional import stay_local
from rbdyn_ros.tools.endurance import soak
from rbdyn_ros.tools.node_processes import NodeProcesses
from rbdyn_ros.tools.soak_watch import SoakEnded, Watch
stay_local(own_domain=True)
nodes = NodeProcesses(["-p", "rod.mass:=-1.0"], Path(sys.argv[1]))
with Interruption() as stop:
    watch = Watch(stop, lambda line: None)
    try:
        soak(nodes, watch, 0.1, ("simulator",))
    except SoakEnded as ended:
        print(ended)
    finally:
        nodes.end()
        watch.close()
"""


def test_a_node_that_ends_before_the_loop_runs_is_named(tmp_path):
    done = ran_python("-c", DIES, str(tmp_path))
    assert re.search(r"ended by itself; see .*\.log", done.stdout), done.stdout + done.stderr
    assert done.returncode == 0 and "Traceback" not in done.stderr, done.stderr


def test_a_bridge_survives_malformed_frames(tmp_path):
    pytest.importorskip("cobs", reason="cobs is not installed: pip install 'rbdyn_ros[hil]'")
    done = ran("fuzz", "--frames", "0", "--bridge", "2000", "--json", str(tmp_path / "fuzz.json"))
    assert done.returncode == 0, done.stdout + done.stderr
    bridge = json.loads((tmp_path / "fuzz.json").read_text())["bridge"]
    assert (
        2000 - bridge["dropped"] <= bridge["counted"] <= 2000
        and bridge["counted"] > 1000
        and bridge["alive"]
        and bridge["answered"]
        and bridge["commands"] == 0
    )


@pytest.mark.parametrize(
    "words, sentence",
    [
        (("soak", "--minutes", "-1"), "--minutes is -1 min; it must be a finite number > 0"),
        (("soak", "--kills", "many"), "--kills is 'many'"),
        (("soak", "--out", "."), "which is not empty"),
        (("fuzz", "--frames", "-3"), "--frames is -3; it must be"),
        (
            ("fuzz", "--json", "nowhere/fuzz.json"),
            "--json is nowhere/fuzz.json, but there is no folder",
        ),
    ],
)
def test_bad_input_is_one_sentence(words, sentence):
    done = ran(*words)
    assert done.returncode == 2 and sentence in done.stderr and done.stderr.count("\n") == 1, (
        done.stderr
    )


def test_a_replay_says_what_to_do_with_the_bag_of_a_killed_recorder(tmp_path):
    from rbdyn_ros.ros.recording.recorded_bag import CannotReplay, RecordedBag

    (tmp_path / "bag.mcap").write_bytes(b"")
    with pytest.raises(
        CannotReplay, match=f"its recorder was killed; python -m rbdyn_ros repair {tmp_path} makes"
    ):
        RecordedBag(str(tmp_path), "all", ())
