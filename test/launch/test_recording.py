"""What `record:=true` and its like start, and what they ask for where a program or library is not
installed.
"""

import os
import re
import sys
from pathlib import Path

import pytest
from without import hide_from_processes

pytest.importorskip(
    "launch_ros",
    reason="launch_ros is not importable: it comes with a ROS 2 installation, not from PyPI",
)
pytest.importorskip(
    "rclpy", reason="rclpy is not importable: no ROS 2 here (./testbed test brings it)"
)

from .launches import MARKERS, TIMEOUT, said  # noqa: E402

STAND_IN = """#!{python}
import sys
import rclpy
from rclpy.executors import ExternalShutdownException
from rbdyn_ros.ros.messages.messages import message_class

print(*sys.argv, flush=True)
rclpy.init()
node, listened = rclpy.create_node(sys.argv[sys.argv.index("--node-name") + 1]), set()
try:
    while True:
        for topic, kinds in node.get_topic_names_and_types():
            kind = message_class(kinds[0])
            if kind and topic not in listened and node.count_publishers(topic):
                listened.add(topic)
                node.create_subscription(kind, topic, lambda message: None, 10)
        rclpy.spin_once(node, timeout_sec=0.05)
except (KeyboardInterrupt, ExternalShutdownException):
    pass
"""


@pytest.fixture
def ros2_bag(tmp_path, monkeypatch):
    """Install a stand-in of `ros2 bag record` that says its arguments and subscribes to all."""
    program = tmp_path / "bin" / "ros2"
    for folder in (tmp_path / MARKERS, program.parent):
        folder.mkdir(parents=True)
    for package in ("ros2bag", "rosbag2_storage_mcap"):
        (tmp_path / MARKERS / package).touch()
    program.write_text(STAND_IN.format(python=sys.executable))
    program.chmod(0o755)
    for name, folder in (("AMENT_PREFIX_PATH", tmp_path), ("PATH", program.parent)):
        monkeypatch.setenv(name, f"{folder}{os.pathsep}{os.environ[name]}")


def test_ros2_bag_records_where_it_is_installed_and_time_waits_for_it(
    launch, tmp_path, ros2_bag, monkeypatch
):
    hide_from_processes("rosbags", monkeypatch, tmp_path)
    arguments = ("duration:=2", "record:=true", "lockstep:=true", "real_time_factor:=0")
    code = launch("simulation.launch.py", "namespace:=lab", *arguments).wait(TIMEOUT)
    log = said(tmp_path)
    assert code == 0, log
    command = r"ros2 bag record --all --storage mcap --node-name (rosbag2_recorder_\d+)"
    assert f"time begins: /{re.search(command, log)[1]}, pendulum_referee receive" in log
    assert "[recorder-" not in log  # ours is not started


@pytest.mark.parametrize(
    "library, arguments, extra",
    [
        ("rosbags", ("record:=true",), "bag"),
        ("rosbags", ("plant:=replay", "bag:=somewhere"), "bag"),
        ("viser", ("view:=true",), "view"),
    ],
)
def test_a_library_that_is_not_installed_is_one_sentence(
    launch, tmp_path, monkeypatch, library, arguments, extra
):
    hide_from_processes(library, monkeypatch, tmp_path)
    folders = os.environ["AMENT_PREFIX_PATH"].split(os.pathsep)
    without_bag = [folder for folder in folders if not Path(folder, MARKERS, "ros2bag").exists()]
    monkeypatch.setenv("AMENT_PREFIX_PATH", os.pathsep.join(without_bag))
    assert launch("simulation.launch.py", *arguments).wait(TIMEOUT) == 1
    assert f"needs {library}, which is not installed" in said(tmp_path)
    assert f"'rbdyn_ros[{extra}]'" in said(tmp_path)
    assert "process started" not in said(tmp_path)  # nothing is left behind
