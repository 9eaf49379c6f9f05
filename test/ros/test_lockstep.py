"""Lockstep runs give identical bytes, with our controller and with a node of somebody else; what
has no stamp has no part in them.
"""

import math
import struct
import sys
from pathlib import Path

import pytest

pytest.importorskip(
    "rclpy", reason="rclpy is not importable: no ROS 2 here (./testbed test brings it)"
)

from geometry_msgs.msg import WrenchStamped  # noqa: E402
from nav_msgs.msg import Odometry  # noqa: E402
from sensor_msgs.msg import Imu, JointState  # noqa: E402
from std_msgs.msg import Float64MultiArray, String  # noqa: E402

from rbdyn_ros.plant.command import UNSTAMPED  # noqa: E402
from rbdyn_ros.ros.messages.messages import nanoseconds, set_stamp  # noqa: E402

sys.path.insert(0, str(Path(__file__).parents[2] / "examples"))
from balancer_node import Balancer  # noqa: E402

REPEATS = 4
END = 2_000_000_000  # [ns] one simulated second after the first stamp
START = dict(
    lockstep__enabled=True,
    lockstep__timeout=30.0,
    real_time_factor=0.0,
    initial__orientation=[math.cos(0.1), math.sin(0.1), 0.0, 0.0],
    initial__angular_velocity=[0.0, 0.0, 2.0],
)


STOPS = dict(
    integrator__name="quaternion_midpoint",
    contact__stops__x_max=0.01,
    contact__stops__y_min=-0.01,
    contact__stops__restitution=0.5,
)
FAULTS = dict(
    seed=5, faults__command__delay=0.004, faults__command__jitter=0.006,
    faults__command__drop=0.2, faults__command__duplicate=0.1,
    faults__state__delay=0.004, faults__state__drop=0.05, faults__state__freeze=0.05,
    faults__noise__angle=1e-3,
    faults__noise__gyroscope=0.01, faults__noise__accelerometer=0.1, faults__encoder__cart=1e-3,
    faults__actuator__lag=0.01,
)  # fmt: skip


def run(graph, changes: dict) -> dict:
    """(stamp, topic) -> the message's bytes.

    The effort of joint_states is the force that was applied.
    """
    simulator = graph.simulator(**START, **changes)
    topics = {"/joint_states": JointState, "/odometry": Odometry, "/imu/data": Imu}
    received = [graph.listen(kind, topic) for topic, kind in topics.items()]
    graph.controller()
    graph.until(lambda: simulator.runner.plant.stamp > END)
    simulator.runner.end()
    assert simulator.runner.statistics.lockstep_timeouts == 0
    assert (simulator.runner.plant.diagnostics.impacts > 0) == (changes == STOPS)
    assert (sum(simulator.runner.signals.faults.counts().values()) > 0) == (changes == FAULTS)
    stamped = [
        (topic, nanoseconds(m.header.stamp), m)
        for topic, messages in zip(topics, received)
        for m in messages
    ]
    return {(stamp, topic): content(m) for topic, stamp, m in stamped if stamp <= END}


def content(message) -> bytes:
    """Every number of a message, bit by bit. (Serialized, it would have padding, which is whatever
    was in memory.)
    """
    if isinstance(message, (int, float)):
        return struct.pack("d", message)
    if isinstance(message, str):
        return message.encode()
    if hasattr(message, "get_fields_and_field_types"):
        message = [getattr(message, field) for field in message.get_fields_and_field_types()]
    return b"".join(map(content, message))


@pytest.mark.parametrize("changes", [{}, STOPS, FAULTS], ids=["smooth", "contacts", "faults"])
def test_two_runs_are_identical(graph, ros, tmp_path, changes):
    first = run(graph, changes)
    graph.close()
    graph.__init__(tmp_path)
    second = run(graph, changes)
    shared = sorted(set(first) & set(second))
    assert len(shared) > 1300  # of fifteen hundred: a reader that is late may miss some
    assert [key for key in shared if first[key] != second[key]] == []


class Unstamped(Balancer):
    """The balancer of examples/, which forgets to say which state it answers."""

    def __init__(self, topic: str):
        super().__init__()
        self.answers, self.stamped, self.effort = 0, self.commands, None
        self.commands = self  # whose `publish` the balancer calls
        if topic == "effort_controller/commands":
            self.effort = self.create_publisher(Float64MultiArray, topic, 1)

    def publish(self, command: WrenchStamped) -> None:
        """The same force without the stamp."""
        self.answers += 1
        if self.effort:
            self.effort.publish(
                Float64MultiArray(data=[command.wrench.force.x, command.wrench.force.y])
            )
        else:
            set_stamp(command.header.stamp, 0)
            self.stamped.publish(command)


@pytest.fixture
def beside(graph):
    """Spin a node beside those of the graph, in place of the one before it."""
    present = []

    def end() -> None:
        for node in present:
            graph.executor.remove_node(node)
            node.destroy_node()
        present.clear()

    def begin(node):
        end()
        present.append(node)
        graph.executor.add_node(node)
        return node

    begin.end = end
    yield begin
    end()


def history(simulator) -> tuple:
    """What moved until `END`, and which force moved it, bit by bit."""
    simulator.runner.end()
    stamps, rows = simulator.runner.recent_history()
    return stamps[stamps <= END].tobytes(), rows[stamps <= END].tobytes()


def test_runs_with_a_node_of_somebody_else_are_identical(graph, beside, tmp_path):
    runs = set()
    for _ in range(REPEATS):
        simulator = graph.simulator(**START)
        beside(Balancer())
        graph.until(lambda: simulator.runner.plant.stamp > END)
        runs.add(history(simulator))
        assert (
            simulator.runner.statistics.lockstep_timeouts == 0
            and math.hypot(*simulator.runner.plant.q[3:5]) < 0.1
        )
        beside.end()
        graph.close()
        graph.__init__(tmp_path)
    assert len(runs) == 1


@pytest.mark.parametrize("topic", ["effort_controller/commands", "cart/command"])
def test_commands_without_a_stamp_are_refused_every_time(graph, beside, tmp_path, topic, capfd):
    """Before, such a node fell, or settled in 4.39, 3.45, 3.32 s: which state its force met was a
    matter of chance.
    """
    runs = []
    for _ in range(REPEATS):
        simulator, status = (
            graph.simulator(**START),
            graph.listen(String, "/pendulum_simulator/status", latched=True),
        )
        node = beside(Unstamped(topic))
        graph.until(
            lambda: node.answers > 20 and simulator.runner.command_queue.rejected[UNSTAMPED] > 5
        )
        graph.until(lambda: status and status[-1].data.startswith("paused: "))
        assert (
            simulator.runner.command_queue.accepted == 0
            and simulator.runner.command_queue.late == 0
        )
        runs.append(
            (simulator.runner.plant.stamp, simulator.runner.plant.q.tobytes(), status[-1].data)
        )
        assert any(
            "rejected: " + topic in sentence
            for _, findings, _ in simulator.findings()
            for _, sentence in findings
        )
        beside.end()
        graph.close()
        graph.__init__(tmp_path)
    assert len(set(runs)) == 1
    assert runs[0][2] == (
        f"paused: rejected: {topic} has no stamp, and in lockstep a command must say which "
        "state it answers; publish a WrenchStamped "
        "on cart/command with the header.stamp of joint_states, or set lockstep.enabled to false"
    )
    assert (
        capfd.readouterr().err.count(f"rejected: {topic}") == REPEATS
    )  # once in the log of each run


def test_a_stray_command_without_a_stamp_does_not_change_a_run(graph, beside):
    """Two publishers, one of which knows no stamps: only the other one is received, and ~/status
    tells of the first.
    """
    simulator, status = (
        graph.simulator(**START),
        graph.listen(String, "/pendulum_simulator/status", latched=True),
    )
    stray = graph.publisher(Float64MultiArray, "/effort_controller/commands")
    beside(Balancer())
    sent = []

    def ended() -> bool:
        if simulator.runner.plant.stamp > 1_200_000_000 and len(sent) < 5:
            sent.append(stray.publish(Float64MultiArray(data=[20.0, 0.0])))
        return (
            simulator.runner.plant.stamp > END
            and simulator.runner.command_queue.rejected[UNSTAMPED] > 0
        )

    graph.until(ended)
    assert abs(simulator.runner.plant.q[3:5]).max() < 0.1 and simulator.runner.status == "playing"
    graph.until(
        lambda: status[-1].data.startswith(
            "playing: rejected: effort_controller/commands has no stamp"
        )
    )


def test_a_reader_loses_nothing(graph):
    """However fast time runs: publishers wait for acknowledgments."""
    simulator, states = graph.simulator(**START), graph.listen(Odometry, "/odometry")
    graph.controller()
    graph.until(lambda: simulator.runner.plant.stamp > END)
    simulator.runner.end()
    plant = simulator.runner.plant
    graph.until(lambda: nanoseconds(states[-1].header.stamp) == plant.stamp)
    stamps = {nanoseconds(message.header.stamp) for message in states}
    assert len(stamps) == (plant.stamp - min(stamps)) // plant.tick_ns + 1
    assert simulator.runner.statistics.lockstep_timeouts == 0
