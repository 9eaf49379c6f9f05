"""The simulation's own thread: it plays, pauses, waits in lockstep, stops at a fault.

It does not use ROS.
"""

import threading
import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

from rbdyn_ros.plant.command import Command, CommandQueue
from rbdyn_ros.plant.faults.pipeline import FaultPipeline
from rbdyn_ros.plant.pacing import Pacer, exact_sleeps, overrun_sentence
from rbdyn_ros.plant.plant import Plant, Push, Setup
from rbdyn_ros.plant.setup import RunConfig
from rbdyn_ros.plant.signals import PlantSignals
from rbdyn_ros.plant.statistics import Statistics
from rbdyn_ros.plant.status import FAULT, PAUSED, PLAYING, STOPPED
from rbdyn_ros.plant.tick import History
from rbdyn_ros.types import Array, State

COMMAND = "first command"  # a condition of the start


class Runner:
    """Ticks a `Plant` in a thread. Requests of other threads are served between two ticks.

    `prepare(runner)` is called in the thread after every tick, and every `idle_period` while time
    is paused; it returns a function that publishes the state and calls `mark_published()`.
    `on_status(status)` is called after every change of the status.
    """

    def __init__(self, setup: Setup, pace: RunConfig, prepare: Callable, on_status: Callable):
        self.pace, self.command_queue = pace, CommandQueue()
        self.history, self.statistics = History(pace.history_rows), Statistics()
        tick = setup.step_ns * setup.tick_steps * 1e-9  # [s]
        self.pacer, faults = Pacer(), FaultPipeline(pace.faults, pace.seed, tick)
        self.plant = Plant(setup, pace.force_limit, self.history, faults.actuator)
        self.status = STOPPED
        self.signals = PlantSignals(self.plant, faults, self.command_queue)
        self._prepare, self._on_status = prepare, on_status
        self._ready: Callable | None = None  # publishes the last tick, once it is due
        self.between_ticks = threading.RLock()  # whoever holds it stays between two ticks
        self._held: set = set()  # conditions of the start that do not hold yet
        self._ending, self._factor = False, pace.real_time_factor  # that paces the tick
        self._thread: threading.Thread | None = None

    @contextmanager
    def standstill(self) -> Iterator[None]:
        """Let time stand still for a while, which is not caught up."""
        with self.between_ticks:
            try:
                yield
            finally:
                self.pacer.restart()

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
        if self.pace.lockstep and not self._answers(command.stamp):
            self.command_queue.late += 1
            return
        self.statistics.record_answer(command.stamp, command.received)
        self.command_queue.put(command)
        if COMMAND in self._held:
            self.release(COMMAND)

    def _answers(self, stamp: int) -> bool:
        return self.signals.is_first_answer(stamp) or (
            COMMAND in self._held and stamp == self.signals.expected_stamp
        )

    def waits_for(self, condition: str) -> bool:
        """Return whether time does not begin because of this condition only."""
        return self._held == {condition}

    @property
    def is_held(self) -> bool:
        """Whether time begins as soon as the conditions of the start hold."""
        return bool(self._held)

    def release(self, condition: str) -> None:
        """Mark a condition of the start as fulfilled, and begin time if it was the last one."""
        with self.between_ticks:
            if condition in self._held:
                self._held.discard(condition)
                if not self._held:
                    self.play()

    def refuse_start(self, why: str) -> None:
        """End in a fault instead of beginning, if time has not begun."""
        with self.between_ticks:
            if self._held:
                self._held.clear()
                self._set_status(FAULT + why)

    def fail(self, why: str) -> None:
        """End in a fault, because the plant can no longer be commanded."""
        with self.between_ticks:
            self._set_status(FAULT + why)

    def play(self) -> str:
        """Let time run. Return why that is not possible, or ""."""
        return self._change(PLAYING)

    def pause(self) -> str:
        """Pause time. Return why that is not possible, or ""."""
        return self._change(PAUSED)

    def _change(self, status: str) -> str:
        with self.between_ticks:
            if self.status.startswith(FAULT):
                return f"the simulation is in {self.status}; reset it first"
            self._held.clear()
            self._set_status(status)
            return ""

    def step(self) -> str:
        """Take one tick while paused. Return why that is not possible or was a fault, or ""."""
        with self.between_ticks:
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
        with self.between_ticks:
            self.plant.reset(state, ticks=1)
            self.signals.faults.restart()
            self.signals.reset()
            if self.status.startswith(FAULT):
                self._set_status(PLAYING)
            self._publish()

    def reconfigure(self, setup: Setup, pace: RunConfig) -> None:
        """Use another setup and configuration from now on."""
        with self.between_ticks:
            self.plant.reconfigure(setup)
            self.pace, self.plant.limit = pace, pace.force_limit
            self.signals.faults.reconfigure(pace.faults, pace.seed)

    def push(self, push: Push) -> None:
        """Let a push act on the rod, as `Plant.push` does."""
        with self.between_ticks:
            self.plant.push(push)

    def recent_history(self) -> tuple[Array, Array]:
        """Return (stamps (n,), rows (n, 13)) of the newest ticks, as `History.read` does."""
        with self.between_ticks:
            return self.history.read()

    def reset_statistics(self) -> None:
        """Reset the counts to zero."""
        with self.between_ticks:
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
        """Take a tick, and publish it at its deadline."""
        factor = self._factor = self.pace.real_time_factor
        period = self.plant.tick_ns * 1e-9 / factor if factor else 0.0
        if not self._wait_and_step():
            return
        late = self.pacer.wait(period, self._is_resting, self.pace.overrun)
        with self.between_ticks:
            if late > period and self.pace.overrun == "stop" and not self._is_resting():
                self._set_status(f"{FAULT}{overrun_sentence(late, period)}")
            elif self._ready:  # and nothing newer was published meanwhile
                self._ready()
                self._ready = None

    def _wait_and_step(self) -> bool:
        """Step, in lockstep after a wait for the command. Return whether a state is to be
        published.

        The step follows the publication of the last state, so that the code is in the processor's
        caches, and the rest of the period covers the variation of its time. Commands that come
        after it are for the next tick.
        """
        lockstep = self.pace.lockstep
        in_time = not lockstep or self._wait_for_answer()
        with self.between_ticks:
            # a pause ends the wait, too, and may be over by now
            if self._is_resting() or (lockstep and in_time and self._lacks_answer):
                return False
            if not in_time and self.pace.lockstep_reaction == "fault":
                why, timeout = self.command_queue.rejection, self.pace.lockstep_timeout
                rejected = f"; one was rejected: {why}" if why else ""
                self._set_status(
                    f"{FAULT}no command answered the state within {timeout:g} s{rejected}"
                )
                return False
            self._step(drop=not in_time and self.pace.lockstep_reaction == "zero")
            return True

    def _step(self, drop: bool) -> None:
        commanded = self.signals.command(time.monotonic(), self.pace, self.statistics)
        self._tick((0.0, 0.0) if drop else commanded)
        self._ready = self._prepare(self)

    def _publish(self) -> None:
        """Publish the state now, and discard a tick that was prepared."""
        self._ready = None
        self._prepare(self)()

    def _idle(self) -> None:
        with self.between_ticks:
            self._publish()
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

    @property
    def _lacks_answer(self) -> bool:
        """Whether lockstep waits for the command that repeats the expected stamp."""
        if not self.pace.lockstep or self.command_queue.accepted == 0 or not self.signals.is_new:
            return False
        newest = self.command_queue.newest
        return newest is None or newest.stamp != self.signals.expected_stamp

    def _wait_for_answer(self) -> bool:
        """Wait, in lockstep, for the answer to the state sent. Return whether it arrived in time.
        Do not wait before the first command.

        The state is sent again meanwhile, as a reader with best-effort QoS may have lost it.
        """
        if not self._lacks_answer:
            return True

        def is_over(newest) -> bool:
            return self._is_resting() or not self._lacks_answer

        deadline = time.monotonic() + self.pace.lockstep_timeout
        while not self.command_queue.wait(is_over, self.pace.idle_period):
            if time.monotonic() > deadline:
                self.statistics.lockstep_timeouts += 1
                return False
            with self.between_ticks:
                self._publish()
        return True

    def _tick(self, force: tuple[float, float]) -> None:
        fault = self.plant.tick(force)
        self.signals.measure()
        plant = self.plant
        self.statistics.count_tick(plant.step_time, plant.limited, plant.off_travel)
        if fault:
            self._set_status(FAULT + fault)

    def _set_status(self, status: str) -> None:
        changed, self.status = status != self.status, status
        self.command_queue.wake()
        if changed:
            self._on_status(status)
