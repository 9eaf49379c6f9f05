"""A tick that ends after its deadline."""

import time

import pytest
from waiting import wait

from rbdyn_ros.plant.pacing import Pacer


class Jump:
    """A clock that a test sets forward; sleeping moves it on."""

    def __init__(self):
        self.now = 0.0

    def sleep(self, duration: float) -> None:
        self.now += duration
        time.sleep(0.0005)


def late(runner) -> None:
    """Let a tick of the runner end twenty periods after its deadline."""
    clock = Jump()
    runner.pacer = Pacer(lambda: clock.now, clock.sleep)
    wait(lambda: clock.now > 0.02)
    clock.now += 0.04


def test_an_overrun_may_stop_the_simulation(running):
    runner = running(overrun="stop", watchdog__timeout=0.0)
    late(runner)
    wait(lambda: runner.status.startswith("fault: a tick ended"))
    assert "more than its period of 2 ms; set overrun to skip or slip" in runner.status
    runner.pacer = Pacer()
    runner.reset()
    ticks = runner.statistics.ticks
    wait(lambda: runner.statistics.ticks > ticks)


@pytest.mark.parametrize("policy", ["skip", "slip"])
def test_an_overrun_is_counted(running, policy):
    runner = running(overrun=policy, watchdog__timeout=0.0)
    late(runner)
    wait(lambda: runner.pacer.overruns == 1)
    assert (runner.pacer.missed > 15) == (policy == "skip") and (runner.pacer.slipped > 0.03) == (
        policy == "slip"
    )
    assert runner.status == "playing"
