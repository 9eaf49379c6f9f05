"""The simulation's thread: start, pause, step, reset, lockstep, watchdog, faults.

Waits are generous, nothing is timed.
"""

import time
from contextlib import contextmanager
from functools import partial

import numpy as np
import pytest
from waiting import wait

from rbdyn_ros.plant import setup
from rbdyn_ros.plant.command import Command
from rbdyn_ros.plant.runner import Runner
from rbdyn_ros.plant.status import PAUSED, PLAYING, STOPPED, Rejected


@pytest.fixture
def running(values):
    """`with running(start="immediately") as runner`: begun, as fast as it goes, and ended in any
    case.
    """

    @contextmanager
    def run(publish=lambda runner: None, prepare=None, awaits=frozenset(), **changes):
        changed = values(**{"real_time_factor": 0.0, "watchdog__timeout": 0.0, **changes})
        runner = Runner(
            setup.plant_setup(changed),
            setup.run_config(changed),
            prepare or (lambda runner: partial(publish, runner)),
            lambda status: None,
        )
        runner.begin(awaits)
        try:
            yield runner
        finally:
            runner.end()
            assert runner.status == STOPPED

    return run


def command(force=(1.0, 0.0), stamp=0):
    return Command(force, stamp, time.monotonic())


def test_time_is_held_until_the_first_command(running):
    with running() as runner:
        start = runner.plant.stamp
        time.sleep(0.05)
        assert runner.status == PAUSED and runner.plant.stamp == start
        runner.command(command())
        wait(lambda: runner.plant.stamp > start)
        assert runner.status == PLAYING


def test_time_begins_when_the_last_condition_is_released(running):
    with running(awaits={"readers"}) as runner:
        assert runner.status == PAUSED and not runner.waits_for(
            "readers"
        )  # the first command is missing too
        runner.command(command())
        assert runner.status == PAUSED and runner.waits_for("readers")
        runner.release("readers")
        assert runner.status == PLAYING
        runner.pause()
        runner.release("readers")  # which is no longer a condition
        runner.refuse_start("too late")
        assert runner.status == PAUSED


def test_a_start_that_is_refused_is_a_fault_that_a_reset_leaves(running):
    with running(awaits={"readers"}) as runner:
        runner.refuse_start("nobody listens")
        assert runner.status == "fault: nobody listens"
        runner.command(command())
        runner.release("readers")
        assert runner.status == "fault: nobody listens"
        runner.reset()
        assert runner.status == PLAYING


def test_pause_step_play(running):
    with running(start="immediately") as runner:
        wait(lambda: runner.plant.steps > 10)
        assert runner.step() == "the simulation is playing; only a paused one steps"
        assert runner.pause() == "" and runner.status == PAUSED
        steps = runner.plant.steps
        assert runner.step() == "" and runner.plant.steps == steps + runner.plant.setup.tick_steps
        assert runner.play() == ""
        wait(lambda: runner.plant.steps > steps + 10)


def test_a_paused_start_is_not_released_by_a_command(running):
    with running(start="paused") as runner:
        runner.command(command())
        time.sleep(0.05)
        assert runner.status == PAUSED and runner.plant.steps == 0


def test_reset_puts_the_state_back_a_tick_later(running):
    """So no stamp has two states, of which a reader would join the halves."""
    with running(start="immediately", initial__orientation=(0.96, 0.28, 0.0, 0.0)) as runner:
        wait(lambda: runner.plant.steps > 100)
        runner.pause()
        steps = runner.plant.steps
        runner.reset()
        assert runner.plant.steps == steps + runner.plant.setup.tick_steps
        assert np.array_equal(runner.plant.q, runner.plant.setup.initial.q)
        assert runner.plant.force == (0.0, 0.0) and runner.command_queue.newest is None


def forces_of_ticks(running, in_sleep, ticks=6) -> list:
    """The cart's force [N] in each of the first ticks; `in_sleep(runner, k)` happens after tick k
    = 0, 1, ... was computed, and before it is published.
    """
    found = []
    with running(start="paused", real_time_factor=1.0) as runner:

        def deadline(*_) -> float:
            found.append(runner.plant.force[0])
            in_sleep(runner, len(found) - 1)
            return 0.0

        runner.pacer.wait = deadline
        runner.play()
        wait(lambda: len(found) > ticks)
    return found[:ticks]


def push(runner) -> None:
    runner.command(command((3.0, 0.0)))


def test_a_command_that_comes_before_its_state_is_sent_counts_from_the_next_one_on(running):
    """What a tick does is decided when the last state was sent: the readers of a state have the
    same time for it at any load.
    """
    forces = forces_of_ticks(running, lambda runner, k: k == 2 and push(runner))
    assert forces == [0.0, 0.0, 0.0, 3.0, 3.0, 3.0]


def test_a_reset_in_the_sleep_takes_back_what_was_commanded(running):
    def in_sleep(runner, k):
        if k == 1:
            push(runner)
        if k == 4:
            runner.reset()

    assert forces_of_ticks(running, in_sleep) == [0.0, 0.0, 3.0, 3.0, 3.0, 0.0]


def test_a_reset_before_a_state_leaves_is_what_is_told(running):
    """And not the state from before it under the same stamp."""
    told = []

    def prepare(runner):
        return partial(told.append, (runner.plant.stamp, runner.plant.q.copy()))

    with running(
        prepare=prepare,
        start="paused",
        real_time_factor=1.0,
        initial__orientation=(0.96, 0.28, 0.0, 0.0),
    ) as runner:
        start = runner.plant.q.copy()
        runner.pacer.wait = lambda *_: runner.plant.steps > 20 and runner.reset() or 0.0
        told.clear()
        runner.play()
        wait(lambda: len(told) > 40)
    after = [q for stamp, q in told if stamp > 1_000_000_000 + 20 * runner.plant.setup.step_ns]
    assert len(after) > 2 and all(np.array_equal(q, start) for q in after)


def test_a_step_before_a_state_leaves_is_what_is_told(running):
    """And not the state from before it: stamps never go back."""
    told = []

    def prepare(runner):
        return partial(told.append, runner.plant.stamp)

    with running(prepare=prepare, start="paused", real_time_factor=1.0) as runner:

        def deadline(*_) -> float:
            runner.pause()
            runner.step()
            return 0.0

        runner.pacer.wait = deadline
        runner.play()
        wait(lambda: runner.status == PAUSED and runner.plant.steps > 2)
    assert told == sorted(told)


def test_a_pause_in_the_sleep_lets_no_tick_follow(running):
    with running(start="immediately") as runner:
        runner.pacer.wait = lambda *_: runner.pause() and 0.0 or 0.0
        wait(lambda: runner.status == PAUSED)
        steps = runner.plant.steps
        time.sleep(0.05)
        assert runner.plant.steps == steps


def test_another_pace_ends_the_sleep_of_a_tick_of_hours(running):
    with running(start="immediately", real_time_factor=1.0) as runner:
        slow = runner.pace._replace(real_time_factor=1e-7)
        runner.reconfigure(runner.plant.setup, slow)
        wait(lambda: runner.pacer.period == runner.plant.tick_ns * 1e-9 / 1e-7)
        runner.reconfigure(runner.plant.setup, slow._replace(real_time_factor=1.0))
        steps = runner.plant.steps
        wait(lambda: runner.plant.steps > steps + 10)


def test_time_that_stands_still_is_not_caught_up(running):
    with running(start="immediately", real_time_factor=0.02, overrun="stop") as runner:
        wait(lambda: runner.plant.steps > 2)
        with runner.standstill():
            steps = runner.plant.steps
            time.sleep(0.3)
            assert runner.plant.steps == steps
            runner.statistics.ticks = 0
        wait(lambda: runner.statistics.ticks > 2 or runner.status != PLAYING)
        assert runner.status == PLAYING and runner.pacer.missed == 0


def test_lockstep_waits_for_the_answer(running):
    published = []
    with running(
        lambda r: published.append(r.plant.stamp), lockstep__enabled=True, lockstep__timeout=60.0
    ) as runner:
        wait(lambda: published)
        for _ in range(5):
            stamp = published[-1]
            runner.command(command(stamp=stamp))
            wait(lambda: published[-1] > stamp)
            assert published[-1] == stamp + runner.plant.tick_ns
        time.sleep(0.05)
        assert runner.plant.stamp == published[-1]  # no tick without an answer
        runner.command(command(stamp=published[0]))
        assert runner.command_queue.late == 1  # an answer to the past is not applied
        runner.pause()
        runner.command(command((7.0, 0.0), published[-1]))
        runner.command(command((8.0, 0.0), published[-1]))
        assert runner.command_queue.late == 2 and runner.command_queue.newest.force == (
            7.0,
            0.0,
        )  # the first answer counts
        for stamp in (0, published[-1] + 1):
            runner.command(command((9.0, 0.0), stamp))
        assert runner.command_queue.late == 4 and runner.command_queue.newest.force == (
            7.0,
            0.0,
        )  # the others answer no state that is


def test_a_state_without_an_answer_is_sent_again_and_whoever_asks_is_served_meanwhile(running):
    published = []
    lockstep = dict(lockstep__enabled=True, lockstep__timeout=60.0, rates__idle=20.0)
    with running(lambda r: published.append(r.plant.stamp), **lockstep) as runner:
        runner.command(command(stamp=runner.plant.stamp))
        wait(lambda: published and published[-1] > 1_000_000_000)
        stamp, steps = published[-1], runner.plant.steps
        wait(lambda: published.count(stamp) > 3)
        assert runner.plant.steps == steps
        assert runner.pause() == "" and runner.step() == "" and runner.play() == ""
        assert runner.plant.steps == steps + runner.plant.setup.tick_steps
        wait(lambda: published[-1] > stamp)


def test_no_command_expires_in_lockstep(running):
    lockstep = dict(lockstep__enabled=True, lockstep__timeout=60.0, watchdog__timeout=1e-3)
    with running(real_time_factor=1.0, **lockstep) as runner:
        late = time.monotonic() - 10.0
        runner.command(Command((2.0, 0.0), runner.plant.stamp, late))
        wait(lambda: runner.plant.steps > 0)
        assert runner.plant.force == (2.0, 0.0) and runner.statistics.watchdog_trips == 0


def test_an_answer_of_before_begins_time_after_an_end(running):
    """The state that was answered is published again after each begin, and answered again."""
    with running(lockstep__enabled=True, lockstep__timeout=60.0, start="on_command") as runner:
        runner.pause()
        runner.command(command((7.0, 0.0), runner.plant.stamp))
        runner.end()
        runner.begin()
        assert runner.status == PAUSED
        runner.command(command((0.0, 0.0), runner.plant.stamp))
        wait(lambda: runner.plant.steps > 0)
        assert runner.status == PLAYING and runner.command_queue.late == 0
        assert runner.signals.active_command.force == (0.0, 0.0)  # no longer that of before


def test_a_lockstep_fault_tells_what_was_rejected(running):
    with running(
        lockstep__enabled=True, lockstep__timeout=0.02, lockstep__reaction="fault"
    ) as runner:
        runner.command(command((2.0, 0.0), runner.plant.stamp))
        runner.command_queue.reject(
            Rejected("not finite", "cart/command is [nan]; it must be finite")
        )
        wait(
            lambda: (
                runner.status
                == "fault: no command answered the state within 0.02 s; one was rejected: "
                "cart/command is [nan]; it must be finite"
            )
        )


@pytest.mark.parametrize(
    "reaction, status",
    [("zero", PLAYING), ("hold", PLAYING), ("fault", "fault: no command answered")],
)
def test_lockstep_timeout(running, reaction, status):
    with running(
        lockstep__enabled=True, lockstep__timeout=0.02, lockstep__reaction=reaction
    ) as runner:
        runner.command(command((2.0, 0.0), runner.plant.stamp))
        wait(lambda: runner.statistics.lockstep_timeouts > 0)
        wait(lambda: runner.status.startswith(status))
        if reaction != "fault":
            wait(lambda: runner.plant.steps > 2)
            assert runner.plant.force == ((0.0, 0.0) if reaction == "zero" else (2.0, 0.0))


def test_watchdog_stops_an_old_command(running):
    with running(real_time_factor=1.0, watchdog__timeout=0.05) as runner:
        runner.command(command((2.0, 0.0)))
        wait(lambda: runner.plant.force == (2.0, 0.0))
        wait(lambda: runner.plant.force == (0.0, 0.0))
        assert runner.statistics.watchdog_trips == 1 and runner.status == PLAYING
        runner.command(command((2.0, 0.0)))
        wait(lambda: runner.plant.force == (2.0, 0.0))


def test_the_force_limit_is_applied_and_counted(running):
    with running(cart__force_limit=5.0) as runner:
        runner.command(command((30.0, 40.0)))
        wait(lambda: runner.statistics.saturated > 0)
        assert runner.plant.force == pytest.approx((3.0, 4.0))


def test_a_fault_stops_time_and_reset_recovers(running, values):
    spin = dict(
        integrator__step=0.5, rates__state=2.0, initial__angular_velocity=(40.0, 30.0, 0.0)
    )
    with running(start="immediately", **spin) as runner:
        wait(lambda: runner.status.startswith("fault: "))
        assert "did not converge" in runner.status and runner.play() != "" and runner.pause() != ""
        good = values(
            integrator__step=0.5,
            rates__state=2.0,
            integrator__name="rk4",
            real_time_factor=0.0,
            watchdog__timeout=0.0,
        )
        runner.reconfigure(setup.plant_setup(good), setup.run_config(good))
        runner.reset()
        wait(lambda: runner.plant.steps > 0)


def test_an_error_in_the_thread_is_a_fault_and_not_its_death(running, capfd):
    broken = []

    def publish(runner):
        if broken:
            raise OSError("no wire")

    with running(publish, start="immediately") as runner:
        broken.append(True)
        wait(lambda: runner.status == "fault: OSError: no wire")
        broken.clear()
        runner.reset()
        steps = runner.plant.steps
        wait(lambda: runner.plant.steps > steps)
    assert "no wire" in capfd.readouterr().err


def test_commands_may_take_longer_where_time_is_slow(values):
    slow, fast = (setup.run_config(values(real_time_factor=factor)) for factor in (0.1, 4.0))
    assert slow.slowdown == 10.0 and slow.oldest_stamp == pytest.approx(0.1)
    assert fast.slowdown == 1.0 and fast.oldest_stamp == pytest.approx(0.4)
    assert setup.run_config(values(real_time_factor=0.0)).oldest_stamp == float("inf")
