"""The pacer on a clock that the test moves."""

import ctypes
import sys
import threading

import pytest

from rbdyn_ros.plant.pacing import Pacer, exact_sleeps


class Time:
    """A clock and a sleep that is as long as it was asked for."""

    def __init__(self):
        self.now, self.slept = 100.0, 0.0

    def sleep(self, duration):
        self.now += duration
        self.slept += duration


@pytest.fixture
def time():
    return Time()


@pytest.fixture
def pacer(time):
    return Pacer(lambda: time.now, time.sleep)


def going():
    return False


def test_deadlines_are_absolute(pacer, time):
    for work in (0.001, 0.009, 0.004):
        time.now += work
        pacer.wait(0.01, going)
    assert time.now == pytest.approx(100.001 + 0.03)


def test_a_late_tick_is_caught_up_within_one_period(pacer, time):
    pacer.wait(0.01, going)
    time.now += 0.015
    pacer.wait(0.01, going)
    pacer.wait(0.01, going)
    assert time.now == pytest.approx(100.03) and pacer.missed == 0


def test_lost_periods_are_skipped_not_caught_up(pacer, time):
    pacer.wait(0.01, going)
    time.now += 0.1  # nine whole periods beyond the next deadline
    slept = time.slept
    pacer.wait(0.01, going)
    assert time.slept == slept and pacer.missed == 9
    before = time.now
    for _ in range(10):
        pacer.wait(0.01, going)
    assert time.now == pytest.approx(before + 0.1)  # one period each: no burst


def test_period_zero_does_not_sleep(pacer, time):
    for _ in range(5):
        pacer.wait(0.0, going)
    assert time.slept == 0.0 and pacer.missed == 0


def test_a_stop_ends_a_long_sleep(pacer, time):
    pacer.wait(1000.0, lambda: time.now > 100.1)
    assert time.now < 101.0


def test_a_new_period_counts_from_now(pacer, time):
    pacer.wait(0.01, going)
    time.now += 5.0
    pacer.wait(0.02, going)
    assert time.slept == pytest.approx(0.03) and pacer.missed == 0


def test_where_time_may_slip_every_tick_has_its_full_period(pacer, time):
    pacer.wait(0.01, going, "slip")
    time.now += 0.015
    assert pacer.wait(0.01, going, "slip") == pytest.approx(0.005)  # over its deadline
    pacer.wait(0.01, going, "slip")
    assert time.now == pytest.approx(
        100.035
    )  # 0.01, then 0.015 of work, then a period: nothing is caught up
    time.now += 0.1
    pacer.wait(0.01, going, "slip")
    pacer.wait(0.01, going, "slip")
    assert time.now == pytest.approx(100.145)
    assert (pacer.overruns, pacer.missed) == (2, 0) and pacer.slipped == pytest.approx(
        0.005 + 0.09
    )


def test_an_overrun_is_reported_to_who_waits(pacer, time):
    assert pacer.wait(0.01, going, "stop") == 0.0
    time.now += 0.034
    assert pacer.wait(0.01, going, "stop") == pytest.approx(0.024)
    assert (pacer.overruns, pacer.missed) == (1, 2)


@pytest.mark.skipif(
    sys.platform != "linux", reason="Linux lets a thread say how late its sleeps may end"
)
def test_sleeps_of_a_thread_are_as_exact_as_the_system_can():
    """29 and 30 are PR_SET_TIMERSLACK and PR_GET_TIMERSLACK [ns]; another thread keeps its own."""
    found = []
    thread = threading.Thread(
        target=lambda: found.extend((exact_sleeps(), ctypes.CDLL(None).prctl(30, 0, 0, 0, 0)))
    )
    before = ctypes.CDLL(None).prctl(30, 0, 0, 0, 0)
    thread.start()
    thread.join()
    assert found == [True, 1] and ctypes.CDLL(None).prctl(30, 0, 0, 0, 0) == before
