"""A compiled loop of ticks: tick, sleep to the deadline, publish; and nobody needs the
interpreter.

A tick in Python takes 0.2 ms of a processor that has slept since the last one and has to load all
of it into its caches again; here it takes what the sleep and the middleware take. Whatever else
there is to do ends the loop, and Python takes over:

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

from rbdyn_ros.geometry import unit_quaternion, vec
from rbdyn_ros.kernel import bound, inlined, specialised
from rbdyn_ros.mechanics.pendulum import imu
from rbdyn_ros.mechanics.pendulum.gimbal_joints import motion
from rbdyn_ros.numerics.foreign import called
from rbdyn_ros.simulation.command import CommandQueue
from rbdyn_ros.simulation.plant import Plant
from rbdyn_ros.simulation.statistics import Statistics
from rbdyn_ros.simulation.tick import EPOCH_NS, tick_kernel
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
    # (k,) where in them, in halves of a word, the seconds of a stamp stand; its nanoseconds follow
    stamps: Array
    # Where in them the numbers of a message stand; what follows stays as it is.
    joints: Array  # (15,) positions (5), velocities, efforts
    pose: Array  # (13 and more,) position (3), orientation xyzw, twist (6)
    ball_joint: (
        Array  # (13,) rotation xyzw, angular velocity (3), force, torque; (0,): without subscriber
    )
    # (37,) orientation xyzw, covariance (9), angular velocity (3), covariance, specific force,
    # covariance; (0,): without subscriber
    imu: Array
    angles: Array  # (3,) roll, pitch, spin [rad] of the last tick


class LoopConfig(NamedTuple):
    """How many ticks there may be, when they are due, and which command counts."""

    ticks: int
    period: float  # [s] real
    base: float  # [s, steady] deadline k is base + k period
    deadlines: int  # that are past
    travel: float  # [m]
    timeout: float  # [s] real, how old a command may be


class LoopResult(NamedTuple):
    """What came of it."""

    # (4,) published, limited, commands that a newer one overtook before a tick, commands seen
    ticks: Array
    times: Array  # (2,) [s] of computing a step: in the last tick, the longest


tick: Callable  # of the integrator for which the code below is specialised
specific_force: Callable


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
def write_state_messages(buffers, stamp, q, v, force):
    """Write a stamp [ns] into all messages, and the state into those of the joints and of the
    pose.
    """
    halves, words, at = buffers.words.view(np.int32), buffers.words, buffers.joints
    for place in buffers.stamps:
        halves[place], halves[place + 1] = stamp // 1_000_000_000, stamp % 1_000_000_000
    last = buffers.angles
    Q, u, w = (q[2], q[3], q[4], q[5]), (v[0], v[1]), (v[2], v[3], v[4])
    _, angles, rates, V = motion(Q, u, w, (last[0], last[1], last[2]))
    words[at[0]], words[at[1]] = q[0], q[1]
    words[at[5]], words[at[6]] = u
    words[at[10]], words[at[11]] = force[0], force[1]
    words[at[12]], words[at[13]], words[at[14]] = 0.0, 0.0, 0.0
    of_pose = buffers.pose
    words[of_pose[0]], words[of_pose[1]], words[of_pose[2]] = q[0], q[1], 0.0
    _write_xyzw(words, of_pose, 3, Q)
    for i in range(3):
        last[i] = angles[i]
        words[at[2 + i]], words[at[7 + i]] = angles[i], rates[i]
        words[of_pose[7 + i]], words[of_pose[10 + i]] = V[i], w[i]


@inlined
def write_ball_joint(buffers, joint_damping, state):
    """Write the rotation, the angular velocity, the force and the friction torque of the joint on
    the rod, in body axes.
    """
    words, at, q, v = buffers.words, buffers.ball_joint, state.q, state.v
    Q, reaction = (q[2], q[3], q[4], q[5]), state.reaction
    f = vec.transposed_matvec(unit_quaternion.matrix(Q), (reaction[0], reaction[1], reaction[2]))
    _write_xyzw(words, at, 0, Q)
    for i in range(3):
        words[at[4 + i]], words[at[7 + i]] = v[2 + i], f[i]
        words[at[10 + i]] = -joint_damping * v[2 + i]


@inlined
def write_imu(buffers, q, v, felt):
    """Write the orientation, the angular velocity and the specific force `felt` (3,) [m/s^2,
    body].
    """
    words, at = buffers.words, buffers.imu
    _write_xyzw(words, at, 0, (q[2], q[3], q[4], q[5]))
    for i in range(3):
        words[at[13 + i]], words[at[25 + i]] = v[2 + i], felt[i]


@inlined
def _write_xyzw(words, at, first, Q):
    words[at[first]], words[at[first + 1]], words[at[first + 2]] = Q[1], Q[2], Q[3]
    words[at[first + 3]] = Q[0]


def _ticks(clock, asked, commands, sent, config, buffers, models, result):
    """Up to config.ticks ticks; why they ended. `tick` is the integrator's.

    `asked` (1,): somebody waits; `models`: what the tick takes before the command, and what the
    IMU takes of contacts and place.
    """
    plant, sensor = models
    system, _, input, timing, _, state, _ = plant
    q, v = state.q, state.v
    for k in range(config.ticks):
        if asked[0]:
            return INTERRUPTED
        count, now = commands.count[0], _now(clock)
        slot = (count - 1) % len(commands.received)
        if count == 0 or now - commands.received[slot] > config.timeout:
            return COMMAND_TIMEOUT
        result.ticks[2] += max(0, count - result.ticks[3] - 1)
        result.ticks[3] = count
        start = _now(clock)
        command = commands.force[slot, 0], commands.force[slot, 1]
        result.ticks[1] += tick(*plant, command)  # noqa: F821, by `specialised`
        result.times[0] = (_now(clock) - start) / timing.steps
        deadline = config.base + (config.deadlines + k + 1) * config.period
        if (
            state.solved[0] < timing.steps
            or max(abs(q[0]), abs(q[1])) > config.travel
            or _now(clock) > deadline
        ):
            return UNPUBLISHED
        result.times[1] = max(result.times[1], result.times[0])
        stamp = EPOCH_NS + state.steps[0] * timing.step_ns
        write_state_messages(buffers, stamp, q, v, input.force)
        if len(buffers.ball_joint):
            write_ball_joint(buffers, system.joint_damping, state)
        if len(buffers.imu):
            contacts, work, position = sensor
            t = timing.start + state.steps[0] * timing.h
            felt = specific_force(system, input, contacts, work, t, q, v, position)  # noqa: F821
            write_imu(buffers, q, v, felt)
        _sleep(clock, deadline)
        place = sent.count[0] % len(sent.stamps)
        sent.stamps[place], sent.instants[place] = stamp, _now(clock)
        sent.count[0] += 1  # before it leaves: its answer may come before the last topic has left
        result.ticks[0] += 1
        for i in range(len(buffers.publishers)):
            if called(buffers.publish, buffers.publishers[i], buffers.messages[i], 0, 0):
                return PUBLISH_FAILED
    return DONE


@cache
def _kernel(name: str, advance: Callable, accelerations: Callable) -> Callable:
    felt = imu.specific_force(name, accelerations)
    return specialised(_ticks, name, tick=tick_kernel(name, advance), specific_force=felt)


def steady() -> Clock | None:
    """The system's clock; None where the system is not a 64-bit Linux, or kernels are not
    compiled.
    """
    if sys.platform != "linux" or ctypes.sizeof(ctypes.c_long) != 8 or config.DISABLE_JIT:
        return None
    c, time = ctypes.CDLL(None), np.zeros(2, np.int64)
    read, sleep = (
        ctypes.cast(f, ctypes.c_void_p).value for f in (c.clock_gettime, c.clock_nanosleep)
    )
    return Clock(read, sleep, time, time.ctypes.data)


class NativeLoop:
    """Runs the compiled loop. `asked[0] = 1` ends it after its tick."""

    def __init__(self, clock: Clock | None):
        self.asked = np.zeros(1, np.int64)
        self._result = LoopResult(np.zeros(4, np.int64), np.zeros(2))
        self._clock, self._setup, self._ticks = clock, None, None

    @property
    def possible(self) -> bool:
        """Whether there is a clock."""
        return self._clock is not None

    def warm_up(self, plant: Plant) -> None:
        """Have the code for a plant, where it can run."""
        if self.possible:
            none = np.zeros(0, np.int64)
            nowhere = PublishBuffers(0, none, none, np.zeros(0), *(none,) * 5, np.zeros(3))
            config = LoopConfig(0, 1.0, 0.0, 0, 1.0, 1.0)
            self._pass(plant, CommandQueue(), Statistics(), config, nowhere)

    def run(self, runner, period: float, buffers: PublishBuffers, n: int) -> tuple[int, str]:
        """Up to n ticks of a `Runner`, of `period` [s] each.

        (how they ended, the reason of a fault). All is as if Python had done them, but that a tick
        which is UNPUBLISHED has not been counted.
        """
        plant, command_queue, result = runner.plant, runner.command_queue, self._result
        for part in result:
            part[...] = 0
        result.ticks[3] = command_queue.read
        config = _loop_config(runner, period, n)
        how = self._pass(plant, command_queue, runner.statistics, config, buffers)
        published, limited, overtaken, seen = result.ticks.tolist()
        if published or how == UNPUBLISHED:
            plant.step_time, longest = result.times.tolist()
            runner.pacer.passed(published)
            runner.statistics.passed(published, limited, longest)
            runner.signals.active_command = (
                command_queue.take(seen - command_queue.read) or runner.signals.active_command
            )
            runner.signals.faults.commands.counts["outrun"] += overtaken
            return how, plant.fault()
        return how, ""

    def _pass(
        self,
        plant: Plant,
        command_queue: CommandQueue,
        statistics: Statistics,
        config: LoopConfig,
        buffers: PublishBuffers,
    ) -> int:
        given = (
            *(self._clock, self.asked, command_queue.ring, statistics.sent, config, buffers),
            *((plant.ticker.arguments, plant.imu_arguments), self._result),
        )
        if plant.setup is not self._setup:
            method, self._setup = plant.setup.integrator, plant.setup
            self._ticks = bound(_kernel(method.name, method.advance, method.accelerations), *given)
        return self._ticks(*given)


def _loop_config(runner, period: float, n: int) -> LoopConfig:
    pace, timeout = runner.pace, runner.pace.watchdog.timeout
    longest = timeout * pace.slowdown if timeout else math.inf
    travel = float(runner.plant.setup.travel)
    return LoopConfig(n, period, *runner.pacer.beat(period), travel, float(longest))
