"""Recorded time on a clock that the test moves."""

import pytest

from rbdyn_ros.plant.pacing import LATE, Timeline

SECOND = 1_000_000_000  # [ns]


class Time:
    """A clock and a sleep that is as long as it was asked for."""

    def __init__(self):
        self.now = 50.0

    def sleep(self, duration):
        assert duration > 0.0
        self.now += duration


@pytest.fixture
def time():
    return Time()


@pytest.fixture
def timeline(time):
    timeline = Timeline(lambda: time.now, time.sleep)
    timeline.begin(7 * SECOND)
    return timeline


def going():
    return False


@pytest.mark.parametrize("rate", [0.5, 1.0, 4.0])
def test_instants_are_due_at_the_rate(timeline, time, rate):
    for tenths in range(1, 31):
        timeline.wait(7 * SECOND + tenths * SECOND // 10, lambda: rate, going)
        assert time.now == pytest.approx(50.0 + 0.1 * tenths / rate, abs=1e-6)


def test_a_pause_is_as_long_as_it_lasts(timeline, time):
    timeline.wait(8 * SECOND, lambda: 0.0 if 50.3 < time.now < 53.3 else 1.0, going)
    assert time.now == pytest.approx(54.0, abs=0.05)


def test_another_rate_counts_from_then_on(timeline, time):
    timeline.wait(9 * SECOND, lambda: 1.0 if time.now < 51.0 else 10.0, going)
    assert time.now == pytest.approx(51.1, abs=0.25)


def test_what_is_a_little_late_is_caught_up(timeline, time):
    time.now += 0.5 * LATE
    timeline.wait(7 * SECOND, lambda: 1.0, going)
    timeline.wait(8 * SECOND, lambda: 1.0, going)
    assert time.now == pytest.approx(51.0) and timeline.slid == 0.0


def test_after_a_long_sleep_of_the_process_time_slides(timeline, time):
    time.now += 100.0
    timeline.wait(7 * SECOND + SECOND // 10, lambda: 1.0, going)
    timeline.wait(8 * SECOND, lambda: 1.0, going)
    assert time.now == pytest.approx(150.9) and timeline.slid == pytest.approx(99.9)


def test_it_stops_in_the_middle_and_in_a_pause(timeline, time):
    timeline.wait(99 * SECOND, lambda: 1.0, lambda: time.now > 51.0)
    timeline.wait(99 * SECOND, lambda: 0.0, lambda: time.now > 52.0)
    assert time.now == pytest.approx(52.0, abs=0.05)
