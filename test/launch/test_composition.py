"""Launch files compose: no numbers, no files opened; and RViz looks at topics that are there.

Needs no launch.
"""

import ast
import time
from pathlib import Path

import pytest
import yaml
from domain import alone

ROOT = Path(__file__).parents[2]
FILES = sorted((ROOT / "launch").glob("*.launch.py"))


def test_all_are_there():
    assert [file.name for file in FILES] == [
        f"{name}.launch.py"
        for name in (
            *("controller", "display", "hil", "replay"),
            *("ros2_control", "simulation", "simulator"),
        )
    ]


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_no_numbers_and_no_yaml_is_opened(file):
    tree = ast.parse(file.read_text())
    constants = [node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)]
    assert not [
        value
        for value in constants
        if isinstance(value, (int, float)) and not isinstance(value, bool)
    ]
    assert not [
        value for value in constants if isinstance(value, str) and value.replace(".", "").isdigit()
    ]
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)} | {
        alias.name
        for node in ast.walk(tree)
        if isinstance(node, (ast.Import, ast.ImportFrom))
        for alias in node.names
    }
    assert not names & {"open", "yaml", "Path"}


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_every_argument_is_described(file):
    calls = [node for node in ast.walk(ast.parse(file.read_text())) if isinstance(node, ast.Call)]
    arguments = [call for call in calls if getattr(call.func, "id", "") == "argument"]
    assert all(len(call.args) >= 2 and len(call.args[1].value) > 5 for call in arguments)


def listened() -> dict:
    """topic -> class of what RViz shows of it, or publishes on it."""
    manager = yaml.safe_load((ROOT / "config" / "pendulum.rviz").read_text())[
        "Visualization Manager"
    ]
    topics = {}
    for part in manager["Displays"] + manager["Tools"]:
        topic = part.get("Topic") or part.get("Description Topic")
        if topic:
            topics[topic["Value"]] = part["Class"].removeprefix("rviz_default_plugins/")
    return topics


def test_rviz_shows_and_publishes_the_topics_of_the_nodes():
    assert listened() == {
        "robot_description": "RobotModel",
        "pendulum_simulator/markers": "MarkerArray",
        "wrench/joint": "Wrench",
        "wrench/cart": "Wrench",
        "wrench/disturbance": "Wrench",
        "/clicked_point": "PublishPoint",
        "goal_pose": "SetGoal",
    }


def test_the_nodes_have_the_topics_that_rviz_expects(monkeypatch):
    pytest.importorskip(
        "rclpy", reason="rclpy is not importable: no ROS 2 here (./testbed test brings it)"
    )
    import rclpy

    from rbdyn_ros.ros.controller.controller_node import ControllerNode
    from rbdyn_ros.ros.simulator.simulator_node import Simulator

    kinds = {
        "RobotModel": "std_msgs/msg/String",
        "MarkerArray": "visualization_msgs/msg/MarkerArray",
        "Wrench": "geometry_msgs/msg/WrenchStamped",
        "PublishPoint": "geometry_msgs/msg/PointStamped",
        "SetGoal": "geometry_msgs/msg/PoseStamped",
    }
    for name, value in alone().items():
        monkeypatch.setenv(name, value)
    first = not rclpy.ok()  # other tests of this process may have begun
    if first:
        rclpy.init()
    nodes = [Simulator(), ControllerNode()]
    try:
        for node in nodes:
            node.autostart()
        expected = {f"/{topic.lstrip('/')}": [kinds[kind]] for topic, kind in listened().items()}
        patience = time.monotonic() + 20.0
        while (
            not (there := dict(nodes[0].get_topic_names_and_types())).items() >= expected.items()
        ):
            assert time.monotonic() < patience, {topic: there.get(topic) for topic in expected}
            time.sleep(0.05)
    finally:
        for node in nodes:
            node.close()
            node.destroy_node()
        if first:
            rclpy.shutdown()


def test_the_controllers_of_ros2_control_fit_the_hardware_and_clash_with_no_topic():
    """Their keys reach them in any namespace."""
    read = yaml.safe_load((ROOT / "config" / "ros2_control.yaml").read_text())
    sections = {key: value["ros__parameters"] for key, value in read.items()}
    manager = sections.pop("/**/controller_manager")
    assert manager.pop("update_rate") >= 100  # Hz: ten commands within watchdog.timeout
    assert {f"/**/{name}" for name in manager} == set(sections)
    assert {name: kind["type"] for name, kind in manager.items()} == {
        "joint_state_broadcaster": "joint_state_broadcaster/JointStateBroadcaster",
        "cart_effort_controller": "effort_controllers/JointGroupEffortController",
        "cart_forward_controller": "forward_command_controller/ForwardCommandController",
    }
    assert sections["/**/joint_state_broadcaster"]["use_local_topics"] is True
    for name in ("cart_effort_controller", "cart_forward_controller"):
        assert sections[f"/**/{name}"]["joints"] == ["cart_x_joint", "cart_y_joint"]
    assert sections["/**/cart_forward_controller"]["interface_name"] == "effort"
    assert "effort_controller" not in manager  # whose commands the simulator itself takes
