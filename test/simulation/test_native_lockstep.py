"""In lockstep the compiled loop waits for the command that answers the state, and for no other;
its ticks are Python's, bit by bit.
"""

import queue
import threading
import time
from contextlib import contextmanager
from functools import partial

import numpy as np
import pytest
from compiled_loop import EVERY_FAULT, TICK, Press, commanded
from waiting import wait

from rbdyn_ros.simulation.command import Command
from rbdyn_ros.simulation.native_loop import DONE, INTERRUPTED, UNANSWERED, NativeLoop
from rbdyn_ros.simulation.status import FAULT, PAUSED, PLAYING
from rbdyn_ros.simulation.steady_clock import steady

pytestmark = pytest.mark.skipif(
    steady() is None, reason="the compiled loop needs a 64-bit Linux and compiled kernels"
)

LOCKSTEP = dict(lockstep__enabled=True, rates__state=1.0 / TICK)


def answer(runner, now: float, force=(1.0, 0.0), stamp: int | None = None) -> bool:
    """Command in answer to the state that is known, or to another one; True."""
    stamp = runner.signals.expected_stamp if stamp is None else stamp
    runner.command(Command(force, stamp, now))
    return True


def forces(runner) -> list[float]:
    """Along x [N], of each tick."""
    return runner.history.read()[1][:, 11].tolist()


def test_each_tick_waits_for_the_answer_to_the_state_before(resting, passed, virtual):
    runner, press, published = resting(**LOCKSTEP), Press(), []

    def on_wait() -> bool:
        published.append(len(press.issues))
        return answer(runner, virtual.now, (float(len(published)), 0.0))

    virtual.on_wait = on_wait
    assert passed(runner, 5, press) == (DONE, "")
    assert forces(runner) == [1.0, 2.0, 3.0, 4.0, 5.0] and published == [0, 2, 4, 6, 8]
    assert len(runner.statistics.round_trips) == 4  # the state at rest was not sent
    assert runner.command_queue.late == 1  # the one of `resting`, without a stamp


def test_the_first_answer_counts_and_no_other(resting, passed, virtual):
    runner, turns = resting(**LOCKSTEP), []

    def on_wait() -> bool:
        turns.append(runner.plant.stamp)
        if len(turns) == 4:  # after three waits for the first state: its two answers
            return answer(runner, virtual.now, (4.0, 0.0)) and answer(runner, virtual.now)
        stamp = (0, runner.plant.stamp - 1, runner.plant.stamp + runner.plant.tick_ns)
        return answer(runner, virtual.now, (9.0, 0.0), stamp[len(turns) % 3])

    virtual.on_wait = on_wait
    late = runner.command_queue.late
    assert passed(runner, 1) == (DONE, "") and forces(runner) == [4.0]
    assert runner.command_queue.late == late + 4 and len(set(turns)) == 1


def test_an_answer_that_comes_while_the_state_still_leaves_counts(resting, passed, virtual):
    """It comes between the first topic and the second one: the stamp is expected, and the instant
    known.
    """
    runner, press = resting(**LOCKSTEP), Press()
    answer(runner, virtual.now)
    press.on_publish = lambda: len(press.issues) % 2 and answer(runner, virtual.now, (2.0, 0.0))
    assert passed(runner, 4, press) == (DONE, "") and virtual.waits == 0
    assert forces(runner) == [1.0, 2.0, 2.0, 2.0] and runner.command_queue.late == 1
    assert len(runner.statistics.round_trips) == 4
    assert max(runner.statistics.round_trips) < 1e-4


def test_without_an_answer_the_state_is_due_again(resting, passed, virtual):
    runner, press = resting(rates__idle=4.0, **LOCKSTEP), Press()
    virtual.on_wait = lambda: virtual.waits < 100  # woken for nothing, a hundred times
    begin = virtual.now
    assert passed(runner, 5, press) == (UNANSWERED, "")
    assert virtual.now - begin == pytest.approx(0.25, abs=0.01) and virtual.waits == 100
    assert runner.plant.steps == 0 and not press.issues


def test_who_asks_ends_the_wait(resting, passed, virtual):
    runner, loop = resting(**LOCKSTEP), NativeLoop(virtual.clock)
    virtual.on_wait = lambda: loop.asked.__setitem__(0, 1) or True
    assert passed(runner, 5, None, loop) == (INTERRUPTED, "") and runner.plant.steps == 0


def test_the_loop_ends_for_everybody_who_asks():
    loop = NativeLoop(None)
    with loop.interrupt():
        with loop.interrupt():
            assert loop.asked[0] == 2
        assert loop.asked[0] == 1
    assert loop.asked[0] == 0


def test_no_command_expires_in_lockstep(resting, passed, virtual):
    runner = resting(watchdog__timeout=0.01, rates__idle=1.0, real_time_factor=1.0, **LOCKSTEP)

    def on_wait() -> bool:
        virtual.now += 0.5
        return answer(runner, virtual.now - 0.4)

    virtual.on_wait = on_wait
    passed(runner, 1)
    assert runner.plant.force == (1.0, 0.0) and runner.statistics.watchdog_trips == 0


@pytest.mark.parametrize("limit, acknowledged, ticks", [(3, [], 3), (3, [7, 8], 10), (0, [], 10)])
def test_no_publisher_sends_more_than_it_keeps(resting, passed, limit, acknowledged, ticks):
    """Until all has been acknowledged, which the loop does not wait for."""
    runner, press = resting(rates__state=1.0 / TICK), Press(limit=limit)
    press.is_acknowledged = lambda publisher: publisher in acknowledged
    assert passed(runner, 10, press) == (DONE, "") and len(press.issues) == 2 * ticks
    assert press.buffers.unacknowledged.counts.tolist() == [{3: 3, 10: min(limit, 1)}[ticks]] * 2


PLANTS = {
    "moser_veselov": {},
    "rk4": {"integrator__name": "rk4"},
    "rattle_s2": {"integrator__name": "rattle_s2"},
    "composed": {"integrator__name": "quaternion_midpoint", "integrator__composition": "suzuki4"},
    "contacts": {
        "integrator__name": "quaternion_midpoint",
        "contact__floor__enabled": True,
        "contact__stops__x_max": 0.05,
    },
    "faults": EVERY_FAULT,
}


@pytest.mark.parametrize("plant", PLANTS)
def test_a_tick_has_the_same_bits_wherever_it_passes(resting, passed, virtual, plant):
    """Whatever ends the loop decides where a tick passes, so two lockstep runs would differ."""
    spin = 0.0 if plant == "rattle_s2" else 2.0
    changes = dict(initial__angular_velocity=(0.5, 0.3, spin), **LOCKSTEP, **PLANTS[plant])
    native, python = resting(**changes), resting(**changes)

    def command(runner) -> bool:
        x, y, *_ = runner.plant.q.tolist()
        return answer(runner, virtual.now, (3.0 - x, 2.0 + y))

    virtual.on_wait = lambda: command(native)
    for _ in range(300):
        if python.signals.is_new:
            command(python)
        python._tick(python.signals.command(virtual.now, python.pace, python.statistics))
    while native.statistics.ticks < 300:
        assert passed(native, 300 - native.statistics.ticks) == (DONE, "")
    assert python.history.read()[1].tobytes() == native.history.read()[1].tobytes()
    ours, theirs = (runner.signals.measurement for runner in (native, python))
    assert ours == theirs and (ours is None) == (plant != "faults")
    assert native.command_queue.accepted == python.command_queue.accepted > 50


# in a thread, on the system's clock


@contextmanager
def playing(made, longest: int = 25, **changes):
    """(runner, respond, published): it plays and waits for the first answer; `respond()` lets a
    thread answer every state from then on, until it is called again; `published` has the stamps
    that Python sent.
    """
    press, published, states, newest = Press(), [], queue.Queue(), [0]
    press.longest, answering, over = longest, threading.Event(), threading.Event()
    changes = {"lockstep__timeout": 60.0, "real_time_factor": 0.0, "cart__travel": 1e9, **changes}
    runner = made(press, start="on_command", **{**LOCKSTEP, **changes})

    def prepare(_):
        stamp = runner.plant.stamp

        def publish() -> None:
            runner.mark_published()
            if stamp > newest[0]:  # nobody answers the same state again
                publish_new(stamp)
            published.append(stamp)

        return publish

    def publish_new(stamp: int) -> None:
        newest[0] = stamp
        states.put(stamp)

    def respond_to_all() -> None:
        while not over.is_set():
            if answering.wait(0.01) and not states.empty():
                answer(runner, time.monotonic(), (1.0, 0.0), states.get())

    runner._prepare = prepare
    press.on_publish = lambda: len(press.issues) % 2 and publish_new(press.issues[-1][2])
    thread = threading.Thread(target=respond_to_all)
    runner.begin()
    thread.start()
    try:
        yield (
            runner,
            lambda: answering.clear() if answering.is_set() else answering.set(),
            published,
        )
    finally:
        over.set()
        thread.join()
        runner.end()


def waits(runner) -> bool:
    """Whether no tick passes for a while."""
    stamp = runner.plant.stamp
    time.sleep(0.05)
    return runner.plant.stamp == stamp


@pytest.mark.parametrize("factor", [0.0, 1.0])
def test_lockstep_passes_in_machine_code(made, factor):
    with playing(made, real_time_factor=factor) as (runner, respond, _):
        respond()
        wait(lambda: runner.statistics.plain > 200 or runner.status.startswith(FAULT))
        runner.pause()
        counts, stamps = runner.statistics, runner.history.read()[0]
        assert counts.ticks == len(stamps) and 0 <= runner.command_queue.accepted - len(stamps) < 2
        assert set(np.diff(stamps)) == {runner.plant.tick_ns}
        assert counts.lockstep_timeouts == runner.command_queue.late == 0
        assert len(counts.round_trips) == runner.command_queue.accepted
        assert factor or counts.plain > 0.8 * counts.ticks


def test_whoever_asks_is_served_while_the_loop_waits(made):
    """And not only when the state is due again, in a second."""
    with playing(made, rates__idle=1.0) as (runner, respond, _):
        respond()
        wait(lambda: runner.statistics.plain > 50)
        for _ in range(5):
            respond()
            wait(lambda: waits(runner))
            begin, steps = time.monotonic(), runner.plant.steps
            assert runner.pause() == "" and runner.status == PAUSED
            assert time.monotonic() - begin < 0.5 and runner.plant.steps == steps
            assert runner.step() == "" and runner.play() == "" and runner.status == PLAYING
            respond()
            wait(lambda: runner.plant.steps > steps + 30)
        respond()
        wait(lambda: waits(runner))
        begin = time.monotonic()
        runner.end()
        assert time.monotonic() - begin < 0.5
        runner.begin()  # the loop may begin again
        respond()
        plain = runner.statistics.plain
        wait(lambda: runner.statistics.plain > plain + 50)


def test_a_reset_while_the_loop_waits_needs_an_answer_of_its_own(made):
    with playing(made) as (runner, respond, published):
        respond()
        wait(lambda: runner.statistics.plain > 50)
        respond()
        wait(lambda: waits(runner))
        runner.reset(runner.plant.setup.initial)
        stamp, late = runner.plant.stamp, runner.command_queue.late
        assert published[-1] == stamp and np.array_equal(
            runner.plant.q, runner.plant.setup.initial.q
        )
        answer(runner, time.monotonic(), (5.0, 0.0), stamp - runner.plant.tick_ns)
        assert waits(runner) and runner.command_queue.late == late + 1
        answer(runner, time.monotonic(), (5.0, 0.0), stamp)
        wait(lambda: runner.plant.stamp == stamp + runner.plant.tick_ns)
        assert runner.plant.force == (5.0, 0.0)


@pytest.mark.parametrize(
    "reaction, status", [("zero", PLAYING), ("hold", PLAYING), ("fault", FAULT)]
)
def test_a_state_without_answer_is_sent_again_and_times_out(made, reaction, status):
    """Every 0.2 s, for 0.5 s: the wait in the compiled loop counts."""
    late = dict(rates__idle=5.0, lockstep__timeout=0.5, lockstep__reaction=reaction)
    with playing(made, **late) as (runner, respond, published):
        in_python, queue_wait = [], runner.command_queue.wait
        runner.command_queue.wait = lambda *arguments: (
            in_python.append(arguments[1]) or queue_wait(*arguments)
        )
        respond()
        wait(lambda: runner.statistics.plain > 50)
        respond()
        wait(lambda: waits(runner))
        stamp, force = runner.plant.stamp, runner.plant.force
        wait(lambda: runner.statistics.lockstep_timeouts > 0)
        assert 0.0 in in_python  # [s] after the wait in the compiled loop
        # at rest after a fault it is sent as well
        assert 1 <= published.count(stamp) <= 2 or status == FAULT
        wait(lambda: runner.status.startswith(status))
        if status == PLAYING:
            wait(lambda: runner.plant.stamp > stamp)
            assert runner.plant.force == (force if reaction == "hold" else (0.0, 0.0))
            respond()
            plain = runner.statistics.plain
            wait(lambda: runner.statistics.plain > plain + 50)


def test_time_runs_freely_until_the_first_command_ever(made):
    press = Press()
    runner = made(press, real_time_factor=0.0, cart__travel=1e9, **LOCKSTEP)
    runner.begin()
    try:
        wait(lambda: runner.plant.steps > 100)
        assert press.stretches == 0 and runner.statistics.lockstep_timeouts == 0
        wait(lambda: runner.command_queue.accepted or not answer(runner, time.monotonic()))
        wait(lambda: press.stretches > 0 and waits(runner))
    finally:
        runner.end()


def test_the_wait_takes_neither_the_interpreter_nor_a_processor(made):
    runner, press = made(rates__idle=1.0, **LOCKSTEP), Press()
    runner.pacer.wait(0.0, lambda: True)
    loop = runner._native_loop
    loop.warm_up(runner.plant)
    for _ in range(1000):
        loop.wake()  # nobody waits: the next wait ends, and begins again
    timer = threading.Timer(0.3, partial(answer, runner, time.monotonic()))
    timer.start()
    begin, used = time.monotonic(), time.thread_time()
    assert loop.run(runner, 0.0, press.buffers, 1) == (DONE, "")
    elapsed, used = time.monotonic() - begin, time.thread_time() - used
    assert 0.25 < elapsed < 0.9 and used < 0.05 and runner.plant.force == (1.0, 0.0)
    assert loop.run(runner, 0.0, press.buffers, 1) == (UNANSWERED, "")
    assert time.monotonic() - begin - elapsed > 0.99


def test_commands_without_lockstep_do_not_wake_anybody(made, monkeypatch):
    """A semaphore that nobody waits for would count on."""
    woken = []
    for changes in ({}, LOCKSTEP):
        runner = made(**changes)
        monkeypatch.setattr(runner._native_loop, "wake", lambda: woken.append(changes))
        commanded(runner, (1.0, 0.0), 0.0)
        answer(runner, 0.0)
    assert woken == [LOCKSTEP]
