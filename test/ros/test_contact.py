"""The simulator meets the floor, over DDS: wrench, frame, markers, evidence; reset; a fault that
says why.
"""

import math

import numpy as np
import pytest

pytest.importorskip(
    "rclpy", reason="rclpy is not importable: no ROS 2 here (./testbed test brings it)"
)

from geometry_msgs.msg import WrenchStamped  # noqa: E402
from std_msgs.msg import Float64MultiArray, String  # noqa: E402
from std_srvs.srv import Trigger  # noqa: E402
from tf2_msgs.msg import TFMessage  # noqa: E402
from visualization_msgs.msg import Marker, MarkerArray  # noqa: E402

from rbdyn_ros.ros.messages.messages import nanoseconds, xyz  # noqa: E402

FLAT = math.acos(-0.1 / 2.4)
LYING = dict(
    integrator__name="quaternion_midpoint",
    start="immediately",
    contact__floor__enabled=True,
    contact__floor__friction=0.5,
    contact__stops__x_min=-1.5,
    contact__obstacle__kind="sphere",
    contact__obstacle__center=[-1.0, 0.0, 1.0],
    initial__orientation=[math.cos(FLAT / 2), 0.0, math.sin(FLAT / 2), 0.0],
)
STANDING = dict(
    integrator__name="quaternion_midpoint",
    start="paused",
    contact__obstacle__kind="half_space",
    contact__obstacle__center=[0.0, 0.0, 2.4 - 5e-7],
    contact__obstacle__normal=[0.0, 0.0, -1.0],
)


def values(message) -> dict:
    return dict(zip([dim.label for dim in message.layout.dim], message.data))


def test_a_rod_that_lies_on_the_floor(graph):
    simulator = graph.simulator(**LYING)
    wrenches, transforms = (
        graph.listen(WrenchStamped, "/wrench/contact"),
        graph.listen(TFMessage, "/tf"),
    )
    evidence = graph.listen(Float64MultiArray, "/pendulum_simulator/integrator")
    markers = graph.listen(MarkerArray, "/pendulum_simulator/markers")
    graph.until(
        lambda: len(wrenches) > 20 and transforms and len(evidence) > 20 and len(markers) > 5
    )
    newest = wrenches[-1]
    assert newest.header.frame_id == "contact"
    np.testing.assert_allclose(xyz(newest.wrench.force), (0.0, 0.0, 0.5 * 9.81), atol=1e-4)
    assert xyz(newest.wrench.torque) == (0.0, 0.0, 0.0)
    frame = {t.child_frame_id: t for t in transforms[-1].transforms}["contact"]
    np.testing.assert_allclose(
        xyz(frame.transform.translation), simulator.runner.plant.point((0.0, 0.0, 2.4)), atol=1e-6
    )
    assert frame.header.frame_id == "world" and nanoseconds(frame.header.stamp) > 0
    newest = values(evidence[-1])
    assert newest["contact_impulse_floor"] > 0.0 and newest["contact_impulse_stops.x"] == 0.0
    shown = [(m.ns, m.type) for m in markers[-1].markers if m.action == Marker.ADD]
    assert {
        "floor",
        "stops",
        "obstacle",
        "contact_points",
        "contact_normals",
        "contact_forces",
    } <= {ns for ns, _ in shown}
    assert "ground" not in {ns for ns, _ in shown}  # there is a floor
    assert len({(m.ns, m.id) for m in markers[-1].markers}) == len(markers[-1].markers)
    refused = graph_set(simulator, "contact.obstacle.center", [1.2, 0.0, 0.0])
    assert (
        not refused.successful
        and "contact.obstacle overlaps the pendulum by 0.05 m" in refused.reason
    )


def graph_set(node, name: str, value):
    from rclpy.parameter import Parameter

    return node.set_parameters([Parameter(name, value=value)])[0]


AMONG = dict(
    integrator__name="quaternion_midpoint",
    start="immediately",
    obstacles=["table", "wall"],
    obstacle__table__shape="box",
    obstacle__table__position=[2.0, 0.0, -0.6],
    obstacle__table__size=[3.0, 2.0, 1.0],
    obstacle__table__friction=0.5,
    obstacle__wall__shape="wall",
    obstacle__wall__position=[-9.0, 0.0, 0.0],
    obstacle__wall__normal=[1.0, 0.0, 0.0],
    obstacle__wall__velocity=[0.1, 0.0, 0.0],
    initial__orientation=[math.cos(FLAT / 2), 0.0, math.sin(FLAT / 2), 0.0],
)


def test_a_rod_that_lies_on_a_table_while_a_wall_comes(graph):
    simulator = graph.simulator(**AMONG)
    wrenches = graph.listen(WrenchStamped, "/wrench/contact")
    evidence = graph.listen(Float64MultiArray, "/pendulum_simulator/integrator")
    markers = graph.listen(MarkerArray, "/pendulum_simulator/markers")
    graph.until(lambda: len(wrenches) > 20 and len(evidence) > 20 and len(markers) > 10)
    np.testing.assert_allclose(xyz(wrenches[-1].wrench.force), (0.0, 0.0, 0.5 * 9.81), atol=1e-3)
    newest = values(evidence[-1])
    assert newest["contact_impulse_obstacle.table"] > 0.0
    assert newest["contact_impulse_obstacle.wall"] == 0.0
    first, last = markers[0].markers, markers[-1].markers
    shown = [
        [m for m in message if m.ns == "obstacle" and m.action == Marker.ADD]
        for message in (first, last)
    ]
    (table, wall), (_, later) = shown
    assert table.type == Marker.CUBE and (table.scale.x, table.scale.y, table.scale.z) == (
        3.0,
        2.0,
        1.0,
    )
    assert -9.1 < wall.pose.position.x < later.pose.position.x < 0.0
    assert len({(m.ns, m.id) for m in last}) == len(last)
    refused = graph_set(simulator, "obstacle.table.position", [1.2, 0.0, 0.0])
    assert not refused.successful
    assert (
        "obstacle.table overlaps the pendulum by 0.302 m at the start; move obstacle.table.*"
        in refused.reason
    )
    assert graph_set(simulator, "obstacle.table.friction", 0.6).successful
    described = simulator.describe_parameter("obstacle.wall.velocity").description
    assert described.startswith("Moves the obstacle from its position")
    assert simulator.describe_parameter("obstacles").read_only


def test_a_jammed_pendulum_faults_and_recovers(graph):
    simulator = graph.simulator(**STANDING)
    status = graph.listen(String, "/pendulum_simulator/status", latched=True)
    wrenches = graph.listen(WrenchStamped, "/wrench/contact")
    graph.until(lambda: status and wrenches)
    assert xyz(wrenches[-1].wrench.force) == (0.0, 0.0, 0.0)
    simulator.runner.play()
    graph.until(lambda: status[-1].data.startswith("fault: "))
    assert "no impulses were found at contact.obstacle (" in status[-1].data
    assert graph_set(simulator, "contact.obstacle.kind", "none").successful
    assert graph.call(Trigger, "/pendulum_simulator/reset").success
    graph.until(lambda: status[-1].data == "playing")


@pytest.mark.parametrize(
    "name, value, sentence",
    [
        (
            "contact__floor__friction",
            -0.1,
            "contact.floor.friction is -0.1; it must be a finite number >= 0",
        ),
        ("contact__obstacle__restitution", 1.5, "contact.obstacle.restitution is 1.5; it must be"),
        (
            "obstacle__ball__size",
            [0.1],
            "obstacle.ball.size is given, but obstacles, [], does not name ball",
        ),
        ("obstacles", ["a b"], "'a b' is no name: it must begin with a letter"),
        (
            "contact__stops__x_min",
            0.5,
            "contact.stops.x overlaps the pendulum by 0.5 m at the start",
        ),
    ],
)
def test_what_cannot_be_is_refused_by_its_name(graph, capfd, name, value, sentence):
    try:
        graph.simulator(**{**LYING, name: value})
        said = ""
    except (ValueError, SystemExit) as error:
        said = str(error)
    assert sentence in said + capfd.readouterr().err
