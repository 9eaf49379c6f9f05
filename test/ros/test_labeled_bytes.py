"""The numbers that are read from the bytes of an array with labels are those of the message."""

import math
import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip(
    "rclpy", reason="rclpy is not importable: no ROS 2 here (./testbed test brings it)"
)

from rclpy.serialization import serialize_message  # noqa: E402
from std_msgs.msg import Float64MultiArray, MultiArrayDimension  # noqa: E402

from rbdyn_ros.ros.messages import cdr  # noqa: E402
from rbdyn_ros.ros.messages.cdr import LabeledBytes  # noqa: E402

LABELS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=9)
READER = LabeledBytes()  # one for all, as in a node: layouts follow each other


def message(labels, numbers) -> Float64MultiArray:
    made = Float64MultiArray(data=[float(number) for number in numbers])
    made.layout.dim = [MultiArrayDimension(label=label, size=1, stride=1) for label in labels]
    made.layout.data_offset = 7
    return made


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(LABELS, st.floats(allow_nan=False)), unique_by=lambda pair: pair[0]))
def test_the_numbers_are_those_of_the_message(pairs):
    data = serialize_message(message(*zip(*pairs) if pairs else ((), ())))
    for _ in range(2):  # the second time the layout is known
        assert READER.numbers(data) == dict(pairs)


def test_labels_of_one_length_are_distinguished():
    reader = LabeledBytes()
    for labels in (("ab", "cd"), ("cd", "ab"), ("ab", "cd")):
        found = reader.numbers(serialize_message(message(labels, (1.0, math.inf))))
        assert found == dict(zip(labels, (1.0, math.inf)))


def test_more_labels_than_numbers_and_fewer():
    assert LabeledBytes().numbers(serialize_message(message("ab", [1.0]))) == {"a": 1.0}
    assert LabeledBytes().numbers(serialize_message(message("a", [1.0, 2.0]))) == {"a": 1.0}
    assert LabeledBytes().numbers(serialize_message(message("", [1.0, 2.0]))) == {}


def test_the_other_order_of_bytes_is_read():
    body = struct.pack(">II2sxxIIII", 1, 2, b"a\0", 1, 1, 0, 1)
    body += b"\0" * (-len(body) % 8) + struct.pack(">d", 2.5)
    assert LabeledBytes().numbers(b"\0\0\0\0" + body) == {"a": 2.5}


def test_an_encoding_that_is_not_known_is_left_to_the_middleware(monkeypatch):
    monkeypatch.setattr(cdr, "deserialize_message", lambda data, kind: message("ab", (1, 2)))
    assert LabeledBytes().numbers(b"\0\7\0\0") == {"a": 1.0, "b": 2.0}


def test_a_message_that_is_cut_off_is_refused():
    data = serialize_message(message(("energy", "impacts"), (1.0, 2.0)))
    for size in range(4, len(data)):
        with pytest.raises(ValueError, match="cut off"):
            LabeledBytes().numbers(data[:size])
