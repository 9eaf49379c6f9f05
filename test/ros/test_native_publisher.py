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
from sensor_msgs.msg import Imu, JointState, MultiDOFJointState  # noqa: E402

from rbdyn_ros.mechanics.pendulum.gimbal_joints import GimbalJoints  # noqa: E402
from rbdyn_ros.parameters.tables import NODES, OFFLINE  # noqa: E402
from rbdyn_ros.ros.messages import native_publisher, sample, state_topics  # noqa: E402
from rbdyn_ros.ros.messages.messages import (
    frames,  # noqa: E402
    nanoseconds,  # noqa: E402
)
from rbdyn_ros.simulation import native_loop, state_messages, steady_clock  # noqa: E402
from rbdyn_ros.simulation.setup import plant_setup  # noqa: E402
from rbdyn_ros.simulation.tick import TickState  # noqa: E402

PUBLISH = "rcl_publish_serialized_message"
if steady_clock.steady() is None or not native_publisher.rcl_address(PUBLISH):
    pytest.skip(
        "stretches need a 64-bit Linux, compiled kernels and rcl's function",
        allow_module_level=True,
    )

SETUP = plant_setup(
    {parameter.name: parameter.default for parameter in (*OFFLINE, *NODES["pendulum_simulator"])}
)


KINDS = {
    state_topics.Joints: JointState,
    state_topics.RodOdometry: Odometry,
    state_topics.BallJoint: MultiDOFJointState,
    state_topics.Inertial: Imu,
}


@pytest.mark.parametrize("prefix", ["", "a", "ab/", "äöü_longer/"])
def test_the_bytes_are_those_of_python(prefix):
    sources = [make(frames(prefix)) for make in KINDS]
    images = native_publisher.Images(
        [native_publisher.clock_image(), *(source.image for source in sources)]
    )
    state = TickState.at_rest()
    buffers = state_messages.MessageBuffers(
        *(images.words, images.stamps, *images.numbers[1:], np.zeros(3))
    )
    memory, gimbal, rng = images.words.view(np.uint8), GimbalJoints(), np.random.default_rng(6)
    starts = [4 * (stamp - 1) for stamp in images.stamps]
    damping = SETUP.system.joint_damping
    for stamp in rng.integers(10**9, 2**60, 20).tolist():
        Q, felt = rng.normal(size=4), tuple(rng.normal(size=3).tolist())
        state.q[:] = *rng.normal(size=2), *Q / np.linalg.norm(Q)
        state.v[:] = rng.normal(size=5) * 10.0 ** rng.integers(-100, 5)
        state.reaction[:] = rng.normal(size=3)
        q, v = state.q, state.v
        state_messages.write_state_messages(buffers, stamp, q, v, np.array([1.5, -0.0]))
        state_messages.write_ball_joint(buffers, damping, q, v, state.reaction)
        state_messages.write_imu(buffers, q, tuple(v[2:].tolist()), felt)
        taken = sample.of(SETUP, stamp, q.tolist(), v.tolist(), (1.5, -0.0), gimbal)
        taken = taken._replace(reaction=state.reaction, specific_force=lambda felt=felt: felt)
        packed = [source.pack(taken) for source in sources]
        time, *native = (
            bytes(memory[start : start + size])
            for start, size in zip(starts, (12, *map(len, packed)))
        )
        assert nanoseconds(deserialize_message(time, Clock).clock) == stamp
        for ours, theirs, source, kind in zip(native, packed, sources, KINDS.values()):
            ours, theirs = deserialize_message(ours, kind), deserialize_message(theirs, kind)
            assert theirs == source.fill(taken) and ours.header == theirs.header
            assert numbers(ours) == pytest.approx(numbers(theirs), rel=1e-12, abs=1e-300)


def numbers(message) -> list:
    """The doubles of a state, covariances included."""
    if isinstance(message, float):
        return [message]
    if hasattr(message, "get_fields_and_field_types"):
        parts = [getattr(message, name) for name in message.get_fields_and_field_types()]
    else:
        parts = [] if isinstance(message, (str, int)) else message
    return [number for part in parts for number in numbers(part)]


@pytest.fixture
def counted(monkeypatch):
    """The ticks that passed in machine code, one number for each stretch."""
    found, run = [], native_loop.NativeLoop.run

    def counting(self, *arguments):
        answer = run(self, *arguments)
        found.append(int(self._result.ticks[0]))
        return answer

    monkeypatch.setattr(native_loop.NativeLoop, "run", counting)
    return found


START = dict(start="immediately", cart__travel=1e6)


def test_every_topic_of_the_state_is_published_without_python(graph, counted):
    simulator = graph.simulator(**START)
    states, times = graph.listen(Odometry, "odometry"), graph.listen(Clock, "/clock")
    command = graph.publisher(WrenchStamped, "cart/command")
    command.publish(WrenchStamped())
    graph.until(lambda: sum(counted) > 50 and len(states) > 20 and len(times) > 20)
    assert 50 < simulator.runner.statistics.plain <= simulator.runner.statistics.ticks
    felt = graph.listen(Imu, "imu/data")
    turned = graph.listen(MultiDOFJointState, "multi_dof_joint_states")
    graph.until(lambda: len(felt) > 20 and len(turned) > 20)
    plain = simulator.runner.statistics.plain
    graph.until(lambda: len(felt) > 60 and len(turned) > 60)
    assert simulator.runner.statistics.plain > plain  # a tick fills them, too
    assert np.hypot(felt[-1].linear_acceleration.x, felt[-1].linear_acceleration.z) > 1.0
    tick = simulator.runner.plant.tick_ns
    for stamps in (
        [nanoseconds(m.header.stamp) for m in states],
        [nanoseconds(m.clock) for m in times],
    ):
        assert all(gap > 0 and gap % tick == 0 for gap in np.diff(stamps))


def test_measurements_with_faults_are_published_without_python(graph, counted):
    """Beside the truth, with their covariances, and only when they arrive."""
    wrong = dict(faults__noise__angle=0.01, faults__state__drop=0.5, faults__command__delay=0.004)
    simulator = graph.simulator(**START, **wrong)
    measured = graph.listen(Odometry, "odometry")
    true = graph.listen(Odometry, "ground_truth/odometry")
    graph.publisher(WrenchStamped, "cart/command").publish(WrenchStamped())
    graph.until(lambda: len(true) > 50 and sum(counted) > 50)
    plain = simulator.runner.statistics.plain
    graph.until(lambda: len(true) > 300 and simulator.runner.statistics.plain > plain + 50)
    assert 0.3 < len(measured) / len(true) < 0.7
    covariance = np.reshape(measured[-1].pose.covariance, (6, 6))
    assert np.trace(covariance[3:, 3:]) == pytest.approx(3e-4, rel=1e-6)
    assert not np.any(true[-1].pose.covariance)
    truth = {nanoseconds(m.header.stamp): m.pose.pose.orientation for m in true}
    pairs = [(m.pose.pose.orientation, truth.get(nanoseconds(m.header.stamp))) for m in measured]
    errors = [a.x - b.x for a, b in pairs if b is not None]
    assert np.std(errors) == pytest.approx(0.005, rel=0.3)  # half the angle


def test_lockstep_passes_without_python_and_a_reader_loses_nothing(graph, counted):
    fast = dict(lockstep__enabled=True, lockstep__timeout=30.0, real_time_factor=0.0)
    simulator, states = graph.simulator(**fast), graph.listen(Odometry, "odometry")
    graph.controller()
    graph.until(lambda: simulator.runner.plant.stamp > 2_000_000_000)
    simulator.runner.end()
    counts, tick = simulator.runner.statistics, simulator.runner.plant.tick_ns
    graph.until(lambda: nanoseconds(states[-1].header.stamp) == simulator.runner.plant.stamp)
    stamps = [nanoseconds(message.header.stamp) for message in states]
    assert set(np.diff(stamps)) <= {0, tick} and tick in np.diff(stamps)
    assert counts.plain == sum(counted) > 0.8 * counts.ticks and counts.lockstep_timeouts == 0


def test_what_is_due_more_rarely_is_sent_by_python_after_the_states(graph, counted):
    simulator = graph.simulator(**START, rates__wrench=50.0)
    pressed, states = (
        graph.listen(WrenchStamped, "wrench/cart"),
        graph.listen(JointState, "joint_states"),
    )
    graph.publisher(WrenchStamped, "cart/command").publish(WrenchStamped())
    graph.until(lambda: len(pressed) > 5)
    before = len(counted)
    graph.until(
        lambda: len(pressed) > 30 and len(states) > 50 and 10 in counted[before:]
    )  # a busy machine cuts some short
    stamps = [nanoseconds(message.header.stamp) for message in pressed[5:]]
    assert (
        all(gap > 0 and gap % 20_000_000 == 0 for gap in np.diff(stamps))
        and max(counted[before:]) == 10
    )
    statistics = simulator.runner.statistics
    assert statistics.plain == sum(counted) > 0.5 * statistics.ticks


def test_without_rcls_function_python_does_it(graph, counted, monkeypatch, capfd):
    monkeypatch.setattr(native_publisher, "rcl_address", lambda *_: 0)
    simulator = graph.simulator(**START)
    assert "every tick runs in Python" in capfd.readouterr().err
    states = graph.listen(Odometry, "odometry")
    graph.publisher(WrenchStamped, "cart/command").publish(WrenchStamped())
    graph.until(lambda: len(states) > 50)
    assert not counted and simulator.runner.statistics.plain == 0
