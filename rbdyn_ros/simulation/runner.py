"""The simulation's own thread: it plays, pauses, waits in lockstep, stops at a fault.

It does not use ROS.
"""

import threading
import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

from rbdyn_ros.faults.pipeline import FaultPipeline
from rbdyn_ros.simulation.command import Command, CommandQueue
from rbdyn_ros.simulation.native_loop import (
    DONE,
    INTERRUPTED,
    PUBLISH_FAILED,
    UNANSWERED,
    UNPUBLISHED,
    NativeLoop,
)
from rbdyn_ros.simulation.pacing import SLICE, Pacer, exact_sleeps, overrun_sentence
from rbdyn_ros.simulation.plant import Plant, Setup
from rbdyn_ros.simulation.setup import RunConfig
from rbdyn_ros.simulation.signals import PlantSignals
from rbdyn_ros.simulation.state_messages import NativePublisher
from rbdyn_ros.simulation.statistics import Statistics
from rbdyn_ros.simulation.status import FAULT, PAUSED, PLAYING, STOPPED
from rbdyn_ros.simulation.steady_clock import steady
from rbdyn_ros.simulation.tick import History
from rbdyn_ros.types import Array, State

COMMAND = "first command"  # a condition of the start


class Runner:
    """Ticks a `Plant` in a thread. Requests of other threads are served between two ticks.

    `prepare(runner)` is called in the thread after every tick, and every `idle_period` while time
    is paused; it returns a function that publishes the state and calls `mark_published()`.
    `on_status(status)` is called after every change of the status. With a `native_publisher`
    ticks run in the compiled loop wherever they can.
    """

    def __init__(
        self,
        setup: Setup,
        pace: RunConfig,
        prepare: Callable,
        on_status: Callable,
        native_publisher: NativePublisher | None = None,
    ):
        self.pace, self.command_queue = pace, CommandQueue()
        self.history, self.statistics = History(pace.history_rows), Statistics()
        tick = setup.step_ns * setup.tick_steps * 1e-9  # [s]
        self.pacer, faults = Pacer(), FaultPipeline(pace.faults, pace.seed, tick)
        self.plant = Plant(setup, pace.force_limit, self.history, faults.actuator.state)
        self.status = STOPPED
        self.signals = PlantSignals(self.plant, faults, self.command_queue)
        self._prepare, self._on_status = prepare, on_status
        self._native_publisher = native_publisher
        self._native_loop = NativeLoop(steady())
        self._ready: Callable | None = None  # publishes the last tick, once it is due
        self._work = 0.0  # [s] that Python took last for a tick, or to publish after the loop
        self._begun = 0.0  # [s, steady] when the next tick began; 0: not yet
        self._between_ticks = threading.RLock()
        self._held: set = set()  # conditions of the start that do not hold yet
        self._ending, self._factor = False, pace.real_time_factor  # that paces the tick
        self._thread: threading.Thread | None = None

    @contextmanager
    def interrupt(self) -> Iterator[None]:
        """Interrupt the compiled loop and stay between two ticks."""
        with self._native_loop.interrupt(), self._between_ticks:
            yield

    @property
    def compiles(self) -> bool:
        """Whether ticks can run in the compiled loop here."""
        return self._native_loop.is_possible

    # requests of other threads

    def begin(self, conditions: Iterable[str] = ()) -> None:
        """Start the thread; `pace.start` says whether time begins with it.

        Unless it is to begin paused, time begins when each of the `conditions` has been released,
        too.
        """
        start, self._ending = self.pace.start, False
        held = {*conditions, COMMAND} if start == "on_command" else set(conditions)
        self._held = set() if start == "paused" else held
        self._set_status(PAUSED if self._held or start == "paused" else PLAYING)
        self._thread = threading.Thread(target=self._run, name="simulation", daemon=True)
        self._thread.start()

    def end(self) -> None:
        """Stop the thread at once, even if it sleeps or waits."""
        self._ending = True
        with self._native_loop.interrupt():
            self.command_queue.wake()
            if self._thread:
                self._thread.join()
                self._thread = None
        self._set_status(STOPPED)

    def command(self, command: Command) -> None:
        """Accept a valid command: it is applied from the next tick on, and releases a held start.

        In lockstep only the first answer to the present state counts, since the thread began if
        the start waits for it; a command without a stamp answers none.
        """
        answers = self.signals.is_first_answer(command.stamp) or (
            COMMAND in self._held and command.stamp == self.signals.expected_stamp
        )
        if self.pace.lockstep and not answers:
            self.command_queue.late += 1
            return
        self.statistics.record_answer(command.stamp, command.received)
        self.command_queue.put(command)
        if self.pace.lockstep:
            self._native_loop.wake()
        if COMMAND in self._held:
            self.release(COMMAND)

    def waits_for(self, condition: str) -> bool:
        """Return whether time does not begin because of this condition only."""
        return self._held == {condition}

    @property
    def is_held(self) -> bool:
        """Whether time begins as soon as the conditions of the start hold."""
        return bool(self._held)

    def release(self, condition: str) -> None:
        """Mark a condition of the start as fulfilled, and begin time if it was the last one."""
        with self.interrupt():
            if condition in self._held:
                self._held.discard(condition)
                if not self._held:
                    self.play()

    def refuse_start(self, why: str) -> None:
        """End in a fault instead of beginning, if time has not begun."""
        with self.interrupt():
            if self._held:
                self._held.clear()
                self._set_status(FAULT + why)

    def fail(self, why: str) -> None:
        """End in a fault, because the plant can no longer be commanded."""
        with self.interrupt():
            self._set_status(FAULT + why)

    def play(self) -> str:
        """Let time run. Return why that is not possible, or ""."""
        return self._change(PLAYING)

    def pause(self) -> str:
        """Pause time. Return why that is not possible, or ""."""
        return self._change(PAUSED)

    def _change(self, status: str) -> str:
        with self.interrupt():
            if self.status.startswith(FAULT):
                return f"the simulation is in {self.status}; reset it first"
            self._held.clear()
            self._set_status(status)
            return ""

    def step(self) -> str:
        """Take one tick while paused. Return why that is not possible or was a fault, or ""."""
        with self.interrupt():
            if self.status.startswith(FAULT):
                return f"the simulation is in {self.status}; reset it first"
            if self.status != PAUSED:
                return f"the simulation is {self.status}; only a paused one steps"
            self._tick(self.signals.command(time.monotonic(), self.pace, self.statistics))
            self._publish()
            return self.status if self.status.startswith(FAULT) else ""

    def reset(self, state: State | None = None) -> None:
        """Put the plant into `state` (the initial one if None) a tick later, also after a fault.

        So no stamp has two states, and a command that answers the state before is late.
        """
        with self.interrupt():
            self.plant.reset(state, ticks=1)
            self.signals.faults.restart()
            self.signals.reset()
            if self.status.startswith(FAULT):
                self._set_status(PLAYING)
            self._publish()

    def reconfigure(self, setup: Setup, pace: RunConfig) -> None:
        """Use another setup and configuration from now on."""
        with self.interrupt():
            self.plant.reconfigure(setup)
            self.pace, self.plant.limit = pace, pace.force_limit
            self.signals.faults.reconfigure(pace.faults, pace.seed)

    def push(self, wrench: Array, end: int) -> None:
        """Apply a wrench (9,) (see `types.Input`) to the rod until the stamp `end` [ns]."""
        with self.interrupt():
            self.plant.push(wrench, end)

    def recent_history(self) -> tuple[Array, Array]:
        """Return (stamps (n,), rows (n, 13)) of the newest ticks, as `History.read` does."""
        with self.interrupt():
            return self.history.read()

    def reset_statistics(self) -> None:
        """Reset the counts to zero."""
        with self.interrupt():
            self.statistics, self.pacer = Statistics(), Pacer()
            self.command_queue.reset_counts()
            self.signals.faults.reset_counts()

    def mark_published(self) -> None:
        """Record the state as sent, before it is: its answer may precede the last topic."""
        if self.signals.is_new:
            self.statistics.record_publication(self.signals.expected_stamp)

    # the thread

    def _run(self) -> None:
        exact_sleeps()
        self._guard(self._idle)  # runs all code once before time runs
        while not self._ending:
            self._guard(self._play_tick if self.status == PLAYING else self._idle)

    def _guard(self, turn: Callable) -> None:
        try:
            turn()
        except Exception as error:  # the thread must neither end nor hide the error
            self._fail(error)

    def _play_tick(self) -> None:
        """Run ticks in the compiled loop, or one in Python where there is more to do."""
        factor = self._factor = self.pace.real_time_factor
        period = self.plant.tick_ns * 1e-9 / factor if factor else 0.0
        how = self._run_compiled(period)
        if how == DONE:
            self._publish_rest(period)
        if how in (DONE, INTERRUPTED, PUBLISH_FAILED) or (
            how != UNPUBLISHED and not self._wait_and_step(period, how == UNANSWERED)
        ):
            return
        late = self.pacer.wait(period, self._is_resting, self.pace.overrun)
        with self._between_ticks:
            if late > period and self.pace.overrun == "stop" and not self._is_resting():
                self._set_status(f"{FAULT}{overrun_sentence(late, period)}")
            elif self._ready:  # and nothing newer was published meanwhile
                self._ready()
                self._ready = None

    def _run_compiled(self, period: float) -> int | None:
        """Run the compiled loop. Return how it ended, None if it could not begin."""
        with self._between_ticks:
            native = self._native_publisher
            if native is None or self._native_loop.asked[0] or not self._is_native(period):
                return None  # a waiting request gets the lock while Python sleeps
            buffers = native.begin(self)
            if buffers is None:
                return None
            try:
                begun, self._begun = self._begun, 0.0
                how, fault = self._native_loop.run(self, period, *buffers, begun)
            finally:
                native.end()
            if how == UNPUBLISHED:
                self._count_tick(fault)
                self._ready = self._prepare(self)
            elif how == PUBLISH_FAILED:
                self._publish()  # raises the middleware's error
            return how

    def _publish_rest(self, period: float) -> None:
        """Publish what is due besides the states that the compiled loop has just sent."""
        rest = self._native_publisher.rest(self) if self._native_publisher else None
        if rest is not None:
            begun = self._begin_tick(period)
            with self._between_ticks:
                start = time.monotonic()
                rest()
                self._work = time.monotonic() - start
                self._begun = 0.0 if self.pace.lockstep else begun

    def _begin_tick(self, period: float) -> float:
        """Begin a tick and return when that was [s, steady]. Later commands are for the next tick.

        Work that is short waits for a part of the period: until then the readers of the last state
        have the interpreter. The rest of the period covers the variation of the work's time.
        """
        begun, self._begun = self._begun or time.monotonic(), 0.0
        if not self.pace.lockstep:
            self.pacer.wait_within(period, self._work, self._is_resting)
        return begun

    def _is_native(self, period: float) -> bool:
        """Return whether the compiled loop can take the next tick.

        If neither a deadline nor a command paces time, Python takes it: the loop would be too fast
        for its readers.
        """
        paced = self.command_queue.accepted > 0 if self.pace.lockstep else period > 0.0
        known = period <= SLICE and self.pacer.beat(period) is not None
        return self._native_loop.is_possible and paced and known and not self._is_resting()

    def _wait_and_step(self, period: float, waited: bool) -> bool:
        """Sleep, then step with the earlier command. Return whether a state is to be published."""
        in_time = self._wait_for_answer(self.pace.idle_period * waited)
        begun = self._begin_tick(period)
        with self._between_ticks:
            if self._is_resting():
                return False
            if not in_time and self.pace.lockstep_reaction == "fault":
                why, timeout = self.command_queue.rejection, self.pace.lockstep_timeout
                rejected = f"; one was rejected: {why}" if why else ""
                self._set_status(
                    f"{FAULT}no command answered the state within {timeout:g} s{rejected}"
                )
                return False
            self._step(begun, drop=not in_time and self.pace.lockstep_reaction == "zero")
            return True

    def _step(self, begun: float, drop: bool) -> None:
        start = time.monotonic()
        commanded = self.signals.command(begun, self.pace, self.statistics)
        self._tick((0.0, 0.0) if drop else commanded)
        self._ready = self._prepare(self)
        self._work = time.monotonic() - start

    def _publish(self) -> None:
        """Publish the state now, and discard a tick that was prepared."""
        self._ready = None
        self._prepare(self)()

    def _idle(self) -> None:
        with self._between_ticks:
            self._publish()
            self._begun = 0.0
        self.command_queue.wait(
            lambda newest: self._ending or self.status == PLAYING, self.pace.idle_period
        )
        self.pacer.restart()

    def _is_resting(self) -> bool:
        """Return whether time is stopped, or its factor is no longer that of the present tick."""
        paced = self.pace.real_time_factor == self._factor
        return self._ending or self.status != PLAYING or not paced

    def _fail(self, error: Exception) -> None:
        status = f"{FAULT}{type(error).__name__}: {error}"
        if status != self.status:
            traceback.print_exc()
        self._set_status(status)
        time.sleep(self.pace.idle_period)

    def _wait_for_answer(self, waited: float) -> bool:
        """Wait, in lockstep, for the answer to the state sent, for which the compiled loop has
        `waited` [s]. Return whether it arrived in time. Do not wait before the first command.

        The state is sent again meanwhile, as a reader with best-effort QoS may have lost it.
        """
        if not self.pace.lockstep or self.command_queue.accepted == 0 or not self.signals.is_new:
            return True

        def is_answered(newest) -> bool:
            """Return whether a command repeats the expected stamp, or time is stopped."""
            return self._is_resting() or (
                newest is not None and newest.stamp == self.signals.expected_stamp
            )

        deadline = time.monotonic() + self.pace.lockstep_timeout - waited
        while not self.command_queue.wait(is_answered, self.pace.idle_period - waited):
            waited = 0.0
            if time.monotonic() > deadline:
                self.statistics.lockstep_timeouts += 1
                return False
            with self._between_ticks:
                self._publish()
        return True

    def _tick(self, force: tuple[float, float]) -> None:
        fault = self.plant.tick(force)
        self.statistics.saturated += self.plant.limited
        self.signals.measure()
        self._count_tick(fault)

    def _count_tick(self, fault: str) -> None:
        self.statistics.count_tick(self.plant.step_time, self.plant.off_travel)
        if fault:
            self._set_status(FAULT + fault)

    def _set_status(self, status: str) -> None:
        changed, self.status = status != self.status, status
        self.command_queue.wake()
        if changed:
            self._on_status(status)
