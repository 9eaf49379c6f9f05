"""A runner plays in compiled loops and in Python, by turns, and nobody sees the difference."""

import time
from contextlib import contextmanager

import numpy as np
import pytest
from compiled_loop import EVERY_FAULT, Press, commanded
from waiting import wait

from rbdyn_ros.simulation.status import FAULT, PAUSED, PLAYING
from rbdyn_ros.simulation.steady_clock import steady

pytestmark = pytest.mark.skipif(
    steady() is None, reason="stretches need a 64-bit Linux and compiled kernels"
)


@contextmanager
def playing(made, longest: int = 10, **changes):
    """(runner, press): it plays, with a command, in stretches of at most so many ticks."""
    press = Press()
    press.longest = longest
    runner = made(press, cart__travel=1e9, **changes)
    commanded(runner, (3.0, 4.0), time.monotonic())
    runner.begin()
    try:
        yield runner, press
    finally:
        runner.end()


@pytest.fixture
def played(made):
    """A runner that plays in stretches that would last for minutes."""
    with playing(made, 100_000) as (runner, press):
        wait(lambda: len(press.issues) > 20 or runner.status != PLAYING)
        yield runner, press


def test_whoever_asks_gets_the_lock_between_two_ticks(played):
    runner, press = played
    assert runner.status == PLAYING and press.stretches >= 1
    assert runner.pause() == "" and runner.status == PAUSED
    steps, ticks = runner.plant.steps, runner.plant.setup.tick_steps
    assert runner.step() == "" and runner.plant.steps == steps + ticks
    assert runner.play() == ""
    wait(lambda: runner.plant.steps > steps + 20 * ticks)
    runner.reset()
    wait(lambda: runner.status == PLAYING and runner.plant.steps > steps + 40 * ticks)
    runner.reset_statistics()
    assert runner.statistics.ticks < 1000
    commanded(runner, (0.5, 0.0), time.monotonic())
    wait(lambda: runner.plant.force == (0.5, 0.0) or runner.pause() or runner.play())


def test_the_past_is_read_between_two_ticks_also_where_its_ring_is_full(made):
    with playing(made, 100_000, history__duration=0.05) as (runner, press):
        wait(lambda: len(press.issues) > 200)
        for _ in range(20):
            stretches, before = press.stretches, runner.plant.stamp
            stamps, _ = runner.recent_history()
            assert (
                len(stamps) == runner.pace.history_rows
                and set(np.diff(stamps)) == {runner.plant.tick_ns}
                and stamps[-1] >= before
            )
            wait(lambda: press.stretches > stretches)


def test_a_push_acts_and_ends_in_machine_code(played):
    runner, press = played
    wrench = np.zeros(9)
    wrench[0] = 2.0
    runner.push(wrench, runner.plant.stamp + 10**12)
    wait(lambda: runner.plant.input.disturbance[0] == 2.0)
    plain, begin = runner.statistics.plain, runner.plant.stamp
    wait(lambda: runner.plant.stamp > begin + 100 * runner.plant.tick_ns)
    runner.pause()
    assert runner.statistics.plain > plain + 50
    runner.push(wrench, runner.plant.stamp + 1)
    runner.play()
    wait(lambda: not runner.plant.input.disturbance.any())


def test_stamps_and_rows_have_no_gap_where_python_and_machine_code_alternate(made):
    with playing(made, 3) as (runner, press):
        wait(lambda: press.stretches > 20)
        runner.pause()
        assert press.stretches > 20 and not runner.status.startswith(FAULT)
        stamps, _ = runner.history.read()
        assert (
            np.diff(stamps).tolist() == [runner.plant.tick_ns] * (len(stamps) - 1)
            and stamps[-1] == runner.plant.stamp
        )
        assert (
            runner.statistics.ticks
            == len(stamps)
            == runner.plant.steps // runner.plant.setup.tick_steps
        )


def test_what_is_commanded_while_python_publishes_the_rest_counts_a_tick_later(made):
    """Python has the state of the last tick; the next one has begun by then."""
    with playing(made, 5) as (runner, press):
        given = {}  # stamp of the state -> force [N]

        def rest() -> None:
            given[runner.plant.stamp] = 0.01 * len(given)
            commanded(runner, (given[runner.plant.stamp], 0.0), time.monotonic())

        press.on_rest = rest
        wait(lambda: len(given) > 20)
        runner.pause()
        force = {stamp: numbers[10] for _, _, stamp, numbers in press.issues}
        tick = runner.plant.tick_ns
    assert runner.statistics.plain == len(force)
    assert all(stamp in force for stamp in given)
    before = sorted(given)
    for last, stamp in zip(before, before[1:]):
        assert (stamp - last) % tick == 0
        assert force.get(stamp + tick, given[last]) == given[last]  # Python has what is late
        assert force.get(stamp + 2 * tick, given[stamp]) == given[stamp]


def test_every_fault_passes_in_machine_code(made):
    with playing(made, 50, **EVERY_FAULT) as (runner, press):
        wait(lambda: runner.statistics.plain > 200 or runner.status != PLAYING)
        assert runner.status == PLAYING and runner.statistics.ticks - runner.statistics.plain < 100
        runner.pause()
        counts = runner.signals.faults.counts()
        assert counts["sensors_disturbed"] > 100 and counts["state_delayed"] > 100


def test_where_nothing_paces_time_python_does(made):
    with playing(made, real_time_factor=0.0) as (runner, press):
        wait(lambda: runner.plant.steps > 20 * runner.plant.setup.tick_steps)
        assert press.stretches == 0 and not press.issues
