"""Gaps in the numbers of a publisher are lost messages."""

from rbdyn_ros.ros.recording.recorder import Losses


def test_gaps_are_counted_from_the_first_message_on():
    losses = Losses()
    for number in (7, 8, 11, 12, 14):
        losses.add("/a", number)
    assert losses.counts == {"/a": 3}


def test_two_publishers_on_a_topic_are_not_counted():
    losses = Losses()
    for number in (1, 2, 1, 9):
        losses.add("/a", number)
    losses.add("/b", 4)
    assert losses.counts == {"/b": 0}


def test_a_middleware_that_does_not_number_is_not_counted():
    losses = Losses()
    for number in (None, 0, None):
        losses.add("/a", number)
    assert losses.counts.total() == 0
