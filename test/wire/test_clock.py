"""The other clock's offset, on clocks that the test makes: within the least delay, and along a
drift.
"""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rbdyn_ros.wire.clock import ClockOffset

MS = 1_000_000  # [ns]


def exchanged(
    clock: ClockOffset, at: int, there: int, back: int, theirs, hold: int = 3 * MS
) -> None:
    """A frame of ours leaves at `at`, takes `there`, is held, and takes `back`; `theirs(t)` is the
    other clock.
    """
    arrived = at + there
    clock.add(at, theirs(arrived), theirs(arrived + hold), arrived + hold + back)


@given(st.integers(-(2**62), 2**62), st.integers(0, 50 * MS), st.integers(0, 50 * MS))
def test_one_exchange_tells_the_offset_within_half_the_delay(offset, there, back):
    clock = ClockOffset()
    exchanged(clock, 10**12, there, back, lambda t: t + offset)
    assert abs(clock.offset(10**12) - offset) <= (there + back) / 2 + 1e-9 * abs(offset)
    assert clock.uncertainty == (there + back) / 2


def test_queues_on_the_way_are_seen_through():
    """Queues of 20 ms mean, mostly on the way back; one exchange of ten finds none of them."""
    rng, clock = np.random.default_rng(5), ClockOffset()
    for i in range(2000):
        free = i % 10 == 0
        there, back = (0, 0) if free else (int(x) for x in rng.exponential((2 * MS, 20 * MS)))
        exchanged(
            clock, 10**12 + 4 * MS * i, MS // 10 + there, MS // 10 + back, lambda t: t - 12345 * MS
        )
    assert clock.offset(10**12 + 8_000 * MS) == pytest.approx(-12345 * MS, abs=MS // 10)


@pytest.mark.parametrize("ppm", [-100.0, 0.0, 40.0])
def test_a_drift_is_followed(ppm):
    rng, clock = np.random.default_rng(1), ClockOffset()

    def theirs(t: int) -> int:
        return t + 5 * MS + round(1e-6 * ppm * (t - 10**12))

    for i in range(6000):  # 12 s
        there, back = (int(x) for x in MS // 5 + rng.exponential((MS // 20, MS // 20)))
        exchanged(clock, 10**12 + 2 * MS * i, there, back, theirs)
    now = 10**12 + 13_000 * MS
    assert 1e6 * clock.drift == pytest.approx(ppm, abs=5.0)
    assert clock.offset(now) == pytest.approx(theirs(now) - now, abs=MS // 20)
    assert clock.ours(theirs(now), now) == pytest.approx(now, abs=MS // 20)


@pytest.mark.parametrize("drift", [-0.02, 0.02])
def test_the_drift_of_what_is_held_is_no_delay(drift):
    """20 ms by a clock that is 2 % too fast are 0.4 ms too many, more than the way takes."""
    clock, delays = ClockOffset(), []

    def theirs(t: int) -> int:
        return t + round(drift * (t - 10**12))

    for i in range(200):  # 4 s; a frame is held for 0 to 20 ms
        arrived, hold = 10**12 + 20 * MS * i, i * 7 % 20 * MS
        back = arrived + hold
        delays.append(
            clock.add(arrived - MS // 10, theirs(arrived), theirs(back), back + MS // 10)
        )
    assert delays[100:] == pytest.approx([MS // 5] * 100, abs=MS // 100)
    now = 10**12 + 4000 * MS
    assert clock.offset(now) == pytest.approx(theirs(now) - now, abs=MS // 50)


def test_the_newest_exchange_bounds_the_offset_where_the_good_ones_are_old():
    """Six exchanges without a queue, then 9 s with one of 20 ms; a clock that is 1 % too fast."""
    clock = ClockOffset()

    def theirs(t: int) -> int:
        return t + (t - 10**12) // 100

    for i in range(450):
        at, queue = 10**12 + 20 * MS * i, 20 * MS * (i > 5)
        exchanged(clock, at, MS // 10, MS // 10 + queue, theirs)
        now = at + 24 * MS
        assert abs(clock.offset(now) - (theirs(now) - now)) < 23 * MS


def test_an_echo_of_what_was_never_sent_is_refused():
    clock = ClockOffset()
    assert (
        clock.add(t1=10 * MS, t2=0, t3=0, t4=9 * MS) is None
    )  # it would have traveled back in time
    assert (
        clock.add(t1=0, t2=0, t3=5 * MS, t4=4 * MS) is None
    )  # it was held for longer than it was away
    assert not clock.is_known and clock.offset(0) == 0.0


@pytest.mark.parametrize("leap", [-3600_000 * MS, -50 * MS, 20 * MS, 3600_000 * MS])
def test_a_clock_that_leaps_contradicts_the_exchange_before_it(leap):
    clock = ClockOffset()
    for i in range(500):  # a second, through a queue, with an oscillator that is 2 % too fast
        exchanged(clock, 10**12 + 2 * MS * i, MS // 10 + i % 7 * MS, MS, lambda t: t + t // 50)
        at = 10**12 + 2 * MS * (i + 1)
        usual = [at, at + MS, at + 2 * MS, at + 3 * MS]
        assert not clock.contradicts(at, *(t + t // 50 for t in usual[1:3]), usual[3])
    assert clock.contradicts(at, *(t + t // 50 + leap for t in usual[1:3]), usual[3])
    assert clock.is_ahead(usual[2] + usual[2] // 50 + leap, usual[3]) == (leap > 0)


def test_a_clock_that_restarts_is_learnt_anew():
    clock = ClockOffset()
    exchanged(clock, 10**12, 0, 0, lambda t: t + 10**15)
    clock.restart()
    assert not clock.is_known
    exchanged(clock, 10**12, 0, 0, lambda t: t - 10**12)
    assert clock.offset(10**12) == -(10**12)
