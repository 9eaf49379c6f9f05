"""What becomes of a commanded force: validity, age, limit, watchdog, command_queue."""

import math
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rbdyn_ros.numerics.saturation import limit_force
from rbdyn_ros.plant.command import (
    UNSTAMPED,
    Command,
    CommandQueue,
    Rejected,
    Watchdog,
    check_lockstep,
    check_stamp,
    force_of,
)

forces = st.tuples(*[st.floats(-1e6, 1e6)] * 2)


@given(forces, st.just(0.0) | st.floats(1e-300, 1e3))
def test_the_limit_is_a_norm_and_keeps_the_direction(force, limit):
    cut, was_cut = limit_force(force, limit)
    assert math.hypot(*cut) <= limit * (1.0 + 1e-12)
    assert was_cut == (math.hypot(*force) > limit)
    assert abs(cut[0] * force[1] - cut[1] * force[0]) <= 1e-9 * math.hypot(*force) * max(
        1.0, limit
    )
    if not was_cut:
        assert cut == force


@pytest.mark.parametrize("components", [[], [1.0], [1.0, 2.0, 3.0]])
def test_wrong_length_is_rejected(components):
    with pytest.raises(Rejected, match="must have 2") as error:
        force_of(components, "command")
    assert error.value.reason == "length"


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_not_finite_is_rejected(bad):
    with pytest.raises(Rejected, match="finite") as error:
        force_of([1.0, bad], "command")
    assert error.value.reason == "not finite"


@pytest.mark.parametrize(
    "stamp, reason",
    [
        (0, None),
        (10**9, None),
        (10**9 - 5 * 10**7, None),
        (10**9 - 2 * 10**8, "stale"),
        (2 * 10**9, "future"),
    ],
)
def test_stamps(stamp, reason):
    if reason is None:
        check_stamp(stamp, 10**9, 0.1, "command")
    else:
        with pytest.raises(Rejected) as error:
            check_stamp(stamp, 10**9, 0.1, "command")
        assert error.value.reason == reason


def test_lockstep_takes_no_command_without_a_stamp():
    check_lockstep(1, "command")
    with pytest.raises(
        Rejected, match="command has no stamp, .* or set lockstep.enabled to false"
    ) as error:
        check_lockstep(0, "command")
    assert error.value.reason == UNSTAMPED


def test_the_newest_rejection_is_known_until_a_command_is_taken():
    command_queue = CommandQueue()
    command_queue.reject(Rejected("frame", "command is in the frame 'moon'"))
    assert (
        command_queue.rejection == "command is in the frame 'moon'"
        and command_queue.rejected["frame"] == 1
    )
    command_queue.put(Command((0.0, 0.0), 1, 0.0))
    assert command_queue.rejection == ""


def test_without_a_limit_no_stamp_is_stale():
    check_stamp(1, 10**12, math.inf, "command")


@pytest.mark.parametrize("reaction, expected", [("zero", 0.0), ("hold", 1.0), ("ramp", 0.5)])
def test_watchdog_reactions(reaction, expected):
    watchdog = Watchdog(0.1, reaction, 0.5)
    assert watchdog.remaining(0.05) == 1.0 and not watchdog.is_expired(0.05)
    assert watchdog.remaining(0.35) == pytest.approx(expected) and watchdog.is_expired(0.35)


def test_the_ramp_ends_at_zero():
    assert Watchdog(0.1, "ramp", 0.5).remaining(60.0) == 0.0


def test_watchdog_zero_is_off():
    watchdog = Watchdog(0.0, "zero", 0.5)
    assert watchdog.remaining(1e9) == 1.0 and not watchdog.is_expired(1e9)


def test_a_command_is_taken_once_and_not_before_it_has_arrived():
    command_queue = CommandQueue()
    for stamp, received in ((1, 0.1), (2, 0.2), (3, 0.4)):
        command_queue.put(Command((0.0, 0.0), stamp, received))
    assert [command.stamp for command in command_queue.take(0.3)] == [1, 2]
    assert [command.stamp for command in command_queue.take(0.4)] == [3]
    assert command_queue.take(1.0) == [] and command_queue.newest.stamp == 3


def test_a_waiting_thread_gets_the_command_that_it_waits_for():
    command_queue = CommandQueue()
    timers = [
        threading.Timer(0.02 * stamp, command_queue.put, [Command((0.0, 0.0), stamp, 0.0)])
        for stamp in (1, 2)
    ]
    for timer in timers:
        timer.start()
    assert command_queue.wait(lambda newest: newest is not None and newest.stamp == 2, 30.0)
    assert command_queue.newest.stamp == 2 and command_queue.accepted == 2


def test_waiting_ends_at_the_timeout():
    assert not CommandQueue().wait(lambda newest: newest is not None, 0.01)
