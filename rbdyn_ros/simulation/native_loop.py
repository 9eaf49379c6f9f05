"""A compiled loop of ticks: tick, sleep to the deadline, publish, all without the interpreter.

In lockstep it waits before each tick for the command that answers the state: `Runner.command`,
which another thread calls, puts it into the ring and wakes the loop.

A tick in Python takes 0.2 ms on a processor that has slept since the last one and has to load all
code and data into its caches again; here it takes as long as the sleep and the middleware. For all
else the loop ends, and Python takes over:

    DONE             all ticks are published
    INTERRUPTED      another thread needs the plant, or the draws for commands are used up
    UNANSWERED       in lockstep: no command has answered the state, which is due again
    UNPUBLISHED      the last tick is too late, it failed, or the cart is beyond its travel
    PUBLISH_FAILED   the middleware did not take a message of the last tick
"""

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from rbdyn_ros.faults.channel import BLOCK
from rbdyn_ros.faults.options import Faults, SensorNoise
from rbdyn_ros.faults.pipeline import FaultPipeline
from rbdyn_ros.faults.sensors import covariances, variances
from rbdyn_ros.kernel import bind, hot, inlined
from rbdyn_ros.kernel_calls import call_at
from rbdyn_ros.simulation.command import CommandQueue
from rbdyn_ros.simulation.plant import Plant, Setup
from rbdyn_ros.simulation.setup import plant_setup
from rbdyn_ros.simulation.signals import (
    IS_NEW,
    PlantSignals,
    commanded_force,
    measure,
    receive_commands,
    wait_for_answer,
)
from rbdyn_ros.simulation.state_messages import (
    MessageBuffers,
    PublishBuffers,
    Unacknowledged,
    write_ball_joint,
    write_imu,
    write_measurement,
    write_state_messages,
)
from rbdyn_ros.simulation.statistics import Statistics
from rbdyn_ros.simulation.steady_clock import Clock, call, now, sleep, steady, waker
from rbdyn_ros.simulation.tick import EPOCH_NS, take_tick
from rbdyn_ros.types import Array

DONE, INTERRUPTED, UNANSWERED, UNPUBLISHED, PUBLISH_FAILED = range(5)


class LoopConfig(NamedTuple):
    """The parameters of a pass of the loop: its ticks, deadlines, commands and measurements."""

    ticks: int
    period: float  # [s] real; 0 is as fast as possible
    latest: float  # [s] by which a tick may be late
    begun: float  # [s, steady] until when commands count in the first tick; 0: until it begins
    base: float  # [s, steady] deadline k is base + k period
    deadlines: int  # number of past deadlines
    travel: float  # [m]
    watchdog: tuple[float, float]  # `command.Watchdog.numbers`
    slowdown: float  # real seconds for one of the watchdog
    oldest: float  # [s] largest age of the state that a delayed command answers
    lockstep: int  # 1 where a state waits for the command that answers it
    idle_period: float  # [s] after which the state is due again
    measures: int  # 0 where the measurement is the true state without delay
    variances: tuple[float, ...]  # `covariance.variances` of the sensors


class LoopResult(NamedTuple):
    """The counts and times of a pass of the loop."""

    ticks: Array  # (3,) published, limited, late
    times: Array  # (2,) [s] computing time of a step: in the last tick, the longest


@inlined
def _publish(buffers, is_new):
    """Send the messages. Return (whether all were taken, whether a publisher may send no more)."""
    unacknowledged, full = buffers.unacknowledged, False
    counts, limit = unacknowledged.counts, unacknowledged.limit
    for i in range(len(buffers.publishers)):
        if buffers.measured[i] and not is_new:
            continue
        if limit:
            if not call(unacknowledged.ask, buffers.publishers[i], 0, 0, 0):
                counts[i] = 0
            counts[i] += 1
            full |= counts[i] >= limit
        if call(buffers.publish, buffers.publishers[i], buffers.messages[i], 0, 0):
            return False, full
    return True, full


@hot
def _take_ticks(clock, asked, rings, config, buffers, models, signals, result):
    """Take up to config.ticks ticks. Return why they ended.

    `asked` (1,) is the number of interruptions that wait for the end; `rings`: received commands,
    sent measurements; `models`: the tick's arguments before the command, and those of the IMU;
    `signals`: `simulation.signals.SignalState`.
    """
    (commands, sent), (plant, sensor) = rings, models
    (_, system, _, input), timing, _, state, _ = plant
    specific_force, contacts, work, position = sensor
    q, v, truth = state.q, state.v, buffers.truth
    for k in range(config.ticks):
        if asked[0]:
            return INTERRUPTED
        number, before = state.steps[0] // timing.steps, EPOCH_NS + state.steps[0] * timing.step_ns
        if config.lockstep and signals.numbers[IS_NEW] == 1:
            wait = clock, asked, config.idle_period
            if not wait_for_answer(signals, commands, before, *wait):
                return INTERRUPTED if asked[0] else UNANSWERED
        begun = now(clock) if k or not config.begun else config.begun
        if not receive_commands(signals, commands, number, before, (begun, begun), config.oldest):
            return INTERRUPTED
        start = now(clock)
        command = commanded_force(signals, config.watchdog, config.slowdown, begun)
        result.ticks[1] += take_tick(*plant, command)
        result.times[0] = (now(clock) - start) / timing.steps
        stamp = EPOCH_NS + state.steps[0] * timing.step_ns
        t = timing.start + state.steps[0] * timing.h
        felt, measured, is_new = (0.0, 0.0, 0.0), stamp, True
        if config.measures or len(truth.imu):
            given = system, input, contacts, work, t, q, v, position
            felt = call_at(specific_force, felt, given)
        if config.measures:
            number, forces = state.steps[0] // timing.steps, (input.force, felt)
            measure(signals, (q, v, state.reaction), forces, t, stamp, number)
            is_new = signals.numbers[IS_NEW] == 1
        deadline = config.base + (config.deadlines + k + 1) * config.period
        late, beyond = now(clock) - deadline, max(abs(q[0]), abs(q[1])) > config.travel
        if state.solved[0] < timing.steps or beyond or late > config.latest:
            return UNPUBLISHED
        result.ticks[2] += late > 0.0
        result.times[1] = max(result.times[1], result.times[0])
        write_state_messages(truth, stamp, q, v, input.force)
        if len(truth.ball_joint):
            write_ball_joint(truth, system.joint_damping, q, v, state.reaction)
        if len(truth.imu):
            write_imu(truth, q, v[2:], felt)
        if config.measures and is_new:
            damping, of_states = system.joint_damping, signals.states
            measured = write_measurement(buffers.measurement, of_states, damping, config.variances)
        sleep(clock, deadline)
        if is_new:
            place = sent.count[0] % len(sent.stamps)
            sent.stamps[place], sent.instants[place] = measured, now(clock)
            sent.count[0] += 1  # before it is sent: it may be answered before the last topic is
        result.ticks[0] += 1
        taken, full = _publish(buffers, is_new)
        if not taken:
            return PUBLISH_FAILED
        if full:
            break
    return DONE


class NativeLoop:
    """Runs the compiled loop, which ends after its tick while `asked[0]` is not 0."""

    def __init__(self, clock: Clock | None):
        self.asked, self._asking = np.zeros(1, np.int64), threading.Lock()
        self.wake = waker(clock) if clock else lambda: None
        self._result = LoopResult(np.zeros(3, np.int64), np.zeros(2))
        self._clock, self._setup, self._ticks = clock, None, None

    @property
    def is_possible(self) -> bool:
        """Whether the loop can run, as the system has a suitable clock."""
        return self._clock is not None

    @contextmanager
    def interrupt(self) -> Iterator[None]:
        """End the loop after its tick or, in lockstep, where it waits, and do not begin it
        meanwhile.
        """
        self._ask(1)
        try:
            yield
        finally:
            self._ask(-1)

    def _ask(self, more: int) -> None:
        with self._asking:
            self.asked[0] += more
        self.wake()

    def warm_up(self, plant: Plant) -> None:
        """Compile or load the code for a plant, where it can run."""
        if self.is_possible:
            none = np.zeros(0, np.int64)
            nothing = MessageBuffers(np.zeros(0), *(none,) * 5, np.zeros(3))
            unacknowledged = Unacknowledged(0, none, 0)
            nowhere = PublishBuffers(0, none, none, none, unacknowledged, nothing, nothing)
            watchdog, lockstep = (0.0, 0.0), (0, 1.0)
            config = LoopConfig(
                *(0, 1.0, 0.0, 0.0, 0.0, 0, 1.0, watchdog, 1.0, 1.0, *lockstep, 0),
                variances(Faults()),
            )
            signals = PlantSignals(plant, FaultPipeline(Faults(), 0, 1.0), CommandQueue())
            self._pass(signals, Statistics(), config, nowhere)

    def run(
        self, runner, period: float, buffers: PublishBuffers, n: int, begun: float = 0.0
    ) -> tuple[int, str]:
        """Run up to n ticks of a `Runner`, of `period` [s] each, the first of which has `begun`
        [s, steady] if that is not 0.

        Return (how they ended, the reason of a fault). The state is as after ticks in Python,
        except that a tick which is UNPUBLISHED has not been counted.
        """
        plant, signals, result = runner.plant, runner.signals, self._result
        for part in result:
            part[...] = 0
        signals.prepare_block()
        config = _loop_config(runner, period, min(n, BLOCK), begun)
        how = self._pass(signals, runner.statistics, config, buffers)
        published, limited, late = result.ticks.tolist()
        signals.count(runner.pace, runner.statistics)
        if published or how == UNPUBLISHED:
            plant.step_time, longest = result.times.tolist()
            runner.pacer.count_deadlines(published, late if period else 0)
            runner.statistics.count_ticks(published, limited, longest)
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
            self._setup, self._ticks = plant.setup, bind(_take_ticks, *given)
        return self._ticks(*given)


def _loop_config(runner, period: float, n: int, begun: float) -> LoopConfig:
    pace, faults = runner.pace, runner.signals.faults
    travel = float(runner.plant.setup.travel)
    latest = runner.pacer.latest(period, pace.overrun)
    return LoopConfig(
        *(n, period, latest, begun, *runner.pacer.beat(period), travel, pace.counting_watchdog),
        *(float(pace.slowdown), float(pace.oldest_stamp), int(pace.lockstep)),
        *(float(pace.idle_period), int(not faults.is_exact)),
        variances(faults.options),
    )


_NOISY = Faults(noise=SensorNoise(*(1.0 for _ in SensorNoise._fields)))
_AXES = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)


def warm_up(setup: Setup) -> str:
    """Run a tick of a copy of the plant, so that all code is compiled, and clear its contacts.
    Return why the tick would fail, or "".
    """
    copy = Plant(setup)
    copy.to_world(copy.point((0.0, 0.0, 0.0)))  # as for a push in the rod's axes, or a click
    copy.check(setup)  # as a change of parameters does
    failure = copy.tick((0.0, 0.0))
    PlantSignals(copy, FaultPipeline(_NOISY, 0, 1.0), CommandQueue())
    covariances(_NOISY, (0.0, 0.0, 0.0), _AXES, (0.0, 0.0, 0.0))
    NativeLoop(steady()).warm_up(copy)
    copy.steps = 0
    copy.reset()
    return failure


def warm_plant(values: Mapping[str, Any]) -> Setup:
    """Return the plant of the checked values after `warm_up`."""
    plant = plant_setup(values)
    warm_up(plant)
    return plant
