"""A compiled loop of ticks: tick, sleep to the deadline, publish; and nobody needs the
interpreter.

A tick in Python takes 0.2 ms of a processor that has slept since the last one and has to load all
of it into its caches again; here it takes what the sleep and the middleware take. Whatever else
there is to do ends the loop, and Python takes over:

    DONE             all ticks are published
    INTERRUPTED      somebody wants something between two ticks, or draws for commands are used up
    UNPUBLISHED      the last tick is late, it failed, or the cart is beyond its travel
    PUBLISH_FAILED   the middleware did not take a message of the last tick
"""

import ctypes
import sys
from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import numpy as np
from numba import config

from rbdyn_ros.faults.channel import ARRIVED, BLOCK
from rbdyn_ros.faults.covariance import rotation_covariances, variances
from rbdyn_ros.faults.options import Faults
from rbdyn_ros.faults.pipeline import FaultPipeline
from rbdyn_ros.geometry import unit_quaternion, vec
from rbdyn_ros.kernel import bind, inlined, specialize
from rbdyn_ros.mechanics.pendulum import imu
from rbdyn_ros.mechanics.pendulum.gimbal_joints import motion
from rbdyn_ros.numerics.foreign import called
from rbdyn_ros.simulation.command import CommandQueue
from rbdyn_ros.simulation.plant import Plant
from rbdyn_ros.simulation.signals import (
    IS_NEW,
    PlantSignals,
    commanded_force,
    measure,
    receive_commands,
)
from rbdyn_ros.simulation.statistics import Statistics
from rbdyn_ros.simulation.tick import EPOCH_NS, tick_kernel
from rbdyn_ros.types import Array

DONE, INTERRUPTED, UNPUBLISHED, PUBLISH_FAILED = range(4)
_MONOTONIC, _AT = 1, 1  # CLOCK_MONOTONIC, TIMER_ABSTIME of Linux


class Clock(NamedTuple):
    """The steady clock of the system, as `time.monotonic` reads it."""

    read: int  # address of clock_gettime
    sleep: int  # of clock_nanosleep
    time: Array  # (2,) [s, ns] where they read and write
    place: int  # its address


class MessageBuffers(NamedTuple):
    """Messages that are ready but for their stamps and numbers."""

    words: Array  # (n,) doubles: the bytes of all messages
    # (k,) where in them, in halves of a word, the seconds of a stamp stand; its nanoseconds follow
    stamps: Array
    # Where in them the numbers of a message stand; what follows stays as it is.
    joints: Array  # (15,) positions (5), velocities, efforts
    # (85,) position (3), orientation xyzw, twist (6), covariances of the pose (36) and the twist
    pose: Array
    ball_joint: (
        Array  # (13,) rotation xyzw, angular velocity (3), force, torque; (0,): without subscriber
    )
    # (37,) orientation xyzw, covariance (9), angular velocity (3), covariance, specific force,
    # covariance; (0,): without subscriber
    imu: Array
    angles: Array  # (3,) roll, pitch, spin [rad] of the last tick


class PublishBuffers(NamedTuple):
    """The messages of the truth and of the measurement, and who sends them."""

    publish: int  # address of int f(publisher, message, 0), 0 where it was taken
    publishers: Array  # (m,) addresses
    messages: Array  # (m,) addresses of what each of them sends
    measured: Array  # (m,) 1 where that is sent only when a measurement has arrived
    truth: MessageBuffers
    measurement: MessageBuffers


class LoopConfig(NamedTuple):
    """How many ticks there may be, when they are due, which command counts, what is measured."""

    ticks: int
    period: float  # [s] real
    base: float  # [s, steady] deadline k is base + k period
    deadlines: int  # that are past
    travel: float  # [m]
    watchdog: tuple[float, float]  # `command.Watchdog.numbers`
    slowdown: float  # real seconds for one of the watchdog
    oldest: float  # [s] how old the state may be that a delayed command answers
    measures: int  # 0 where the sensors tell the truth at once
    variances: tuple[float, ...]  # `covariance.variances` of the sensors


class LoopResult(NamedTuple):
    """What came of it."""

    ticks: Array  # (2,) published, limited
    times: Array  # (2,) [s] of computing a step: in the last tick, the longest


tick: Callable  # of the integrator for which the code below is specialized
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
    pose; return the attitude's matrix and the velocity (3,) of the joint [m/s, body].
    """
    halves, words, at = buffers.words.view(np.int32), buffers.words, buffers.joints
    for place in buffers.stamps:
        halves[place], halves[place + 1] = stamp // 1_000_000_000, stamp % 1_000_000_000
    last = buffers.angles
    Q, u, w = (q[2], q[3], q[4], q[5]), (v[0], v[1]), (v[2], v[3], v[4])
    R, angles, rates, V = motion(Q, u, w, (last[0], last[1], last[2]))
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
    return R, V


@inlined
def write_ball_joint(buffers, joint_damping, q, v, reaction):
    """Write the rotation, the angular velocity, the force and the friction torque of the joint on
    the rod, in body axes.
    """
    words, at, Q = buffers.words, buffers.ball_joint, (q[2], q[3], q[4], q[5])
    f = vec.transposed_matvec(unit_quaternion.matrix(Q), (reaction[0], reaction[1], reaction[2]))
    _write_xyzw(words, at, 0, Q)
    for i in range(3):
        words[at[4 + i]], words[at[7 + i]] = v[2 + i], f[i]
        words[at[10 + i]] = -joint_damping * v[2 + i]


@inlined
def write_imu(buffers, q, rate, felt):
    """Write the orientation, the angular velocity (3,) and the specific force `felt` (3,)
    [m/s^2, body].
    """
    words, at = buffers.words, buffers.imu
    _write_xyzw(words, at, 0, (q[2], q[3], q[4], q[5]))
    for i in range(3):
        words[at[13 + i]], words[at[25 + i]] = rate[i], felt[i]


@inlined
def write_covariances(buffers, variances, R, V):
    """Write the covariances of the pose and of the IMU (`faults.covariance`)."""
    words, pose, of_imu, a = buffers.words, buffers.pose, buffers.imu, buffers.angles
    cart, angle, speed, rate, gyroscope, accelerometer = variances
    orientation, velocity = rotation_covariances((angle, speed), (a[0], a[1], a[2]), R, V)
    words[pose[13]] = words[pose[20]] = cart
    for i in range(3):
        for j in range(3):
            words[pose[13 + 6 * (3 + i) + 3 + j]] = orientation[3 * i + j]
            words[pose[49 + 6 * i + j]] = velocity[3 * i + j]
            if len(of_imu):
                words[of_imu[4 + 3 * i + j]] = orientation[3 * i + j]
        words[pose[49 + 7 * (3 + i)]] = rate
        if len(of_imu):
            words[of_imu[16 + 4 * i]], words[of_imu[28 + 4 * i]] = gyroscope, accelerometer


@inlined
def write_measurement(buffers, states, joint_damping, variances):
    """Write the measurement that has arrived; return its stamp."""
    m, stamp = states.items, states.ring[ARRIVED, 2]
    q = (m[ARRIVED, 0], m[ARRIVED, 1], m[ARRIVED, 2], m[ARRIVED, 3], m[ARRIVED, 4], m[ARRIVED, 5])
    v = (m[ARRIVED, 6], m[ARRIVED, 7], m[ARRIVED, 8], m[ARRIVED, 9], m[ARRIVED, 10])
    rate = (m[ARRIVED, 11], m[ARRIVED, 12], m[ARRIVED, 13])
    felt = (m[ARRIVED, 14], m[ARRIVED, 15], m[ARRIVED, 16])
    reaction = (m[ARRIVED, 19], m[ARRIVED, 20], m[ARRIVED, 21])
    R, V = write_state_messages(buffers, stamp, q, v, (m[ARRIVED, 17], m[ARRIVED, 18]))
    if len(buffers.ball_joint):
        write_ball_joint(buffers, joint_damping, q, v, reaction)
    if len(buffers.imu):
        write_imu(buffers, q, rate, felt)
    write_covariances(buffers, variances, R, V)
    return stamp


@inlined
def _write_xyzw(words, at, first, Q):
    words[at[first]], words[at[first + 1]], words[at[first + 2]] = Q[1], Q[2], Q[3]
    words[at[first + 3]] = Q[0]


def _ticks(clock, asked, rings, config, buffers, models, signals, result):
    """Up to config.ticks ticks; why they ended. `tick` is the integrator's.

    `asked` (1,): somebody waits; `rings`: commands that came, measurements that were sent;
    `models`: what the tick takes before the command, and what the IMU takes of contacts and place;
    `signals`: `simulation.signals.SignalState`.
    """
    (commands, sent), (plant, sensor) = rings, models
    system, _, input, timing, _, state, _ = plant
    contacts, work, position = sensor
    q, v, truth = state.q, state.v, buffers.truth
    for k in range(config.ticks):
        if asked[0]:
            return INTERRUPTED
        now, number = _now(clock), state.steps[0] // timing.steps
        before, instants = EPOCH_NS + state.steps[0] * timing.step_ns, (now, now)
        if not receive_commands(signals, commands, number, before, instants, config.oldest):
            return INTERRUPTED
        start = _now(clock)
        command = commanded_force(signals, config.watchdog, config.slowdown, now)
        result.ticks[1] += tick(*plant, command)  # noqa: F821, by `specialize`
        result.times[0] = (_now(clock) - start) / timing.steps
        stamp = EPOCH_NS + state.steps[0] * timing.step_ns
        t = timing.start + state.steps[0] * timing.h
        felt, measured, is_new = (0.0, 0.0, 0.0), stamp, True
        if config.measures or len(truth.imu):
            felt = specific_force(system, input, contacts, work, t, q, v, position)  # noqa: F821
        if config.measures:
            number, forces = state.steps[0] // timing.steps, (input.force, felt)
            measure(signals, (q, v, state.reaction), forces, t, stamp, number)
            is_new = signals.numbers[IS_NEW] == 1
        deadline = config.base + (config.deadlines + k + 1) * config.period
        if (
            state.solved[0] < timing.steps
            or max(abs(q[0]), abs(q[1])) > config.travel
            or _now(clock) > deadline
        ):
            return UNPUBLISHED
        result.times[1] = max(result.times[1], result.times[0])
        write_state_messages(truth, stamp, q, v, input.force)
        if len(truth.ball_joint):
            write_ball_joint(truth, system.joint_damping, q, v, state.reaction)
        if len(truth.imu):
            write_imu(truth, q, (v[2], v[3], v[4]), felt)
        if config.measures and is_new:
            damping, of_states = system.joint_damping, signals.states
            measured = write_measurement(buffers.measurement, of_states, damping, config.variances)
        _sleep(clock, deadline)
        if is_new:
            place = sent.count[0] % len(sent.stamps)
            sent.stamps[place], sent.instants[place] = measured, _now(clock)
            sent.count[0] += 1  # before it leaves: its answer may come before the last topic left
        result.ticks[0] += 1
        for i in range(len(buffers.publishers)):
            if buffers.measured[i] and not is_new:
                continue
            if called(buffers.publish, buffers.publishers[i], buffers.messages[i], 0, 0):
                return PUBLISH_FAILED
    return DONE


@cache
def _kernel(name: str, advance: Callable, accelerations: Callable) -> Callable:
    felt = imu.specific_force(name, accelerations)
    return specialize(_ticks, name, tick=tick_kernel(name, advance), specific_force=felt)


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
        self._result = LoopResult(np.zeros(2, np.int64), np.zeros(2))
        self._clock, self._setup, self._ticks = clock, None, None

    @property
    def possible(self) -> bool:
        """Whether there is a clock."""
        return self._clock is not None

    def warm_up(self, plant: Plant) -> None:
        """Have the code for a plant, where it can run."""
        if self.possible:
            none = np.zeros(0, np.int64)
            nothing = MessageBuffers(np.zeros(0), *(none,) * 5, np.zeros(3))
            nowhere = PublishBuffers(0, none, none, none, nothing, nothing)
            config = LoopConfig(
                *(0, 1.0, 0.0, 0, 1.0, (0.0, 0.0), 1.0, 1.0, 0), variances(Faults())
            )
            signals = PlantSignals(plant, FaultPipeline(Faults(), 0, 1.0), CommandQueue())
            self._pass(signals, Statistics(), config, nowhere)

    def run(self, runner, period: float, buffers: PublishBuffers, n: int) -> tuple[int, str]:
        """Up to n ticks of a `Runner`, of `period` [s] each.

        (how they ended, the reason of a fault). All is as if Python had done them, but that a tick
        which is UNPUBLISHED has not been counted.
        """
        plant, signals, result = runner.plant, runner.signals, self._result
        for part in result:
            part[...] = 0
        signals.prepare_block()
        config = _loop_config(runner, period, min(n, BLOCK))
        how = self._pass(signals, runner.statistics, config, buffers)
        published, limited = result.ticks.tolist()
        signals.count(runner.pace, runner.statistics)
        if published or how == UNPUBLISHED:
            plant.step_time, longest = result.times.tolist()
            runner.pacer.passed(published)
            runner.statistics.passed(published, limited, longest)
            return how, plant.fault()
        return how, ""

    def _pass(
        self,
        signals: PlantSignals,
        statistics: Statistics,
        config: LoopConfig,
        buffers: PublishBuffers,
    ) -> int:
        plant, ring = signals.plant, signals.commands.ring
        given = (
            *(self._clock, self.asked, (ring, statistics.sent), config, buffers),
            *((plant.ticker.arguments, plant.imu_arguments), signals.state, self._result),
        )
        if plant.setup is not self._setup:
            method, self._setup = plant.setup.integrator, plant.setup
            self._ticks = bind(_kernel(method.name, method.advance, method.accelerations), *given)
        return self._ticks(*given)


def _loop_config(runner, period: float, n: int) -> LoopConfig:
    pace, faults = runner.pace, runner.signals.faults
    travel = float(runner.plant.setup.travel)
    return LoopConfig(
        *(n, period, *runner.pacer.beat(period), travel, pace.watchdog.numbers),
        *(float(pace.slowdown), float(pace.oldest_stamp), int(not faults.sees_truth)),
        variances(faults.options),
    )
