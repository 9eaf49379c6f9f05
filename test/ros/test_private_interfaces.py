"""Private interfaces of other packages: each is used by one file, which says why and what happens
without it, and works without it.
"""

import ast
import contextlib
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

pytest.importorskip(
    "rclpy", reason="rclpy is not importable: no ROS 2 here (./testbed test brings it)"
)

from rclpy.executors import SingleThreadedExecutor  # noqa: E402
from rclpy.parameter import Parameter  # noqa: E402
from std_msgs.msg import String  # noqa: E402

from rbdyn_ros.ros.declared_parameters import _read_overrides  # noqa: E402
from rbdyn_ros.ros.messages import polled  # noqa: E402
from rbdyn_ros.ros.messages.polled import Polled  # noqa: E402
from rbdyn_ros.ros.process import events_executor  # noqa: E402
from rbdyn_ros.ros.recording.recorder import Recorder  # noqa: E402

ROOT = Path(__file__).parents[2]
# by file: the modules and attributes that it may use; of the kernels' files by their prefix alone
KERNELS = {
    "rbdyn_ros/kernel.py",
    "rbdyn_ros/numerics/kernel_cache.py",
    "rbdyn_ros/numerics/kernel_parts.py",
    "rbdyn_ros/numerics/kernel_progress.py",
    "rbdyn_ros/bodies/arena.py",
    "rbdyn_ros/geometry/dual.py",
}
USED = {
    "rbdyn_ros/ros/process.py": {"rclpy.experimental"},
    "rbdyn_ros/ros/messages/polled.py": {"take_message"},
    "rbdyn_ros/ros/declared_parameters.py": {"_parameter_overrides"},
    "rbdyn_ros/ros/recording/recorder.py": {"close_chunk"},
}
MODULES = (
    "numba.core",
    "numba.np",
    "rclpy.experimental",
    "rclpy.impl",
)
NAMES = {name for names in USED.values() for name in names}
PUBLIC = {"_replace", "_fields", "_asdict", "_make", "_field_defaults", "_exit"}
OWN = {"_asked_for", "_law"}  # of another object of the same class


def used(file: Path) -> set:
    """Return the private modules and attributes that a file uses."""
    found = set()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module:
            names = {f"{node.module}.{alias.name}" for alias in node.names}
            of_private = node.module.startswith(MODULES)
            found |= {n for n in ({node.module} if of_private else names) if n.startswith(MODULES)}
        elif isinstance(node, ast.Attribute):
            of_self = isinstance(node.value, ast.Name) and node.value.id in ("self", "cls")
            is_private = node.attr.startswith("_") and not node.attr.startswith("__")
            if node.attr in NAMES or is_private and not of_self:
                found |= {node.attr} - PUBLIC - OWN
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            found |= {node.value} & NAMES
    return found


FILES = [
    f
    for f in sorted((ROOT / "rbdyn_ros").rglob("*.py"))
    if str(f.relative_to(ROOT)) not in KERNELS
]


def test_each_is_used_by_one_file():
    found = {str(file.relative_to(ROOT)): used(file) for file in FILES}
    assert {name: names for name, names in found.items() if names} == USED


@pytest.mark.parametrize("name", USED)
def test_its_file_states_versions_and_fallback(name):
    text = ast.get_docstring(ast.parse((ROOT / name).read_text()))
    assert "Private interface" in text and "Tested with" in text and "Fallback:" in text


def test_without_the_executor_of_events_it_is_the_one_that_waits(ros, monkeypatch):
    monkeypatch.setitem(sys.modules, "rclpy.experimental", None)
    assert isinstance(events_executor(), SingleThreadedExecutor)


def test_a_subscription_whose_messages_come_faster_than_they_are_taken_is_left_in_the_end():
    class Endless(contextlib.nullcontext):
        def take_message(self, kind, raw):
            info = ("received_timestamp", "source_timestamp", "publication_sequence_number")
            return "message", dict.fromkeys(info, time.time_ns())

    endless = SimpleNamespace(
        handle=Endless(), msg_type=None, raw=False, qos_profile=SimpleNamespace(depth=10)
    )
    assert len(list(polled._waiting(endless))) == 1


def test_without_take_message_the_executor_takes(graph, monkeypatch):
    monkeypatch.setattr(polled, "can_take", lambda subscription: False)
    taken, reader = [], Polled(graph.probe)
    reader.listen(String, "a_topic", taken.append, 10, raw=False)
    publisher = graph.publisher(String, "a_topic")
    graph.until(lambda: publisher.get_subscription_count() == 1)
    publisher.publish(String(data="taken"))
    graph.until(lambda: taken)
    assert taken[0].message.data == "taken" and taken[0].received >= taken[0].sent > 0
    reader.empty()
    assert len(taken) == 1


def test_without_overrides_the_command_line_is_read(graph, monkeypatch, tmp_path):
    file = tmp_path / "values.yaml"
    file.write_text("/**:\n  ros__parameters: {rod: {mass: 2}, use_sim_time: true}\n")
    words = ["simulator", "--ros-args", "--params-file", str(file), "-p", "rod.length:=1.5"]
    monkeypatch.setattr(sys, "argv", words)
    monkeypatch.delattr(graph.probe, "_parameter_overrides")
    found = {name: value for name, (value, _) in _read_overrides(graph.probe).items()}
    assert found == {"rod.mass": 2, "rod.length": 1.5}


def test_without_chunks_the_bag_is_written_at_its_end(ros, monkeypatch, tmp_path):
    recorder = Recorder(parameter_overrides=[Parameter("bag.path", value=str(tmp_path / "bag"))])
    recorder.autostart()
    monkeypatch.setattr(recorder._writer, "storage", object())
    recorder._save()
    monkeypatch.undo()
    recorder.close()
    recorder.destroy_node()
    assert (tmp_path / "bag" / "metadata.yaml").is_file()
