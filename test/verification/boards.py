"""A board that the tests play, and the messages that a bridge receives."""

from geometry_msgs.msg import WrenchStamped  # noqa: E402
from nav_msgs.msg import Odometry  # noqa: E402
from sensor_msgs.msg import JointState  # noqa: E402

from rbdyn_ros.ros.messages.messages import (  # noqa: E402
    set_stamp,
    set_xyz,
)
from rbdyn_ros.wire.frame import FORCE, STATE  # noqa: E402
from rbdyn_ros.wire.line import Line  # noqa: E402
from rbdyn_ros.wire.link import Link  # noqa: E402
from rbdyn_ros.wire.ports import Udp  # noqa: E402

LEANING = (0.5, -0.25, 0.96, 0.28, 0.0, 0.0, 0.1, 0.2, 0.3, 0.4, 0.5)  # q (6,), v (5,)


class Board:
    """The other end; it keeps what it receives, and answers states where an answer is given."""

    def __init__(self, port: int, answer=None, kind=Udp):
        self.frames, self.answer = [], answer
        self.line = Line(
            lambda: kind("127.0.0.1", 0, ("127.0.0.1", port)),
            Link(3_000_000_000),
            0.02,
            0.1,
            self.hear,
            lambda status: None,
        )
        self.line.begin()

    def hear(self, frame, now) -> None:
        self.frames.append(frame)
        if self.answer and frame.kind == STATE:
            self.line.send(FORCE, frame.stamp, self.answer(frame))

    def received(self, kind: int) -> list:
        return [frame for frame in self.frames if frame.kind == kind]


def say(states: tuple, stamp: int, numbers: tuple = LEANING) -> None:
    """Publish a state on the topics of a plant."""
    joints, pose = JointState(name=["cart_x_joint", "cart_y_joint"]), Odometry()
    joints.position, joints.velocity = list(numbers[:2]), list(numbers[6:8])
    orientation = pose.pose.pose.orientation
    orientation.w, orientation.x, orientation.y, orientation.z = numbers[2:6]
    set_xyz(pose.twist.twist.angular, numbers[8:])
    for publisher, message in zip(states, (joints, pose)):
        set_stamp(message.header.stamp, stamp)
        publisher.publish(message)


def publishers(graph) -> tuple:
    return graph.publisher(JointState, "/joint_states"), graph.publisher(Odometry, "/odometry")


def command(stamp: int, force=(1.0, 2.0), frame: str = "world") -> WrenchStamped:
    message = WrenchStamped()
    message.header.frame_id = frame
    set_stamp(message.header.stamp, stamp)
    set_xyz(message.wrench.force, (*force, 0.0))
    return message
