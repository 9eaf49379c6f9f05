"""The viewer's reading of messages: poses by three roads, shapes, solids, parameters, and what is
wrong, in words.
"""

import array
import math
from types import SimpleNamespace

import pytest

pytest.importorskip(
    "rclpy", reason="rclpy is not importable: no ROS 2 here (./testbed test brings it)"
)

from geometry_msgs.msg import WrenchStamped  # noqa: E402
from nav_msgs.msg import Odometry  # noqa: E402
from rcl_interfaces.msg import ParameterDescriptor, ParameterType, ParameterValue  # noqa: E402
from rclpy.serialization import serialize_message  # noqa: E402
from std_msgs.msg import Float64MultiArray  # noqa: E402

from rbdyn_ros.parameters.tables import NODES  # noqa: E402
from rbdyn_ros.plant import setup  # noqa: E402
from rbdyn_ros.plant.plant import Setup  # noqa: E402
from rbdyn_ros.ros import description  # noqa: E402
from rbdyn_ros.ros.declared_parameters import _descriptor  # noqa: E402
from rbdyn_ros.ros.messages import (  # noqa: E402
    commands,  # noqa: E402
    sample,
    state_topics,
)
from rbdyn_ros.ros.messages.cdr import OdometryBytes, Wrench  # noqa: E402
from rbdyn_ros.ros.messages.messages import frames, label_array, set_stamp  # noqa: E402
from rbdyn_ros.ros.simulator.markers import Markers  # noqa: E402
from rbdyn_ros.ros.viewer import observation, readings  # noqa: E402
from rbdyn_ros.ros.viewer.problems import Complaint, Facts, problems  # noqa: E402
from rbdyn_ros.ros.viewer.readings import (  # noqa: E402
    Pose,
    pose_of_joints,
    pose_of_odometry,
    pose_of_transforms,
    read_force,
)
from rbdyn_ros.ros.viewer.remote_parameters import describe  # noqa: E402
from rbdyn_ros.view import meshes  # noqa: E402

Q = (0.3, -0.2, 0.8, 0.36, -0.48, 0.0)  # cart, wxyz
V = (0.5, -0.7, 0.1, 0.2, -0.3)
NOW = {"state_age": 0.0, "state_publishers": 1, "command_age": 0.0, "command_publishers": 1}
WELL = Facts("/plant", "/law", status="playing", controller_status="running", **NOW)


def plant(**values) -> Setup:
    """The simulator's plant, with these parameters."""
    defaults = {p.name: p.default for p in NODES["pendulum_simulator"]}
    changed = {name.replace("__", "."): value for name, value in values.items()}
    return setup.plant_setup({**defaults, **changed})


def taken(made: Setup) -> sample.Sample:
    """An instant of a plant."""
    return sample.Sample(made, 5 * 10**9, [*Q], [*V], (1.0, 2.0), sample.GimbalJoints())


def test_odometry_joints_and_transforms_tell_the_same_pose(ros):
    from rclpy.node import Node

    def pose_of_bytes(data: bytes) -> Pose:
        return pose_of_odometry(OdometryBytes().motion(data))

    instant, names = taken(plant()), frames("lab/")
    node = Node("looking_on")
    try:
        seen = observation.Observation(node, names)
        seen._transform(state_topics.Moving(names).fill(instant))
        poses = (
            pose_of_bytes(serialize_message(state_topics.RodOdometry(names).fill(instant))),
            pose_of_joints(state_topics.Joints(names).fill(instant)),
            pose_of_transforms(seen._transforms, names),
        )
    finally:
        node.destroy_node()
    for pose in poses:
        assert pose.stamp == 5 * 10**9 and pose.cart == pytest.approx(Q[:2])
        sign = math.copysign(1.0, pose.attitude[0])
        assert [sign * part for part in pose.attitude] == pytest.approx(Q[2:], abs=1e-12)
    for pose in poses[:2]:
        assert pose.cart_velocity == pytest.approx(V[:2])
    assert poses[0].angular_velocity == pytest.approx(V[2:])


def test_the_pose_is_taken_at_each_look_and_the_forces_when_they_are_due(graph, monkeypatch):
    """Age and force of a command stay those of one instant between two looks at the forces."""
    monkeypatch.setattr(observation, "FORCE_PERIOD", math.inf)
    seen = observation.Observation(graph.probe, frames())
    states = graph.publisher(Odometry, observation.MEASURED)
    orders = graph.publisher(WrenchStamped, commands.CART)
    graph.until(lambda: states.get_subscription_count() and orders.get_subscription_count())

    def look(stamp: int, force: float) -> bool:
        """Whether a state is seen that is published with the answer to the one before it."""
        state, order = Odometry(), WrenchStamped()
        set_stamp(state.header.stamp, stamp)
        set_stamp(order.header.stamp, stamp - 10**6)
        order.wrench.force.x = force
        orders.publish(order)
        states.publish(state)
        seen.poll()
        return seen.stamp == stamp and seen.scene() is not None

    def look_at_all(stamp: int, force: float) -> bool:
        seen._forces_due = 0.0
        return look(stamp, force) and seen.scene().commanded == (force, 0.0)

    graph.until(lambda: look_at_all(10**9, 1.0))
    graph.until(lambda: look(2 * 10**9, 2.0))
    assert seen.scene().commanded == (1.0, 0.0)
    assert seen.scene().command_age == pytest.approx(1e-3)
    graph.until(lambda: look_at_all(3 * 10**9, 3.0))
    assert seen.scene().command_age == pytest.approx(1e-3)


def test_commands_are_read_where_the_plant_does_not_report_them(graph):
    seen = observation.Observation(graph.probe, frames())
    seen.follow("/plant", "")
    states = graph.publisher(Odometry, observation.MEASURED)
    reports = graph.publisher(Float64MultiArray, "/plant/integrator")
    orders = graph.publisher(WrenchStamped, commands.CART)
    graph.until(orders.get_subscription_count)
    count = 0.0

    def is_read() -> bool:
        """Whether the view subscribes to commands."""
        readers = graph.probe.get_subscriptions_info_by_topic("/" + commands.CART)
        return any(reader.node_name == "probe" for reader in readers)

    def look(labels: dict[str, float]) -> float:
        """The commanded force along x after a state and a report of a new command."""
        nonlocal count
        count += 1.0
        message = label_array(tuple(labels) + state_topics.COMMAND_LABELS[3:])
        message.data = array.array("d", [*labels.values(), count])
        reports.publish(message)
        states.publish(Odometry())
        seen._forces_due = 0.0
        seen.poll()
        seen.choose()
        return seen.scene().commanded[0] if seen.scene() else math.nan

    reported = dict(zip(state_topics.COMMAND_LABELS, (3.0, -1.0, 0.02)))
    graph.until(lambda: look(reported) == 3.0)
    assert seen.scene().commanded == (3.0, -1.0)
    assert seen.scene().command_age == 0.02
    assert seen.age(commands.CART) < observation.FRESH
    graph.until(lambda: not is_read())
    seen.arrived[commands.CART] -= observation.FRESH  # no further command was accepted
    seen._forces_due = 0.0
    seen.poll()
    assert math.isnan(seen.scene().commanded[0])
    graph.until(lambda: math.isnan(look({"energy": 1.0})) and is_read())


def test_the_commanded_force_is_that_of_any_topic():
    cart = Wrench(0, "", (1.0, 2.0, 0.0), (0.0, 0.0, 0.0))
    efforts = Float64MultiArray(data=[3.0, 4.0])
    joints = state_topics.JointState(name=["cart_y_joint", "cart_x_joint"], effort=[6.0, 5.0])
    unclaimed = state_topics.JointState(name=joints.name, effort=[6.0, math.nan])
    stamped = SimpleNamespace(
        header=joints.header, interface_name="effort", joint_names=["cart_y_joint"], values=[7.0]
    )  # as `control_msgs/JointCommand`
    for topic, message, force in (
        ("cart/command", cart, (1.0, 2.0)),
        ("effort_controller/commands", efforts, (3.0, 4.0)),
        ("joint_commands", joints, (5.0, 6.0)),
        ("joint_commands", unclaimed, (0.0, 6.0)),
        ("joint_commands/stamped", stamped, (0.0, 7.0)),
    ):
        assert read_force(topic, message) == force
    for message in (Float64MultiArray(), Float64MultiArray(data=[1.0, math.nan])):
        assert all(map(math.isnan, read_force("effort_controller/commands", message)))


def test_joints_of_another_robot_tell_nothing():
    message = state_topics.JointState(name=["elbow"], position=[1.0])
    assert pose_of_joints(message) is None


def test_the_shape_of_the_urdf_is_that_of_the_parameters():
    made = plant(rod__length=1.7, rod__radius=0.04, cart__travel=1.2)
    found = readings.shape(description.urdf(made, 30.0, 0.3))
    assert found == meshes.shape(made.declared, 1.2, 30.0)
    hardware = description.HardwareTopics("/joint_commands", "/joint_states")
    assert readings.shape(description.urdf(made, 30.0, 0.3, hardware)) == found


def test_a_urdf_without_limits_or_frames_is_read_as_far_as_it_goes():
    found = readings.shape("<robot name='r'><link name='pendulum_link'/></robot>")
    assert found == readings.Shape() and found.travel == math.inf
    with pytest.raises(ValueError, match="no URDF"):
        readings.shape("<robot")


def test_the_solids_of_the_markers_are_those_of_the_parameters():
    things = {
        "contact__floor__enabled": True,
        "contact__floor__height": -0.2,
        "contact__stops__x_min": -1.5,
        "contact__stops__x_max": 1.5,
        "contact__obstacle__kind": "sphere",
        "contact__obstacle__center": (1.0, 0.5, 1.0),
        "contact__obstacle__radius": 0.15,
    }
    made = plant(**things)
    markers = Markers(frames()).fill(taken(made)).markers
    found = {solid.name: solid for solid in readings.solids(markers)}
    wanted = {solid.name: solid for solid in meshes.solids(made.system.contacts, 0.0)}
    found_floor, floor = found.pop("floor"), wanted.pop("floor")
    assert found == wanted
    assert found_floor.shape == floor.shape == "plane"
    assert found_floor.position[2] == pytest.approx(floor.position[2])


@pytest.mark.parametrize(
    "name", ["rod.mass", "overrun", "gravity", "integrator.max_iterations", "rates.idle"]
)
def test_a_described_parameter_is_the_declared_one(name):
    declared = next(p for p in NODES["pendulum_simulator"] if p.name == name)
    value = ParameterValue()
    value.type, field = {
        "float": (ParameterType.PARAMETER_DOUBLE, "double_value"),
        "int": (ParameterType.PARAMETER_INTEGER, "integer_value"),
        "string": (ParameterType.PARAMETER_STRING, "string_value"),
        "float_array": (ParameterType.PARAMETER_DOUBLE_ARRAY, "double_array_value"),
    }[declared.kind]
    default = declared.default
    setattr(value, field, list(default) if isinstance(default, tuple) else default)
    descriptor = _descriptor(declared)
    descriptor.name = name
    found = describe(descriptor, value)
    same = ("name", "default", "unit", "description", "kind", "choices", "read_only")
    assert [getattr(found, key) for key in same] == [getattr(declared, key) for key in same]
    assert (found.low, found.high) == (declared.low, declared.high)


def test_somebody_elses_descriptor_without_a_range():
    descriptor = ParameterDescriptor(name="gain", description="A gain in 1/s.")
    value = ParameterValue(type=ParameterType.PARAMETER_DOUBLE, double_value=2.0)
    found = describe(descriptor, value)
    assert (found.default, found.unit, found.low, found.high) == (2.0, "", None, None)
    assert found.description == "A gain in 1/s."


@pytest.mark.parametrize(
    "changes, what",
    [
        ({"state_age": math.inf, "state_publishers": 0}, "Nobody publishes odometry"),
        ({"state_age": math.inf}, "has not published a state yet"),
        ({"state_age": 0.8, "state_publishers": 0}, "The plant is gone: its last state is 0.8 s"),
        ({"state_age": 0.8}, "/plant is silent"),
        ({"state_publishers": 2}, "2 nodes publish the state"),
        ({"status": "fault: no step"}, "/plant stopped: no step."),
        ({"status": "stopped"}, "/plant is not active"),
        ({"status": "playing: rejected: a stamp"}, "Rejected: a stamp."),
        ({"command_publishers": 0}, "The controller is gone"),
        ({"command_publishers": 0, "command_age": math.inf}, "There is none"),
        ({"command_age": 0.9}, "The newest command is 0.9 s old"),
        ({"command_age": math.inf}, "No command has come"),
        ({"command_publishers": 2}, "2 nodes publish on cart/command"),
        ({"controller_status": "fault: too far"}, "/law stopped: too far"),
        ({"controller_status": "state refused: nan"}, "/law refuses the state: nan"),
        ({"controller_status": "state late"}, "reaches /law too late"),
        ({"controller_status": "law too slow"}, "slower than its budget"),
        ({"controller_status": "disarmed"}, "/law is disarmed"),
        ({"complaints": (Complaint("plant: command", "it is old", True),)}, "It is old."),
    ],
)
def test_what_is_wrong_is_said_with_what_to_do(changes, what):
    assert problems(WELL) == ()
    found = problems(WELL._replace(**changes))
    assert [problem for problem in found if what in problem.what]
    assert all(problem.what.endswith(".") and problem.advice.endswith(".") for problem in found)


def test_a_stale_command_is_no_wonder_while_time_stands_still():
    paused = WELL._replace(status="paused", command_age=5.0)
    assert problems(paused) == ()
    assert not any(p.severe for p in problems(paused._replace(command_publishers=0)))
