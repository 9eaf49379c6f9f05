"""The cart as hardware of ros2_control: what its plugin publishes moves the cart, what does not
fit is refused, and its end is zero force.
"""

import math
import os
import random
import signal
import subprocess
import sys
from types import SimpleNamespace

import pytest

pytest.importorskip(
    "rclpy", reason="rclpy is not importable: no ROS 2 here (./testbed test brings it)"
)

import ros2_control_stand_in  # noqa: E402
from ros2_control_stand_in import COMMANDS, StandIn  # noqa: E402
from sensor_msgs.msg import JointState  # noqa: E402
from std_msgs.msg import Float64MultiArray  # noqa: E402

from rbdyn_ros.plant.status import Rejected  # noqa: E402
from rbdyn_ros.ros.messages import commands  # noqa: E402
from rbdyn_ros.ros.messages.commands import force_of_joints, force_of_stamped  # noqa: E402
from rbdyn_ros.ros.messages.state_topics import JOINTS  # noqa: E402

X, Y = JOINTS[:2]
NAN = math.nan
FORCE = (5.0, -2.0)


@pytest.mark.parametrize(
    "names, efforts, force",
    [
        ([X, Y], [1.0, 2.0], (1.0, 2.0)),
        ([Y, X], [1.0, 2.0], (2.0, 1.0)),
        (JOINTS, [1.0, 2.0], (1.0, 2.0)),  # as JointStateTopicSystem sends it
        (JOINTS[::-1], [1.0, 2.0], (2.0, 1.0)),
        (JOINTS, [1.0, 2.0, 0.0, NAN, 0.0], (1.0, 2.0)),
        (JOINTS[::-1], [NAN, 0.0, NAN, 1.0, 2.0], (2.0, 1.0)),
        ([X], [1.0], (1.0, 0.0)),
        ([Y], [1.0], (0.0, 1.0)),
        ([JOINTS[3], Y], [1.0], (0.0, 1.0)),
        ([X, Y], [3.0, NAN], (3.0, 0.0)),  # no controller has claimed the other joint
        (JOINTS, [NAN, -2.0], (0.0, -2.0)),
        (JOINTS[::-1], [NAN, NAN, NAN, NAN, 3.0], (3.0, 0.0)),
    ],
)
def test_efforts_are_taken_by_name(names, efforts, force):
    assert force_of_joints(names, efforts, "joint_commands") == force


REFUSED = [
    (["cart_z_joint"], [1.0], "joint", "the joint 'cart_z_joint'; it must be one of cart_x_joint"),
    ([X, X], [1.0, 1.0], "joint", "names cart_x_joint twice"),
    ([JOINTS[2]], [1.0], "joint", "names no joint of the cart"),
    ([], [], "joint", "names no joint of the cart"),
    ([X, JOINTS[4]], [1.0, 3.0], "joint", "an effort of 3 for pendulum_spin_joint, which has no"),
    ([X, JOINTS[4]], [1.0, math.inf], "joint", "an effort of inf for pendulum_spin_joint"),
    ([X, Y], [], "length", "has 0 efforts for 2 joints"),
    ([X, Y], [1.0], "length", "has 1 efforts for 2 joints"),
    (JOINTS, [1.0, 2.0, 3.0], "length", "has 3 efforts for 5 joints"),
    ([X, Y], [1.0, -math.inf], "not finite", "an effort of -inf N for cart_y_joint"),
    ([X, Y], [NAN, math.inf], "not finite", "an effort of inf N for cart_y_joint"),
    (JOINTS, [NAN, NAN, 0.0, 0.0, 0.0], commands.UNSET, "no controller has set it"),
    ([X, Y], [NAN, NAN], commands.UNSET, "no controller has set it"),
]


@pytest.mark.parametrize("names, efforts, reason, sentence", REFUSED)
def test_efforts_that_do_not_fit_are_refused(names, efforts, reason, sentence):
    with pytest.raises(Rejected) as refused:
        force_of_joints(names, efforts, "joint_commands")
    assert refused.value.reason == reason and sentence in str(refused.value)


def stamped(interface="effort", names=(X, Y), values=FORCE):
    """As `control_msgs/JointCommand`."""
    return SimpleNamespace(interface_name=interface, joint_names=names, values=values)


def test_a_stamped_command_is_one_of_efforts_with_a_value_for_each_joint():
    assert force_of_stamped(stamped(), "topic") == FORCE
    assert force_of_stamped(stamped(values=(NAN, -2.0)), "topic") == (0.0, -2.0)
    for message, reason in (
        (stamped("position"), "interface"),
        (stamped(""), "interface"),
        (stamped(names=JOINTS), "length"),
        (stamped(names=("elbow", Y)), "joint"),
        (stamped(values=(NAN, NAN)), commands.UNSET),
    ):
        with pytest.raises(Rejected) as refused:
            force_of_stamped(message, "topic")
        assert refused.value.reason == reason


def test_stamped_commands_move_the_cart_where_the_message_is_installed(graph):
    kind = commands.KINDS.get(commands.STAMPED_TOPIC)
    if kind is None:
        pytest.skip("control_msgs has no JointCommand here (Kilted and later have it)")
    simulator = graph.simulator(start="immediately", watchdog__timeout=0.1)
    publisher = graph.publisher(kind, f"/{commands.STAMPED_TOPIC}")
    publisher.publish(kind(interface_name="effort", joint_names=[X, Y], values=FORCE))
    graph.until(lambda: simulator.runner.command_queue.accepted == 1)
    late = kind(interface_name="effort", joint_names=[X, Y], values=FORCE)
    late.header.stamp.nanosec = 1
    graph.until(lambda: simulator.runner.plant.time > 0.2)
    publisher.publish(late)
    graph.until(lambda: simulator.runner.command_queue.rejected["stale"] == 1)


def test_what_is_refused_is_counted_and_the_command_before_stays(graph):
    simulator = graph.simulator(real_time_factor=1.0)
    queue, publisher = (
        simulator.runner.command_queue,
        graph.publisher(JointState, "/joint_commands"),
    )
    publisher.publish(JointState(name=[Y, X], effort=[-2.0, 5.0]))
    graph.until(lambda: simulator.runner.plant.force == FORCE)
    for names, efforts, reason, sentence in REFUSED[:3] + REFUSED[7:]:
        before = queue.rejected[reason]
        publisher.publish(JointState(name=names, effort=efforts))
        graph.until(lambda: queue.rejected[reason] == before + 1)
        assert sentence in queue.rejection and queue.newest.force == FORCE
    assert any(f"rejected, {commands.UNSET}" in v for _, _, v in simulator.findings())
    publisher.publish(JointState(name=[Y], effort=[3.0]))  # a joint that is not named gets zero
    graph.until(lambda: simulator.runner.plant.force == (0.0, 3.0))
    publisher.publish(JointState(name=[X, Y], effort=[3.0, NAN]))  # and one that is not claimed
    graph.until(lambda: simulator.runner.plant.force == (3.0, 0.0))


@pytest.fixture
def stand_in(graph):
    """Start a stand-in beside the nodes of the graph, once its hardware is described."""
    started = []

    def start(*options) -> StandIn:
        node = StandIn(*options)
        started.append(node)
        graph.executor.add_node(node)
        graph.until(lambda: node.publisher and node.publisher.get_subscription_count())
        return node

    yield start
    for node in started:
        graph.executor.remove_node(node)
        node.destroy_node()


def test_the_plugin_finds_its_hardware_and_time_begins_with_the_first_effort(graph, stand_in):
    simulator = graph.simulator(ros2_control=True)
    node, queue = stand_in(), simulator.runner.command_queue
    assert node.publisher.topic_name == "/joint_commands" and node.threshold == -1.0
    assert [name for name, commanded, _ in node.joints if commanded == ["effort"]] == [X, Y]
    graph.until(lambda: node._state.name)
    node.read()  # every quantity of joint_states has its interface
    assert all(map(math.isfinite, (v for _, _, states in node.joints for v in states.values())))
    assert node.write()  # NaN: no controller has set the efforts
    graph.until(lambda: queue.rejected == {commands.UNSET: 1})
    assert simulator.runner.status == "paused" and queue.accepted == 0
    node.commands = list(FORCE)
    assert node.write()
    graph.until(lambda: simulator.runner.plant.force == FORCE)


@pytest.mark.parametrize("compared, speaks", [(("effort",), True), (("position",), False)])
def test_only_a_negative_threshold_repeats_a_force(graph, stand_in, compared, speaks):
    """With its default the plugin is silent once the force acts, before 1.1.0 always."""
    simulator = graph.simulator(ros2_control=True, real_time_factor=0.05, watchdog__timeout=0.1)
    node = stand_in("1e-5", compared)
    node.commands = list(FORCE)
    graph.until(lambda: node._state.name)
    node.read()
    assert node.write() == speaks
    if speaks:
        graph.until(lambda: simulator.runner.plant.force == FORCE)
        graph.until(lambda: tuple(node._state.effort[:2]) == FORCE)
        node.read()
        assert not node.write()
        graph.until(lambda: simulator.runner.statistics.watchdog_trips == 1)
        assert simulator.runner.plant.force == (0.0, 0.0)
    node.threshold = -1.0
    assert node.write()


@pytest.fixture
def manager(tmp_path):
    """The stand-in as a process of its own."""
    with open(tmp_path / "manager.log", "w") as log:
        process = subprocess.Popen(
            [sys.executable, ros2_control_stand_in.__file__], stdout=log, stderr=log
        )
    yield process
    process.kill()
    process.wait()


def test_zero_force_within_the_watchdog_when_the_manager_is_stopped_or_killed(graph, manager):
    """At a random phase of its period. Simulated time is slow, so that a busy machine keeps up."""
    slow = dict(real_time_factor=0.2, watchdog__timeout=0.1)
    simulator = graph.simulator(ros2_control=True, start="immediately", **slow)
    runner, seed = simulator.runner, random.Random(61)
    commands = graph.publisher(Float64MultiArray, f"/{COMMANDS}")
    again = graph.probe.create_timer(
        0.1, lambda: commands.publish(Float64MultiArray(data=list(FORCE)))
    )  # the manager may know the publisher later than the publisher knows it
    graph.until(lambda: runner.plant.force == FORCE)
    graph.probe.destroy_timer(again)
    for ending in (signal.SIGSTOP, signal.SIGSTOP, signal.SIGKILL):
        graph.until(lambda: runner.plant.force == FORCE)
        resumed, pause = runner.plant.stamp, 1e6 * seed.uniform(1.0, 3.0)
        graph.until(lambda: runner.plant.stamp > resumed + pause)
        manager.send_signal(ending)
        os.waitid(os.P_PID, manager.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
        stopped = runner.plant.stamp
        graph.until(lambda: runner.plant.force == (0.0, 0.0))
        assert runner.plant.stamp - stopped < 200_000_000  # [ns] 0.1 s and what was on its way
        graph.until(lambda: runner.statistics.watchdog_expired)
        manager.send_signal(signal.SIGCONT)
