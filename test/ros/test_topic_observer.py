"""What is seen of a trial from outside, also beside publishers that send what they should not."""

import math

import pytest

pytest.importorskip(
    "rclpy", reason="rclpy is not importable: no ROS 2 here (./testbed test brings it)"
)

from sensor_msgs.msg import JointState  # noqa: E402
from std_msgs.msg import Float64MultiArray  # noqa: E402

from rbdyn_ros.ros.messages.messages import label_array  # noqa: E402
from rbdyn_ros.ros.topic_observer import ENERGIES, TopicObserver  # noqa: E402


def labeled(*values: float) -> Float64MultiArray:
    """A message of ~/integrator."""
    message = label_array(ENERGIES)
    message.data = [*values]
    return message


def test_messages_of_no_use_are_left_out(graph):
    """A KeyError or a row of another length ended the demo, or the referee."""
    observer = TopicObserver(graph.probe)
    joints = graph.publisher(JointState, "/joint_states")
    energies = graph.publisher(Float64MultiArray, "/pendulum_simulator/integrator")

    def follow(publisher, messages, rows) -> None:
        for message in messages:
            publisher.publish(message)
            for _ in range(5):
                graph.executor.spin_once(timeout_sec=0.01)
                observer.look()
        graph.until(lambda: observer.look() or rows)

    bad = [Float64MultiArray(), label_array(ENERGIES[:2]), labeled(math.nan, 0.0, 0.0)]
    follow(energies, [*bad, labeled(2.0, 3.0, 4.0)], observer.energies)
    follow(
        joints,
        [JointState(), JointState(effort=[1.0]), JointState(effort=[1.0, 2.0])],
        observer.forces,
    )
    assert observer.energies == [(2_000_000_000, 3.0, 4.0)]
    assert observer.forces == [(0, 1.0, 2.0)]
