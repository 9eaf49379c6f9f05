"""What stands still is told from somebody who does not look."""

from types import SimpleNamespace

import pytest

from rbdyn_ros.plant.pacing import LOOK, StallDetector


@pytest.fixture
def watch():
    """look(seconds later, what is shown) -> for how long it has been the same."""
    time = SimpleNamespace(now=100.0)
    stall = StallDetector(lambda: time.now)

    def look(later: float, shown) -> float:
        time.now += later
        return stall.look(shown)

    look.restart = stall.restart
    return look


def test_what_moves_is_not_still(watch):
    assert [watch(0.1, k) for k in range(50)] == [0.0] * 50


def test_what_does_not_move_is_still_for_as_long_as_somebody_looks(watch):
    assert watch(0.1, 7) == 0.0
    assert [watch(0.1, 7) for _ in range(5)] == pytest.approx([0.1, 0.2, 0.3, 0.4, 0.5])
    assert watch(0.1, 8) == 0.0


def test_somebody_who_was_away_has_seen_nothing_stand_still(watch):
    watch(0.0, 7)
    assert watch(15.0, 7) == LOOK
    assert watch(0.1, 7) == pytest.approx(LOOK + 0.1)


def test_a_restart_begins_anew(watch):
    watch(0.0, 7)
    watch(0.3, 7)
    watch.restart()
    assert watch(0.1, 7) == pytest.approx(0.1)
