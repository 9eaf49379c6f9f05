"""A command read from its bytes is that of the message, and a command written as bytes is read as
the message.
"""

import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip(
    "rclpy", reason="rclpy is not importable: no ROS 2 here (./testbed test brings it)"
)

from geometry_msgs.msg import WrenchStamped  # noqa: E402
from rclpy.serialization import deserialize_message, serialize_message  # noqa: E402

from rbdyn_ros.ros.messages import cdr  # noqa: E402
from rbdyn_ros.ros.messages.cdr import (
    WrenchBytes,  # noqa: E402
    force_command,  # noqa: E402
)
from rbdyn_ros.ros.messages.messages import nanoseconds, set_stamp, set_xyz, xyz  # noqa: E402

NAMES = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=20)
NUMBERS = st.floats(width=64)
READER = WrenchBytes()  # one for all, as in a node: layouts follow each other


def message(frame: str, stamp: int, numbers: list) -> WrenchStamped:
    made = WrenchStamped()
    made.header.frame_id = frame
    set_stamp(made.header.stamp, stamp)
    set_xyz(made.wrench.force, numbers[:3])
    set_xyz(made.wrench.torque, numbers[3:])
    return made


@settings(max_examples=60, deadline=None)
@given(NAMES, st.integers(0, 2**60), st.lists(NUMBERS, min_size=6, max_size=6))
def test_what_is_read_is_the_message(frame, stamp, numbers):
    for _ in range(2):  # the second time the layout is known
        found = READER.wrench(serialize_message(message(frame, stamp, numbers)))
        assert found[:2] == (stamp, frame)
        assert struct.pack("6d", *found[2], *found[3]) == struct.pack("6d", *numbers)


def test_frames_of_one_length_are_distinguished():
    reader = WrenchBytes()
    for frame in ("ab", "ba", "ab"):
        assert reader.wrench(serialize_message(message(frame, 1, [1.0] * 6)))[1] == frame


def test_the_other_order_of_bytes_is_read():
    body = struct.pack(">iII3s", 3, 4, 3, b"ab\0")
    body += b"\0" * (-len(body) % 8) + struct.pack(">6d", *range(6))
    assert WrenchBytes().wrench(b"\0\0\0\0" + body) == (
        3_000_000_004,
        "ab",
        (0.0, 1.0, 2.0),
        (3.0, 4.0, 5.0),
    )


def test_an_encoding_that_is_not_known_is_left_to_the_middleware(monkeypatch):
    monkeypatch.setattr(
        cdr,
        "deserialize_message",
        lambda data, kind: message("f", 7, [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]),
    )
    reader, plain = WrenchBytes(), serialize_message(message("world", 5, [0.0] * 6))
    for _ in range(2):  # a frame of the one is not that of the other
        assert reader.wrench(plain).frame == "world"
        found = reader.wrench(b"\0\7\0\0")
        assert found == (7, "f", (1.0, 2.0, 3.0), (4.0, 5.0, 6.0))


def test_a_message_that_is_cut_off_is_refused():
    data = serialize_message(message("world", 5, [1.0] * 6))
    for size in range(4, len(data)):
        with pytest.raises(ValueError, match="cut off"):
            WrenchBytes().wrench(data[:size])


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("stamp", [0, -1, 1_999_999_999, 2**60])
def test_a_force_command_is_the_message_that_it_says(known, stamp):
    command = force_command("world")
    command.known &= known
    for force in ((1.5, -2.5), (0.0, 3.0)):
        got = deserialize_message(command.pack(stamp, force), WrenchStamped)
        assert nanoseconds(got.header.stamp) == stamp and got.header.frame_id == "world"
        assert xyz(got.wrench.force) == (*force, 0.0) and xyz(got.wrench.torque) == (0.0, 0.0, 0.0)


@pytest.mark.parametrize("data", [b"", b"\1", b"\0\1", b"\xca\xfe\0\0", b"\0\3\0\0" + b"x" * 100])
def test_bytes_that_are_no_message_are_a_value_error(data):
    """The middleware's own error ended the node that received them."""
    with pytest.raises(ValueError, match="no message of the type WrenchStamped|cut off"):
        READER.wrench(data)


@pytest.mark.parametrize("stamp", [(-1, 0), (2**31 - 1, 10**9), (0, 2**32 - 1), (-(2**31), 0)])
def test_a_stamp_that_no_answer_can_repeat_is_refused(stamp):
    made = message("world", 0, [0.0] * 6)
    made.header.stamp.sec, made.header.stamp.nanosec = stamp
    with pytest.raises(ValueError, match="the seconds must be >= 0 and the nanoseconds less than"):
        READER.wrench(serialize_message(made))
