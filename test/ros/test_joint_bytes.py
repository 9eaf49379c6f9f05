"""The joints read from a JointState's bytes are those of the message, whichever layouts follow
each other.
"""

import array
import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip(
    "rclpy", reason="rclpy is not importable: no ROS 2 here (./testbed test brings it)"
)

from rclpy.serialization import serialize_message  # noqa: E402
from sensor_msgs.msg import JointState  # noqa: E402

from rbdyn_ros.ros.messages import cdr  # noqa: E402
from rbdyn_ros.ros.messages.cdr import JointBytes, columns  # noqa: E402
from rbdyn_ros.ros.messages.messages import set_stamp  # noqa: E402

JOINTS, FIELDS = ("x", "y"), ("position", "velocity")
OTHERS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=6)


def message(
    names: list, sizes: tuple, frame: str = "world", stamp: int = 0, first: float = 1.0
) -> JointState:
    """Numbers that all differ."""
    made = JointState(name=names)
    made.header.frame_id = frame
    set_stamp(made.header.stamp, stamp)
    for field, size in zip(("position", "velocity", "effort"), sizes):
        setattr(made, field, array.array("d", (first + i for i in range(size))))
        first += size
    return made


@st.composite
def messages(draw) -> JointState:
    names = draw(
        st.permutations(
            [
                *draw(st.lists(OTHERS, max_size=3)),
                *draw(st.sampled_from([("x", "y"), ("y",), ("x", "y", "x")])),
            ]
        )
    )
    sizes = draw(
        st.tuples(*(st.sampled_from([len(names), 0, len(names) - 1, 9]) for _ in range(3)))
    )
    return message(names, sizes, draw(OTHERS), draw(st.integers(0, 2**60)), draw(st.floats(-9, 9)))


def outcome(read, *arguments):
    """Its result, or its complaint."""
    try:
        return read(*arguments)
    except ValueError as error:
        return str(error)


@settings(max_examples=150, deadline=None)
@given(st.lists(messages(), min_size=1, max_size=4))
def test_the_numbers_are_those_of_the_messages(sent):
    reader = JointBytes(JOINTS, FIELDS)
    for each in [m for m in sent for _ in range(2)]:  # the second time the layout is known
        expected = outcome(columns, each, JOINTS, FIELDS)
        found = outcome(reader.read, serialize_message(each))
        assert found == expected if isinstance(expected, str) else found[1] == expected
        if not isinstance(expected, str):
            assert found[0] == each.header.stamp.sec * 10**9 + each.header.stamp.nanosec


def test_layouts_of_one_size_are_distinguished():
    """The same bytes in all: joints exchanged, velocities that are efforts."""
    reader = JointBytes(JOINTS, FIELDS)
    assert reader.read(serialize_message(message(["x", "y"], (2, 2, 0))))[1] == (
        1.0,
        2.0,
        3.0,
        4.0,
    )
    assert reader.read(serialize_message(message(["y", "x"], (2, 2, 0))))[1] == (
        2.0,
        1.0,
        4.0,
        3.0,
    )
    with pytest.raises(ValueError, match="must have position and velocity of x and y"):
        reader.read(serialize_message(message(["y", "x"], (2, 0, 2))))
    assert reader.read(serialize_message(message(["y", "x"], (2, 2, 0), stamp=7))) == (
        7,
        (2.0, 1.0, 4.0, 3.0),
    )


def test_the_other_order_of_bytes_is_read():
    body = struct.pack(">iII1sxxxI", 3, 4, 1, b"\0", 2) + struct.pack(
        ">I2sxxI2sxx", 2, b"x\0", 2, b"y\0"
    )
    for block in ((1.0, 2.0), (3.0, 4.0), ()):
        body += struct.pack(">I", len(block))
        body += b"\0" * (-len(body) % 8) * bool(block) + struct.pack(f">{len(block)}d", *block)
    assert JointBytes(JOINTS, FIELDS).read(b"\0\0\0\0" + body) == (
        3_000_000_004,
        (1.0, 2.0, 3.0, 4.0),
    )


def test_an_encoding_that_is_not_known_is_left_to_the_middleware(monkeypatch):
    monkeypatch.setattr(
        cdr,
        "deserialize_message",
        lambda data, kind: message(["x", "y"], (2, 2, 0), stamp=5),
    )
    assert JointBytes(JOINTS, FIELDS).read(b"\0\7\0\0") == (5, (1.0, 2.0, 3.0, 4.0))


def test_a_message_that_is_cut_off_is_refused():
    data, reader = serialize_message(message(["x", "y"], (2, 2, 2))), JointBytes(JOINTS, FIELDS)
    for size in range(4, len(data)):
        with pytest.raises(ValueError, match="cut off"):
            reader.read(data[:size])
    assert reader.read(data)[1] == (1.0, 2.0, 3.0, 4.0)
