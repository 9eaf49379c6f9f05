"""The layouts for Foxglove and PlotJuggler plot what the nodes publish, where they publish it."""

import json
import re
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

pytest.importorskip(
    "rclpy", reason="rclpy is not importable: no ROS 2 here (./testbed test brings it)"
)

from rbdyn_ros.ros.controller import controller_node  # noqa: E402
from rbdyn_ros.ros.messages import state_topics  # noqa: E402

ROOT = Path(__file__).parents[2]
LAYOUT = json.loads((ROOT / "config" / "foxglove_layout.json").read_text())
LABELS = {  # what the elements of an array are
    "/pendulum_simulator/integrator.data": state_topics.LABELS,
    "/pendulum_controller/controller_state.data": controller_node.LABELS,
    "/joint_states.position": state_topics.JOINTS,
}
WANTED = {
    "roll": "pendulum_roll_joint",
    "pitch": "pendulum_pitch_joint",
    "energy": "energy",
    "residual": "energy_drift",
    "age": "age",
    "simulated s per s": "time",
}
MESSAGES = {
    "/odometry": "nav_msgs/Odometry",
    "/goal_pose": "geometry_msgs/PoseStamped",
    "/cart/command": "geometry_msgs/WrenchStamped",
    "/wrench/cart": "geometry_msgs/WrenchStamped",
    "/wrench/disturbance": "geometry_msgs/WrenchStamped",
    "/wrench/contact": "geometry_msgs/WrenchStamped",
}
CURVES = ET.parse(ROOT / "config" / "plotjuggler_layout.xml").findall(".//curve")
LABELED = {  # of the arrays that PlotJuggler plots: topic, index, and what is there
    ("/pendulum_simulator/integrator", 0): "time",
    ("/pendulum_simulator/integrator", 1): "energy",
    ("/pendulum_simulator/integrator", 2): "energy_drift",
    ("/pendulum_controller/controller_state", 7): "age",
}
PATHS = [path for panel in LAYOUT["configById"].values() for path in panel.get("paths", ())]


def field(topic: str, names: list[str]):
    """The default of a field of the topic's message."""
    package, kind = MESSAGES[topic].split("/")
    value = getattr(__import__(f"{package}.msg", fromlist=[kind]), kind)()
    for name in names:
        value = getattr(value, name)
    return value


def leaves(tree) -> list[str]:
    """The panels of a tree of splits, in order."""
    return [tree] if isinstance(tree, str) else leaves(tree["first"]) + leaves(tree["second"])


def test_every_panel_is_laid_out_once():
    assert sorted(leaves(LAYOUT["layout"])) == sorted(LAYOUT["configById"])


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path["label"])
def test_a_plot_reads_a_field_that_is_there(path):
    value = re.sub(r"\.@\w+$", "", path["value"])
    if found := re.fullmatch(r"(.+)\[(\d+)\]", value):
        assert LABELS[found[1]][int(found[2])] == WANTED[path["label"]]
        return
    topic = next(name for name in MESSAGES if value.startswith(name + "."))
    assert isinstance(field(topic, value.removeprefix(topic + ".").split(".")), float)


@pytest.mark.parametrize("curve", CURVES, ids=lambda curve: curve.get("name"))
def test_a_curve_of_plotjuggler_is_a_field_that_is_there(curve):
    """A series is named topic/field/field, topic/data[i] in an array, and in joint states
    topic/joint/field.
    """
    name = curve.get("name")
    if found := re.fullmatch(r"(.+)/data\[(\d+)\]", name):
        topic, index = found[1], int(found[2])
        assert LABELS[f"{topic}.data"][index] == LABELED[topic, index]
    elif name.startswith("/joint_states/"):
        _, _, joint, field_name = name.split("/")
        assert joint in state_topics.JOINTS and field_name == "position"
    else:
        topic = next(topic for topic in MESSAGES if name.startswith(topic + "/"))
        assert isinstance(field(topic, name.removeprefix(topic + "/").split("/")), float)


def test_plotjuggler_lays_out_as_many_plots_as_it_says():
    for splitter in ET.parse(ROOT / "config" / "plotjuggler_layout.xml").iter("DockSplitter"):
        count = int(splitter.get("count"))
        assert len(splitter) == count == len(splitter.get("sizes").split(";"))


def topics(tree) -> set[str]:
    """Whatever in the layout is the name of a topic, but those to which Foxglove publishes."""
    if isinstance(tree, list):
        return set().union(*map(topics, tree))
    if not isinstance(tree, dict):
        return set()
    named = {
        value for key, value in tree.items() if key in ("topicPath", "topicToRender", "value")
    }
    found = {*filter(None, (n for n in named if isinstance(n, str) and n.startswith("/")))}
    if isinstance(shown := tree.get("topics"), dict):
        found |= set(shown)
    return found.union(*(topics(part) for key, part in tree.items() if key != "publish"))


def test_every_topic_of_the_layout_is_one_of_the_nodes(graph):
    wanted = {path.partition(".")[0] for path in topics(LAYOUT["configById"])}
    assert {"/odometry", "/diagnostics", "/pendulum_simulator/markers"} <= wanted
    graph.simulator(), graph.controller()
    goal = LAYOUT["configById"]["3D!scene"]["publish"]["poseTopic"]
    graph.until(lambda: graph.probe.count_subscribers(goal) > 0)  # which a person publishes
    published = wanted - {goal}
    graph.until(lambda: all(graph.probe.count_publishers(topic) for topic in published))


def test_the_topics_are_those_of_the_documentation():
    page = (ROOT / "doc" / "ros.md").read_text()
    for topic in MESSAGES:
        assert f"`{topic[1:]}`" in page
    scene = LAYOUT["configById"]["3D!scene"]
    assert "/pendulum_simulator/markers" in scene["topics"]
    assert scene["publish"]["poseTopic"] == "/goal_pose"
