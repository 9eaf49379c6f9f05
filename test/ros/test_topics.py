"""Every topic of the simulator: present, of its type, finite; and all of them tell of the same
state.
"""

import gc
import math
from xml.etree import ElementTree

import numpy as np
import pytest

pytest.importorskip(
    "rclpy", reason="rclpy is not importable: no ROS 2 here (./testbed test brings it)"
)

from diagnostic_msgs.msg import DiagnosticArray  # noqa: E402
from geometry_msgs.msg import WrenchStamped  # noqa: E402
from nav_msgs.msg import Odometry  # noqa: E402
from rosgraph_msgs.msg import Clock  # noqa: E402
from sensor_msgs.msg import Imu, JointState, MultiDOFJointState  # noqa: E402
from std_msgs.msg import Float64MultiArray, String  # noqa: E402
from tf2_msgs.msg import TFMessage  # noqa: E402
from transforms3d.euler import euler2mat  # noqa: E402
from transforms3d.quaternions import quat2mat  # noqa: E402
from visualization_msgs.msg import MarkerArray  # noqa: E402

from rbdyn_ros.ros.messages.messages import nanoseconds, wxyz, xyz  # noqa: E402

TOPICS = {
    "/clock": Clock,
    "/joint_states": JointState,
    "/ground_truth/joint_states": JointState,
    "/odometry": Odometry,
    "/ground_truth/odometry": Odometry,
    "/multi_dof_joint_states": MultiDOFJointState,
    "/imu/data": Imu,
    "/wrench/cart": WrenchStamped,
    "/wrench/joint": WrenchStamped,
    "/wrench/disturbance": WrenchStamped,
    "/wrench/contact": WrenchStamped,
    "/tf": TFMessage,
    "/pendulum_simulator/markers": MarkerArray,
    "/pendulum_simulator/integrator": Float64MultiArray,
    "/diagnostics": DiagnosticArray,
}
LATCHED = {
    "/tf_static": TFMessage,
    "/robot_description": String,
    "/pendulum_simulator/status": String,
}
START = dict(
    start="immediately",
    initial__orientation=[0.8, 0.36, 0.48, 0.0],
    initial__angular_velocity=[0.3, -0.2, 1.0],
    initial__cart_position=[0.4, -0.3],
    initial__cart_velocity=[0.1, 0.2],
    cart__damping=0.5,
    joint__damping=0.005,
)


def numbers(message):
    """Every float of a message, however deep."""
    if isinstance(message, float):
        yield message
    elif hasattr(message, "get_fields_and_field_types"):
        for field in message.get_fields_and_field_types():
            yield from numbers(getattr(message, field))
    elif not isinstance(message, (str, bytes, int)):
        for element in message:
            yield from numbers(element)


def newest_together(received, *topics):
    """The newest messages of the topics that have the same stamp."""
    by_stamp = [{nanoseconds(m.header.stamp): m for m in received[topic]} for topic in topics]
    stamp = max(set.intersection(*map(set, by_stamp)))
    return [messages[stamp] for messages in by_stamp]


def test_all_topics(graph):
    graph.simulator(**START)
    received = {topic: graph.listen(kind, topic) for topic, kind in TOPICS.items()}
    received.update(
        {topic: graph.listen(kind, topic, latched=True) for topic, kind in LATCHED.items()}
    )
    graph.until(lambda: all(received.values()) and len(received["/joint_states"]) > 20)
    for topic in {**TOPICS, **LATCHED}:
        assert all(map(math.isfinite, numbers(received[topic][-1]))), topic
    check_one_state(received)
    check_wrenches(received)
    check_frames(received)
    check_labels(received["/pendulum_simulator/integrator"][-1])
    assert received["/pendulum_simulator/status"][-1].data == "playing"
    clocks = [nanoseconds(message.clock) for message in received["/clock"]]
    assert all(b - a > 0 and (b - a) % 2_000_000 == 0 for a, b in zip(clocks, clocks[1:]))


def check_one_state(received):
    joints, odometry, truth, ball, imu = newest_together(
        received,
        "/joint_states",
        "/odometry",
        "/ground_truth/odometry",
        "/multi_dof_joint_states",
        "/imu/data",
    )
    position = dict(zip(joints.name, joints.position))
    R = quat2mat(wxyz(odometry.pose.pose.orientation))
    hinges = [position[f"pendulum_{hinge}_joint"] for hinge in ("roll", "pitch", "spin")]
    assert np.allclose(euler2mat(*hinges, "rxyz"), R, atol=1e-9)
    assert xyz(odometry.pose.pose.position) == (
        position["cart_x_joint"],
        position["cart_y_joint"],
        0.0,
    )
    assert np.allclose(
        R @ xyz(odometry.twist.twist.linear), (*joints.velocity[:2], 0.0), atol=1e-12
    )
    assert odometry.pose == truth.pose and odometry.twist == truth.twist
    assert ball.transforms[0].rotation == imu.orientation == odometry.pose.pose.orientation
    assert ball.twist[0].angular == imu.angular_velocity == odometry.twist.twist.angular
    assert odometry.header.frame_id == "world" and odometry.child_frame_id == "pendulum_link"


def check_wrenches(received):
    joint, ball = newest_together(received, "/wrench/joint", "/multi_dof_joint_states")
    assert joint.wrench == ball.wrench[0] and joint.header.frame_id == "pendulum_link"
    assert np.linalg.norm(xyz(joint.wrench.force)) > 1.0  # it carries the rod
    assert received["/wrench/cart"][-1].header.frame_id == "cart_link"


def check_frames(received):
    poses = {nanoseconds(m.header.stamp): m.pose.pose for m in received["/odometry"]}
    moving = [m for m in received["/tf"] if nanoseconds(m.transforms[0].header.stamp) in poses][-1]
    edges = {
        t.child_frame_id: t for m in (moving, received["/tf_static"][-1]) for t in m.transforms
    }
    assert (
        edges["cart_link"].header.frame_id == "world"
        and edges["pendulum_link"].header.frame_id == "cart_link"
    )
    assert (
        edges["pendulum_tip"].transform.translation.z == 2.4
        and edges["pendulum_com"].transform.translation.z == 1.2
    )
    pose = poses[nanoseconds(edges["cart_link"].header.stamp)]
    assert xyz(pose.position) == xyz(edges["cart_link"].transform.translation)
    assert pose.orientation == edges["pendulum_link"].transform.rotation
    urdf = ElementTree.fromstring(received["/robot_description"][-1].data)
    links = {link.get("name") for link in urdf.iter("link")}
    assert links - {"world"} <= set(edges)  # RViz finds a transform for every link
    check_chain(edges)


def check_chain(edges):
    """The links between the hinges lead to the rod's own frame."""
    roll, pitch, rod = (
        quat2mat(wxyz(edges[name].transform.rotation))
        for name in ("pendulum_roll_link", "pendulum_pitch_link", "pendulum_link")
    )
    spin = (roll @ pitch).T @ rod
    assert np.allclose(spin[2], (0.0, 0.0, 1.0), atol=1e-9)


def check_labels(message):
    labels = [dim.label for dim in message.layout.dim]
    assert len(labels) == len(message.data) == len(set(labels))
    values = dict(zip(labels, message.data))
    assert abs(values["energy_drift"]) < 1e-2 and abs(values["constraint_residual"]) < 1e-12
    assert values["iterations"] >= 1.0 and values["step_time_us"] > 0.0


def test_namespace_and_frame_prefix(graph):
    from rclpy.parameter import Parameter

    from rbdyn_ros.ros.simulator.simulator_node import Simulator

    overrides = [Parameter("frame_prefix", value="left/"), Parameter("start", value="immediately")]
    graph.nodes.append(Simulator(namespace="lab", parameter_overrides=overrides))
    graph.executor.add_node(graph.nodes[-1])
    graph.nodes[-1].autostart()
    received, tf = graph.listen(Odometry, "/lab/odometry"), graph.listen(TFMessage, "/tf")
    graph.until(lambda: received and tf)
    assert (
        received[-1].header.frame_id == "left/world"
        and received[-1].child_frame_id == "left/pendulum_link"
    )
    assert all(t.child_frame_id.startswith("left/") for t in tf[-1].transforms)


def test_a_reader_whose_qos_does_not_fit_is_named_once(graph, capfd):
    from rbdyn_ros.ros import qos

    simulator = graph.simulator(start="paused")
    graph.probe.create_subscription(Odometry, "/odometry", lambda message: None, qos.LATCHED)
    graph.until(lambda: list(qos.incompatible(simulator)))
    simulator.warn_of_peers()
    simulator.warn_of_peers()
    said = capfd.readouterr().err
    assert (
        said.count("probe receives nothing on /odometry from pendulum_simulator") == 1
        and "transient local" in said
    )
    assert said.count("receives nothing") == 1  # everyone else fits


def test_a_second_node_of_the_same_name_is_reported_once(graph, capfd):
    import rclpy

    gc.collect()  # nodes of earlier tests
    simulator, name = graph.simulator(start="paused"), "/pendulum_simulator"
    simulator.warn_of_peers()
    assert "are called" not in capfd.readouterr().err
    second = rclpy.create_node(name[1:])
    graph.until(lambda: simulator.get_fully_qualified_node_names().count(name) == 2)
    simulator.warn_of_peers()
    simulator.warn_of_peers()
    second.destroy_node()
    said = capfd.readouterr().err
    assert said.count(f"2 nodes are called {name}") == 1 and "__ns:=" in said


def test_without_a_rate_the_transforms_are_left_to_a_robot_state_publisher(graph):
    """Neither /tf nor /tf_static, playing or not; what is latched is withdrawn."""
    from rclpy.parameter import Parameter

    simulator = graph.simulator(start="immediately", rates__tf=0.0)
    moving = graph.listen(TFMessage, "/tf")
    still = graph.listen(TFMessage, "/tf_static", latched=True)
    received = graph.listen(Odometry, "/odometry")
    graph.until(lambda: len(received) > 100)
    assert simulator.runner.pause() == ""
    before = len(received)
    graph.until(lambda: len(received) > before + 20)  # what else is sent while time stands still
    assert not moving and not still
    assert simulator.set_parameters([Parameter("rates.tf", value=60.0)])[0].successful
    graph.until(lambda: moving and still)
    assert {t.child_frame_id for t in still[-1].transforms} >= {"imu_link", "pendulum_tip"}
    assert simulator.set_parameters([Parameter("rates.tf", value=0.0)])[0].successful
    graph.until(lambda: not still[-1].transforms)
    late = graph.listen(TFMessage, "/tf_static", latched=True)
    graph.until(lambda: late)
    assert not late[-1].transforms
