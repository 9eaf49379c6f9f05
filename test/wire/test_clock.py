"""The other clock's offset, on clocks that the test makes: its bound holds, at any drift, and is
close to half the least delay.
"""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rbdyn_ros.wire.clock import DRIFT, ClockOffset

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
def test_one_round_trip_bounds_the_offset(offset, there, back):
    clock, hold = ClockOffset(), 3 * MS
    exchanged(clock, 10**12 + 1, there, back, lambda t: t + offset, hold)
    away = there + hold + back
    now = 10**12 + 1 + away
    assert abs(now - clock.ours(now + offset)) <= clock.uncertainty
    # nothing is known of the drift yet, and nothing of the other clock's resolution
    assert clock.uncertainty <= (there + back) / 2 + DRIFT * away + hold + 1000


def board_clock(drift: float, wander: float = 0.0, tick: int = 1):
    """A clock that runs too fast by `drift` at first, by `wander` [1/s] more with time, and counts
    in steps of `tick` [ns].
    """

    def exact(t: float) -> float:
        s = t - 10**12
        return 10**14 + (1.0 + drift) * s + wander * 1e-9 * s * s / 2

    return exact, lambda t: int(exact(t) // tick * tick)


def round_trips(seed: int, is_queued: bool, seconds: float, period: int = 4 * MS):
    """(sent, arrived, answered, received): 60 to 120 us each way; of ten frames one waits for
    20 ms, in a queue or at the other end.
    """
    rng = np.random.default_rng(seed)
    for i in range(round(seconds * 1e9 / period)):
        there, back = (int(way) for way in rng.uniform(60_000, 120_000, 2))
        late = 20 * MS * (rng.random(3) < 0.1)
        sent = 10**12 + period * i
        arrived = sent + there + is_queued * int(late[0])
        answered = arrived + (int(rng.uniform(0, 20 * MS)) if is_queued else 50_000 + int(late[2]))
        yield sent, arrived, answered, answered + back + is_queued * int(late[1])


@pytest.mark.parametrize("is_queued", [True, False])
def test_the_bound_holds_for_every_drift(is_queued):
    """50 boards from 5 % slow to 5 % fast; what is known is nearly half of the least delay."""
    bounds = []
    for seed, drift in enumerate(np.linspace(-DRIFT, DRIFT, 50)):
        clock, (exact, theirs) = ClockOffset(), board_clock(drift)
        for t1, arrived, answered, t4 in round_trips(seed, is_queued, seconds=3.0):
            found = (t1, theirs(arrived), theirs(answered), t4)
            assert not clock.contradicts(*found)
            assert clock.add(*found) is not None
            assert abs(clock.offset(t4) - (exact(t4) - t4)) <= clock.uncertainty, (drift, t4)
        bounds.append(clock.uncertainty)
        # the least delay is 120 us, so nobody can know the offset to less than 60
        assert abs(clock.drift - drift) < 1e-3
    assert max(bounds) < 100_000
    print(f"bounds after 3 s: {min(bounds) / 1e3:.0f} to {max(bounds) / 1e3:.0f} us")


@pytest.mark.parametrize(
    "drift, wander, tick, limit",
    [(0.02, 0.0, 1, 90_000), (-0.02, 1e-5, 1, 90_000), (0.02, 0.0, 1000, 92_000)]
    + [(0.02, 0.0, MS, 1_300_000)],
)
def test_the_bound_stays_tight_for_longer_than_its_window(drift, wander, tick, limit):
    """Also where the rate changes by 10 ppm/s, or the clock counts in micro- or milliseconds."""
    clock, (exact, theirs) = ClockOffset(), board_clock(drift, wander, tick)
    for t1, arrived, answered, t4 in round_trips(3, True, seconds=25.0):
        clock.add(t1, theirs(arrived), theirs(answered), t4)
        assert abs(clock.offset(t4) - (exact(t4) - t4)) <= clock.uncertainty
        assert t1 < 10**12 + 2000 * MS or clock.uncertainty < limit


def test_instants_advance_evenly_while_the_estimate_changes():
    """States measured every 2 ms by a fast board; the first round trip is off by 10 ms."""
    clock, (_, theirs) = ClockOffset(), board_clock(0.03)
    found, errors = [], []
    for i in range(1500):
        measured = 10**12 + 2 * MS * i
        queue = 20 * MS * (i < 10 or i % 10 == 0)
        answered, t4 = measured + MS // 10, measured + MS // 5 + queue
        clock.add(measured - MS // 5, theirs(measured - MS // 10), theirs(answered), t4)
        found.append(clock.advance(theirs(measured)))
        errors.append(abs(found[-1] - measured))
    steps = np.diff(found)
    assert steps.min() > 0.9 * MS and steps.max() < 3.2 * MS
    assert max(errors[100:]) < MS // 4 < max(errors[:10])
    assert clock.advance(theirs(measured)) is None  # measured once, stamped once
    assert clock.advance(theirs(measured - MS)) is None


def test_instants_advance_over_a_clock_that_is_set():
    clock, found = ClockOffset(), []
    for offset in (10**15, 0):
        clock.restart()
        for i in range(50):
            at = 10**12 + 100 * MS * (offset == 0) + 2 * MS * i
            exchanged(clock, at, MS, MS, lambda t: t + offset, hold=1)  # noqa: B023
            found.append(clock.advance(at + offset))
    assert None not in found and np.diff(found).min() > 0.9 * MS


def test_after_a_leap_too_small_to_be_seen_at_once_the_bound_recovers():
    """A clock set by 1 ms, which a board that counts milliseconds does all the time."""
    clock = ClockOffset()
    for i, (t1, arrived, answered, t4) in enumerate(round_trips(5, True, seconds=8.0)):
        leap = MS * (i > 1000)
        trip = (t1, arrived + leap, answered + leap, t4)
        assert not clock.contradicts(*trip)
        clock.add(*trip)
        if abs(i - 1012) > 12:  # within 0.1 s
            assert abs(clock.offset(t4) - leap) <= clock.uncertainty, i
    assert clock.uncertainty < 100_000


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
    assert clock.ours(theirs(now)) == pytest.approx(now, abs=MS // 20)


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
    assert abs(clock.offset(10**12) + 10**12) <= MS
