"""What is published without Python is what Python would publish, and Python takes over where there
is more to say.
"""

import numpy as np
import pytest

pytest.importorskip(
    "rclpy", reason="rclpy is not importable: no ROS 2 here (./testbed test brings it)"
)

from geometry_msgs.msg import WrenchStamped  # noqa: E402
from nav_msgs.msg import Odometry  # noqa: E402
from rclpy.serialization import deserialize_message  # noqa: E402
from rosgraph_msgs.msg import Clock  # noqa: E402
from sensor_msgs.msg import Imu, JointState  # noqa: E402

from rbdyn_ros.mechanics.pendulum.gimbal_joints import GimbalJoints  # noqa: E402
from rbdyn_ros.parameters.tables import NODES, OFFLINE  # noqa: E402
from rbdyn_ros.ros.messages import native_publisher, sample, state_topics  # noqa: E402
from rbdyn_ros.ros.messages.frames import frames  # noqa: E402
from rbdyn_ros.ros.messages.messages import nanoseconds  # noqa: E402
from rbdyn_ros.simulation import native_loop  # noqa: E402
from rbdyn_ros.simulation.setup import plant_setup  # noqa: E402

if native_loop.steady() is None or not native_publisher.publish_address():
    pytest.skip(
        "stretches need a 64-bit Linux, compiled kernels and rcl's function",
        allow_module_level=True,
    )

SETUP = plant_setup(
    {parameter.name: parameter.default for parameter in (*OFFLINE, *NODES["pendulum_simulator"])}
)


@pytest.mark.parametrize("prefix", ["", "a", "ab/", "äöü_longer/"])
def test_the_bytes_are_those_of_python(prefix):
    joints, pose = state_topics.Joints(frames(prefix)), state_topics.Pose(frames(prefix))
    images = native_publisher.Images([native_publisher.clock_image(), joints.image, pose.image])
    buffers = native_loop.PublishBuffers(
        0, *[np.zeros(0, np.int64)] * 2, images.words, images.stamps, images.numbers, np.zeros(3)
    )
    memory, gimbal, rng = images.words.view(np.uint8), GimbalJoints(), np.random.default_rng(6)
    starts = [4 * (stamp - 1) for stamp in images.stamps]
    for stamp in rng.integers(10**9, 2**60, 20).tolist():
        Q = rng.normal(size=4)
        q, v = (
            np.array([*rng.normal(size=2), *Q / np.linalg.norm(Q)]),
            rng.normal(size=5) * 10.0 ** rng.integers(-100, 5),
        )
        native_loop.tell(buffers, stamp, q, v, np.array([1.5, -0.0]))
        taken = sample.of(SETUP, stamp, q.tolist(), v.tolist(), (1.5, -0.0), gimbal)
        told, posed = joints.packed(taken), pose.packed(taken)
        time, *both = (
            bytes(memory[start : start + size])
            for start, size in zip(starts, (12, len(told), len(posed)))
        )
        assert nanoseconds(deserialize_message(time, Clock).clock) == stamp
        for ours, theirs, kind in zip(both, (told, posed), (JointState, Odometry)):
            ours, theirs = deserialize_message(ours, kind), deserialize_message(theirs, kind)
            assert ours.header == theirs.header
            for mine, other in zip(numbers(ours), numbers(theirs)):
                assert mine == pytest.approx(other, rel=1e-12)


def numbers(message) -> list:
    """The doubles of a state."""
    if isinstance(message, JointState):
        return [*message.position, *message.velocity, *message.effort]
    pose, twist = message.pose.pose, message.twist.twist
    return [
        getattr(part, axis)
        for part in (pose.position, twist.linear, twist.angular)
        for axis in "xyz"
    ] + [getattr(pose.orientation, axis) for axis in "wxyz"]


@pytest.fixture
def counted(monkeypatch):
    """The ticks that passed in machine code, one number for each stretch."""
    found, run = [], native_loop.NativeLoop.run

    def counting(self, *arguments):
        answer = run(self, *arguments)
        found.append(int(self._report.ticks[0]))
        return answer

    monkeypatch.setattr(native_loop.NativeLoop, "run", counting)
    return found


START = dict(start="immediately", cart__travel=1e6)


def test_only_where_more_is_heard_python_publishes(graph, counted):
    simulator = graph.simulator(**START)
    states, times = graph.listen(Odometry, "odometry"), graph.listen(Clock, "/clock")
    command = graph.publisher(WrenchStamped, "cart/command")
    command.publish(WrenchStamped())
    graph.until(lambda: sum(counted) > 50 and len(states) > 20 and len(times) > 20)
    assert 50 < simulator.runner.statistics.plain <= simulator.runner.statistics.ticks
    felt = graph.listen(Imu, "imu/data")
    graph.until(lambda: len(felt) > 20)
    stretches = len(counted)
    graph.until(lambda: len(felt) > 60)
    assert len(counted) == stretches  # the IMU is due at every tick
    tick = simulator.runner.plant.tick_ns
    for stamps in (
        [nanoseconds(m.header.stamp) for m in states],
        [nanoseconds(m.clock) for m in times],
    ):
        assert all(gap > 0 and gap % tick == 0 for gap in np.diff(stamps))


def test_what_is_due_more_rarely_comes_between_stretches(graph, counted):
    graph.simulator(**START, rates__wrench=50.0)
    pressed, states = (
        graph.listen(WrenchStamped, "wrench/cart"),
        graph.listen(JointState, "joint_states"),
    )
    graph.publisher(WrenchStamped, "cart/command").publish(WrenchStamped())
    graph.until(lambda: len(pressed) > 5)
    before = len(counted)
    graph.until(
        lambda: len(pressed) > 30 and len(states) > 50 and 9 in counted[before:]
    )  # a busy machine cuts some short
    stamps = [nanoseconds(message.header.stamp) for message in pressed[5:]]
    assert (
        all(gap > 0 and gap % 20_000_000 == 0 for gap in np.diff(stamps))
        and max(counted[before:]) == 9
    )


def test_without_rcls_function_python_does_it(graph, counted, monkeypatch, capfd):
    monkeypatch.setattr(native_publisher, "publish_address", lambda: 0)
    simulator = graph.simulator(**START)
    assert "every tick is Python's" in capfd.readouterr().err
    states = graph.listen(Odometry, "odometry")
    graph.publisher(WrenchStamped, "cart/command").publish(WrenchStamped())
    graph.until(lambda: len(states) > 50)
    assert not counted and simulator.runner.statistics.plain == 0
