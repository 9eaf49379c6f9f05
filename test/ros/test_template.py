"""A state sent as bytes is the message that it stands for, to the last bit, whatever the frames
are called.
"""

import numpy as np
import pytest

pytest.importorskip(
    "rclpy", reason="rclpy is not importable: no ROS 2 here (./testbed test brings it)"
)

from geometry_msgs.msg import WrenchStamped  # noqa: E402
from nav_msgs.msg import Odometry  # noqa: E402
from rclpy.serialization import deserialize_message  # noqa: E402
from sensor_msgs.msg import JointState  # noqa: E402
from std_msgs.msg import Float64MultiArray  # noqa: E402

from rbdyn_ros.parameters.tables import NODES, OFFLINE  # noqa: E402
from rbdyn_ros.pendulum.gimbal_joints import GimbalJoints  # noqa: E402
from rbdyn_ros.plant.command import Command  # noqa: E402
from rbdyn_ros.plant.setup import plant_setup  # noqa: E402
from rbdyn_ros.ros.messages import sample, state_topics  # noqa: E402
from rbdyn_ros.ros.messages.cdr import Template, force_command  # noqa: E402
from rbdyn_ros.ros.messages.messages import frames  # noqa: E402

SETUP = plant_setup(
    {parameter.name: parameter.default for parameter in (*OFFLINE, *NODES["pendulum_simulator"])}
)


def samples(n: int = 20):
    """Motions with numbers of all sizes."""
    rng = np.random.default_rng(5)
    for stamp in rng.integers(10**9, 2**60, n).tolist():
        Q = rng.normal(size=4)
        q, v = (
            [*rng.normal(size=2).tolist(), *(Q / np.linalg.norm(Q)).tolist()],
            (rng.normal(size=5) * 10.0 ** rng.integers(-200, 5)).tolist(),
        )
        order = Command((2.5, -3.0), stamp - 10**6, 0.0)
        one = sample.Sample(SETUP, stamp, q, v, (1.5, -0.0), GimbalJoints())
        one.reaction, one.command, one.commands = rng.normal(size=3), order, 7
        yield one


@pytest.mark.parametrize("prefix", ["", "a", "ab/", "äöü_longer/"])
@pytest.mark.parametrize(
    "source, kind",
    [
        (state_topics.Joints, JointState),
        (state_topics.RodOdometry, Odometry),
        (lambda frames: state_topics.wrench_topics(frames)["joint"], WrenchStamped),
        (lambda frames: state_topics.StepDiagnosticsTopic(), Float64MultiArray),
    ],
)
def test_the_bytes_are_the_message(source, kind, prefix):
    made = source(frames(prefix))
    for state in samples():
        data = made.pack(state)
        assert isinstance(data, bytes) and deserialize_message(data, kind) == made.fill(state)


def test_numbers_that_change_in_place_are_written_again():
    """A block is only left as it is where it is the same tuple as before."""
    message, force = force_command("world"), np.array((1.0, 2.0))
    for fx in (1.0, 3.0, 3.0, -0.5):
        force[0] = fx
        wrench = deserialize_message(message.pack(10**9, force), WrenchStamped).wrench
        assert (wrench.force.x, wrench.force.y, wrench.torque.z) == (fx, 2.0, 0.0)


def test_a_layout_that_is_not_known_is_left_to_the_middleware(monkeypatch):
    monkeypatch.setattr(
        "rbdyn_ros.ros.messages.cdr.serialize_message", lambda message: b"\0\7\0\0"
    )
    assert not Template(Odometry(), lambda message, *blocks: None, (3, 4)).known
    made, state = state_topics.Joints(frames("")), next(samples())
    asked = []
    monkeypatch.setattr(
        "rbdyn_ros.ros.messages.cdr.serialize_message",
        lambda message: asked.append(message) or b"theirs",
    )
    assert (
        made.pack(state) == b"theirs"
        and asked == [made.message]
        and made.message == made.fill(state)
    )
