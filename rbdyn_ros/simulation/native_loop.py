"""A compiled loop of ticks: step, sleep to the deadline, publish; and nobody needs the interpreter.

A tick in Python takes 0.2 ms of a processor that has slept since the last one and has to find all of it in its memory again; here it
takes what the sleep and the middleware take. It is a tick of `simulation.runner`, where nothing stands between law
and plant: no fault, no push, no lockstep. Whatever else there is to do ends the stretch, and Python takes over:

    DONE             all ticks are published
    INTERRUPTED      somebody wants something between two ticks
    COMMAND_TIMEOUT  there is no command that still counts: the next tick is the watchdog's
    UNPUBLISHED      the last tick is late, it failed, or the cart is beyond its travel
    PUBLISH_FAILED   the middleware did not take a message of the last tick
"""

import ctypes
import math
import sys
from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import numpy as np
from numba import config

from rbdyn_ros.kernel import bound, inlined, specialised
from rbdyn_ros.mechanics.pendulum.gimbal_joints import motion
from rbdyn_ros.numerics.foreign import called
from rbdyn_ros.numerics.saturation import limit_force
from rbdyn_ros.simulation.command import CommandQueue
from rbdyn_ros.simulation.history import History
from rbdyn_ros.simulation.plant import EPOCH_NS, Plant
from rbdyn_ros.simulation.statistics import Statistics
from rbdyn_ros.simulation.work import balance
from rbdyn_ros.types import Array

DONE, INTERRUPTED, COMMAND_TIMEOUT, UNPUBLISHED, PUBLISH_FAILED = range(5)
_MONOTONIC, _AT = 1, 1  # CLOCK_MONOTONIC, TIMER_ABSTIME of Linux


class Clock(NamedTuple):
    """The steady clock of the system, as `time.monotonic` reads it."""

    read: int  # address of clock_gettime
    sleep: int  # of clock_nanosleep
    time: Array  # (2,) [s, ns] where they read and write
    place: int  # its address


class PublishBuffers(NamedTuple):
    """Messages that are ready but for their stamps and numbers, and who sends them."""

    publish: int  # address of int f(publisher, message, 0), 0 where it was taken
    publishers: Array  # (m,) addresses
    messages: Array  # (m,) addresses of what each of them sends
    words: Array  # (n,) doubles: the bytes of all messages
    stamps: Array  # (k,) where in them, in halves of a word, the seconds of a stamp stand; its nanoseconds follow
    # (28 and more,) where in them the numbers stand: positions (5), velocities, efforts; position
    # (3), orientation xyzw, twist (6); what follows stays as it is
    numbers: Array
    angles: Array  # (3,) roll, pitch, spin [rad] of the last tick


class LoopConfig(NamedTuple):
    """How long a tick is, and which command counts."""

    step_ns: int
    tick_steps: int
    period: float  # [s] real
    base: float  # [s, steady] deadline k is base + k period
    deadlines: int  # that are past
    limit: float  # [N]
    travel: float  # [m]
    patience: float  # [s] real, how old a command may be


class LoopResult(NamedTuple):
    """What came of it."""

    ticks: Array  # (4,) told, saturated, commands that a newer one overtook before a tick, commands seen
    force: Array  # (2,) [N] of the last tick
    times: Array  # (2,) [s] of computing a step: in the last tick, the longest
    solved: Array  # (3,) of the last tick: steps, iterations, residual
    balance: Array  # (7,) work [J] since it was balanced; after the last tick E, Lz, Px, Py, p3, |quaternion| - 1


advance: Callable  # of the integrator for which the code below is specialised
_limited = inlined(limit_force)


@inlined
def _now(clock):
    called(clock.read, _MONOTONIC, clock.place, 0, 0)
    return clock.time[0] + 1e-9 * clock.time[1]


@inlined
def _sleep(clock, instant):
    """Until an instant [s, steady]; a signal does not wake it."""
    while _now(clock) < instant:
        clock.time[0] = int(instant)
        clock.time[1] = int(1e9 * (instant - int(instant)))
        called(clock.sleep, _MONOTONIC, _AT, clock.place, 0)


@inlined
def tell(buffers, stamp, q, v, force):
    """Write a stamp [ns] and the state into the messages."""
    halves, words, at = buffers.words.view(np.int32), buffers.words, buffers.numbers
    for place in buffers.stamps:
        halves[place], halves[place + 1] = stamp // 1_000_000_000, stamp % 1_000_000_000
    last = buffers.angles
    Q, u, w = (q[2], q[3], q[4], q[5]), (v[0], v[1]), (v[2], v[3], v[4])
    _, angles, rates, V = motion(Q, u, w, (last[0], last[1], last[2]))
    words[at[0]], words[at[1]] = q[0], q[1]
    words[at[5]], words[at[6]] = u
    words[at[10]], words[at[11]], words[at[12]], words[at[13]], words[at[14]] = (
        force[0],
        force[1],
        0.0,
        0.0,
        0.0,
    )
    words[at[15]], words[at[16]], words[at[17]] = q[0], q[1], 0.0
    words[at[18]], words[at[19]], words[at[20]], words[at[21]] = Q[1], Q[2], Q[3], Q[0]
    for i in range(3):
        last[i] = angles[i]
        words[at[2 + i]], words[at[7 + i]] = angles[i], rates[i]
        words[at[22 + i]], words[at[25 + i]] = V[i], w[i]


@inlined
def _write(row, stamp, q, v, force, stamps, rows):
    """A row of the history."""
    stamps[row, 0] = stamp
    for i in range(6):
        rows[row, 1 + i] = q[i]
    for i in range(5):
        rows[row, 7 + i] = v[i]
    rows[row, 12], rows[row, 13] = force[0], force[1]


@inlined
def _account(report, done, iterations, residual, work, quantities, norm_error):
    """Take down what a tick came to."""
    report.solved[0], report.solved[1], report.solved[2] = done, iterations, residual
    report.balance[0] += work
    for i in range(5):
        report.balance[1 + i] = quantities[i]
    report.balance[6] = norm_error


def _ticks(
    clock,
    asked,
    ring,
    sent,
    terms,
    buffers,
    n,
    system,
    options,
    input,
    q,
    v,
    reaction,
    steps,
    stamps,
    rows,
    first,
    report,
):
    """Up to n ticks; why they ended. `advance` is the integrator's.

    `asked` (1,): somebody waits; `steps` (1,) the plant's; `stamps`, `rows` (m, 14): the history as whole numbers and as doubles, the
    same memory, of which the row `first` is the next.
    """
    h, force = 1e-9 * terms.step_ns, report.force
    for k in range(n):
        if asked[0]:
            return INTERRUPTED
        count, now = ring.count[0], _now(clock)
        slot = (count - 1) % len(ring.received)
        if count == 0 or now - ring.received[slot] > terms.patience:
            return COMMAND_TIMEOUT
        report.ticks[2] += max(0, count - report.ticks[3] - 1)
        report.ticks[3] = count
        (force[0], force[1]), cut = _limited(
            (ring.force[slot, 0], ring.force[slot, 1]), terms.limit
        )
        input.force[0], input.force[1] = force[0], force[1]
        report.ticks[1] += cut
        t = steps[0] * terms.step_ns * 1e-9
        power, _, _ = balance(system, input, t, q, v)
        start = _now(clock)
        done, iterations, residual = advance(  # noqa: F821, by `specialised`
            system, options, input, h, terms.tick_steps, t, q, v, reaction
        )
        report.times[0] = (_now(clock) - start) / terms.tick_steps
        steps[0] += done
        power_after, quantities, norm_error = balance(
            system, input, steps[0] * terms.step_ns * 1e-9, q, v
        )
        _account(
            report,
            done,
            iterations,
            residual,
            0.5 * (power + power_after) * done * h,
            quantities,
            norm_error,
        )
        stamp = EPOCH_NS + steps[0] * terms.step_ns
        _write((first + k) % len(rows), stamp, q, v, force, stamps, rows)
        deadline = terms.base + (terms.deadlines + k + 1) * terms.period
        if (
            done < terms.tick_steps
            or max(abs(q[0]), abs(q[1])) > terms.travel
            or _now(clock) > deadline
        ):
            return UNPUBLISHED
        report.times[1] = max(report.times[1], report.times[0])
        tell(buffers, stamp, q, v, force)
        _sleep(clock, deadline)
        place = sent.count[0] % len(sent.stamps)
        sent.stamps[place], sent.instants[place] = stamp, _now(clock)
        sent.count[0] += 1  # before it leaves: its answer may come before the last topic has left
        report.ticks[0] += 1
        for i in range(len(buffers.publishers)):
            if called(buffers.publish, buffers.publishers[i], buffers.messages[i], 0, 0):
                return PUBLISH_FAILED
    return DONE


@cache
def _kernel(name: str, advance: Callable) -> Callable:
    return specialised(_ticks, name, advance=advance)


def steady() -> Clock | None:
    """The system's clock; None where the system is not a 64-bit Linux, or kernels are not compiled."""
    if sys.platform != "linux" or ctypes.sizeof(ctypes.c_long) != 8 or config.DISABLE_JIT:
        return None
    c, time = ctypes.CDLL(None), np.zeros(2, np.int64)
    read, sleep = (
        ctypes.cast(f, ctypes.c_void_p).value for f in (c.clock_gettime, c.clock_nanosleep)
    )
    return Clock(read, sleep, time, time.ctypes.data)


class NativeLoop:
    """Runs stretches, one at a time. `asked[0] = 1` ends one after its tick."""

    def __init__(self, clock: Clock | None):
        self.asked = np.zeros(1, np.int64)
        self._report = LoopResult(
            np.zeros(4, np.int64), np.zeros(2), np.zeros(2), np.zeros(3), np.zeros(7)
        )
        self._clock, self._setup, self._ticks = clock, None, None

    @property
    def possible(self) -> bool:
        """Whether there is a clock."""
        return self._clock is not None

    def rehearse(self, plant: Plant) -> None:
        """Have the code for a plant, where stretches are possible."""
        if self.possible:
            none = np.zeros(0, np.int64)
            nowhere, at_once = (
                PublishBuffers(0, none, none, np.zeros(0), none, none, np.zeros(3)),
                LoopConfig(1, 1, 1.0, 0.0, 0, 1.0, 1.0, 1.0),
            )
            self._pass(plant, CommandQueue(), Statistics(), History(1), at_once, nowhere, 0)

    def run(self, runner, period: float, buffers: PublishBuffers, n: int) -> tuple:
        """Up to n ticks of a `Runner`, of `period` [s] each.

        (how they ended, the reason of a fault). All is as if Python had done them, but that a tick
        which is UNPUBLISHED has not been counted.
        """
        plant, command_queue, report = runner.plant, runner.command_queue, self._report
        for part in report:
            part[...] = 0
        report.ticks[3], report.balance[0] = command_queue.read, plant.work
        plant.input.disturbance[:] = 0.0
        how = self._pass(
            plant,
            command_queue,
            runner.statistics,
            runner.history,
            _terms(runner, period),
            buffers,
            n,
        )
        told, saturated, outrun, seen = report.ticks.tolist()
        if told or how == UNPUBLISHED:
            step_time, longest = report.times.tolist()
            runner.pacer.passed(told)
            runner.statistics.passed(told, saturated, longest)
            runner.history.passed(told + (how == UNPUBLISHED))
            runner.force = runner.chain.actuator.applied(tuple(report.force.tolist()))
            runner.acting = command_queue.take(seen - command_queue.read) or runner.acting
            runner.chain.commands.counts["outrun"] += outrun
            work, *quantities, norm_error = report.balance.tolist()
            done, iterations, residual = report.solved.tolist()
            return how, plant.account(
                work, quantities, norm_error, int(done), int(iterations), residual, step_time
            )
        return how, ""

    def _pass(
        self,
        plant: Plant,
        command_queue: CommandQueue,
        statistics: Statistics,
        history: History,
        terms: LoopConfig,
        buffers: PublishBuffers,
        n: int,
    ) -> int:
        setup, (stamps, rows, first) = plant.setup, history.memory
        given = (
            *(self._clock, self.asked, command_queue.ring, statistics.sent, terms, buffers, n),
            *(
                setup.system,
                setup.options,
                plant.input,
                plant.q,
                plant.v,
                plant.reaction,
                plant.count,
            ),
            *(stamps, rows, first, self._report),
        )
        if setup is not self._setup:
            self._ticks, self._setup = (
                bound(_kernel(setup.integrator.name, setup.integrator.advance), *given),
                setup,
            )
        return self._ticks(*given)


def _terms(runner, period: float) -> LoopConfig:
    setup, pace, timeout = runner.plant.setup, runner.pace, runner.pace.watchdog.timeout
    patience = timeout * pace.slowdown if timeout else math.inf
    limits = float(pace.force_limit), float(setup.travel), float(patience)
    return LoopConfig(setup.step_ns, setup.tick_steps, period, *runner.pacer.beat(period), *limits)
