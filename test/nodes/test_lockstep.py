"""Two lockstep runs give identical bytes."""

import math
import struct

import pytest

pytest.importorskip("rclpy", reason="rclpy is not importable: no ROS 2 here (./testbed test brings it)")

from nav_msgs.msg import Odometry  # noqa: E402
from sensor_msgs.msg import Imu, JointState  # noqa: E402

from rbdyn_ros.nodes.messages import nanoseconds  # noqa: E402

END = 2_000_000_000  # [ns] one simulated second after the first stamp
START = dict(
    lockstep__enabled=True,
    lockstep__timeout=30.0,
    real_time_factor=0.0,
    initial__orientation=[math.cos(0.1), math.sin(0.1), 0.0, 0.0],
    initial__angular_velocity=[0.0, 0.0, 2.0],
)


STOPS = dict(integrator__name="quaternion_midpoint", contact__stops__x_max=0.01, contact__stops__y_min=-0.01, contact__stops__restitution=0.5)
FAULTS = dict(
    seed=5, faults__command__delay=0.004, faults__command__jitter=0.006, faults__command__drop=0.2, faults__command__duplicate=0.1,
    faults__state__delay=0.004, faults__state__drop=0.05, faults__state__freeze=0.05, faults__noise__angle=1e-3,
    faults__noise__gyroscope=0.01, faults__noise__accelerometer=0.1, faults__encoder__cart=1e-3, faults__actuator__lag=0.01,
)  # fmt: skip


def run(graph, changes: dict) -> dict:
    """(stamp, topic) -> the message's bytes. The effort of joint_states is the force that was applied."""
    simulator = graph.simulator(**START, **changes)
    topics = {"/joint_states": JointState, "/odometry": Odometry, "/imu/data": Imu}
    heard = [graph.listen(kind, topic) for topic, kind in topics.items()]
    graph.controller()
    graph.until(lambda: simulator.runner.plant.stamp > END)
    simulator.runner.end()
    assert simulator.runner.statistics.lockstep_timeouts == 0
    assert (simulator.runner.plant.evidence.impacts > 0) == (changes == STOPS)
    assert (sum(simulator.runner.chain.counts().values()) > 0) == (changes == FAULTS)
    stamped = [(topic, nanoseconds(m.header.stamp), m) for topic, messages in zip(topics, heard) for m in messages]
    return {(stamp, topic): content(m) for topic, stamp, m in stamped if stamp <= END}


def content(message) -> bytes:
    """Every number of a message, bit by bit. (Serialised, it would have padding, which is whatever was in memory.)"""
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
