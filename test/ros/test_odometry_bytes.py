"""The numbers that are read from an Odometry's bytes are those of the message,
whatever its frames are called.
"""

import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip(
    "rclpy", reason="rclpy is not importable: no ROS 2 here (./testbed test brings it)"
)

from nav_msgs.msg import Odometry  # noqa: E402
from rclpy.serialization import serialize_message  # noqa: E402

from rbdyn_ros.ros.messages import cdr  # noqa: E402
from rbdyn_ros.ros.messages.cdr import OdometryBytes  # noqa: E402
from rbdyn_ros.ros.messages.messages import set_quaternion, set_stamp, set_xyz  # noqa: E402

NAMES = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=20)
NUMBERS = st.floats(allow_nan=False, width=64)
PARTS = ((1.0, 2.0, 3.0), (4.0, 5.0, 6.0, 7.0), (8.0, 9.0, 10.0), (11.0, 12.0, 13.0))
READER = OdometryBytes()  # one for all, as in a node: layouts follow each other


def message(
    frame: str = "world",
    child: str = "pendulum_link",
    stamp: int = 1_500_000_002,
    numbers=range(1, 14),
) -> Odometry:
    """An odometry with these numbers: position, orientation wxyz, velocities; and covariances."""
    made = Odometry(child_frame_id=child)
    made.header.frame_id = frame
    set_stamp(made.header.stamp, stamp)
    made.pose.covariance = made.twist.covariance = [97.0] * 36
    set_xyz(made.pose.pose.position, numbers[:3])
    set_quaternion(made.pose.pose.orientation, numbers[3:7])
    set_xyz(made.twist.twist.linear, numbers[7:10])
    set_xyz(made.twist.twist.angular, numbers[10:])
    return made


@settings(max_examples=60, deadline=None)
@given(NAMES, NAMES, st.integers(0, 2**60), st.lists(NUMBERS, min_size=13, max_size=13))
def test_the_numbers_are_those_of_the_message(frame, child, stamp, numbers):
    data = serialize_message(message(frame, child, stamp, numbers))
    for _ in range(2):  # the second time the layout is known
        found = READER.motion(data)
        assert found.stamp == stamp and [n for part in found[1:] for n in part] == numbers


def test_the_other_order_of_bytes_is_read():
    frames = struct.pack(">I6s", 6, b"world\0") + b"\0\0" + struct.pack(">I3s", 3, b"ab\0")
    body = struct.pack(">iI", 3, 4) + frames
    body += (
        b"\0" * (-len(body) % 8)
        + struct.pack(">7d", 1.0, 2.0, 3.0, 5.0, 6.0, 7.0, 4.0)
        + b"\0" * 288
        + struct.pack(">6d", *range(8, 14))
    )
    assert OdometryBytes().motion(b"\0\0\0\0" + body) == (3_000_000_004, *PARTS)


def test_an_encoding_that_is_not_known_is_left_to_the_middleware(monkeypatch):
    monkeypatch.setattr(cdr, "deserialize_message", lambda data, kind: message())
    assert OdometryBytes().motion(b"\0\7\0\0") == (1_500_000_002, *PARTS)


def test_a_message_that_is_cut_off_is_refused():
    data = serialize_message(message())
    for size in (4, 11, 20, 60, len(data) - 8 * 36 - 1):
        with pytest.raises(ValueError, match=f"cut off: of [0-9]+ bytes or more it has {size}"):
            OdometryBytes().motion(data[:size])
