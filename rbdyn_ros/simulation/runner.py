"""The simulation's own thread: it plays, pauses, waits in lockstep, stops at a fault.

No ROS in it.
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
    """Ticks a `Plant` in a thread. Whatever others ask for happens between two ticks.

    `prepare(runner)` is called in the thread after every tick, and at `idle_period` while time
    stands still; it returns what publishes the state then, and calls `mark_published()`.
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
        self._ready: Callable | None = None  # publishes the last tick, when its time has come
        self._work = 0.0  # [s] that Python took last for a tick, or for what the loop leaves to it
        self._begun = 0.0  # [s, steady] when the next tick began; 0: it begins when it is asked
        self._between_ticks = threading.RLock()
        self._held: set = set()  # what has to happen before time begins by itself
        self._ending, self._factor = False, pace.real_time_factor  # that paces the tick
        self._thread: threading.Thread | None = None

    @contextmanager
    def _asking(self) -> Iterator[None]:
        """Between two ticks: the compiled loop ends for it."""
        with self._native_loop.interrupted(), self._between_ticks:
            yield

    @property
    def compiles(self) -> bool:
        """Whether plain ticks can pass in machine code here."""
        return self._native_loop.possible

    # what others ask for

    def begin(self, conditions: Iterable[str] = ()) -> None:
        """Start the thread; `pace.start` says whether time begins with it.

        Unless it is to begin paused, time begins when every one of the `conditions` has been
        released too.
        """
        start, self._ending = self.pace.start, False
        held = {*conditions, COMMAND} if start == "on_command" else set(conditions)
        self._held = set() if start == "paused" else held
        self._set_status(PAUSED if self._held or start == "paused" else PLAYING)
        self._thread = threading.Thread(target=self._run, name="simulation", daemon=True)
        self._thread.start()

    def end(self) -> None:
        """Stop the thread, at once also where it sleeps or waits."""
        self._ending = True
        with self._native_loop.interrupted():
            self.command_queue.wake()
            if self._thread:
                self._thread.join()
                self._thread = None
        self._set_status(STOPPED)

    def command(self, command: Command) -> None:
        """Take a valid command: it is applied from the next tick on, and releases a held start.

        In lockstep the first answer to the present state counts, and no other: a command without a
        stamp answers none.
        """
        if self.pace.lockstep and not self.signals.is_first_answer(command.stamp):
            self.command_queue.late += 1
            return
        self.statistics.answered(command.stamp, command.received)
        self.command_queue.put(command)
        if self.pace.lockstep:
            self._native_loop.wake()
        if COMMAND in self._held:
            self.release(COMMAND)

    def waits_for(self, condition: str) -> bool:
        """Whether time does not begin because of this condition, and of this one only."""
        return self._held == {condition}

    def release(self, condition: str) -> None:
        """A condition of the start holds; time begins if it was the last one."""
        with self._asking():
            if condition in self._held:
                self._held.discard(condition)
                if not self._held:
                    self.play()

    def refuse_start(self, why: str) -> None:
        """End in a fault instead of beginning, where time has not begun."""
        with self._asking():
            if self._held:
                self._held.clear()
                self._set_status(FAULT + why)

    def fail(self, why: str) -> None:
        """End in a fault: what commands the plant cannot go on."""
        with self._asking():
            self._set_status(FAULT + why)

    def play(self) -> str:
        """Let time run; why not, or ""."""
        return self._change(PLAYING)

    def pause(self) -> str:
        """Let time stand still; why not, or ""."""
        return self._change(PAUSED)

    def _change(self, status: str) -> str:
        with self._asking():
            if self.status.startswith(FAULT):
                return f"in {self.status}; call ~/reset first"
            self._held.clear()
            self._set_status(status)
            return ""

    def step(self) -> str:
        """One tick while paused; why not, or ""."""
        with self._asking():
            if self.status != PAUSED:
                return f"is {self.status}; only a paused simulation steps"
            self._tick(self.signals.command(time.monotonic(), self.pace, self.statistics))
            self._publish()
            return ""

    def reset(self, state: State | None = None) -> None:
        """Put the plant into `state` (the initial one if None), also after a fault; time goes on
        from where it is.
        """
        with self._asking():
            self.plant.reset(state)
            self.signals.faults.restart()
            self.signals.reset()
            if self.status.startswith(FAULT):
                self._set_status(PLAYING)
            self._publish()

    def restart(self, state: State) -> None:
        """Put the plant into `state` a tick later, so that no stamp has two states: what answers
        the one before is late.
        """
        with self._asking():
            self.plant.steps += self.plant.setup.tick_steps
            self.reset(state)

    def reconfigure(self, setup: Setup, pace: RunConfig) -> None:
        """Go on with other numbers."""
        with self._asking():
            self.plant.reconfigure(setup)
            self.pace, self.plant.limit = pace, pace.force_limit
            self.signals.faults.become(pace.faults, pace.seed)

    def push(self, wrench: Array, end: int) -> None:
        """Let a wrench (9,) (see `types.Input`) act on the rod until the simulated time `end`
        [ns].
        """
        with self._asking():
            self.plant.push(wrench, end)

    def recent_history(self) -> tuple[Array, Array]:
        """(stamps (n,), rows (n, 13)) of the newest ticks, as `History.read` gives them."""
        with self._asking():
            return self.history.read()

    def reset_statistics(self) -> None:
        """Count from zero again."""
        with self._asking():
            self.statistics, self.pacer = Statistics(), Pacer()
            self.command_queue.reset_counts()
            self.signals.faults.reset_counts()

    def mark_published(self) -> None:
        """The state is about to be sent: its answer may come before the last topic has left."""
        if self.signals.is_new:
            self.statistics.published(self.signals.expected_stamp)

    # the thread

    def _run(self) -> None:
        exact_sleeps()
        self._guarded(self._idle)  # everything has run once before time runs
        while not self._ending:
            self._guarded(self._play_tick if self.status == PLAYING else self._idle)

    def _guarded(self, turn: Callable) -> None:
        try:
            turn()
        except Exception as error:  # the thread must neither die nor go on in silence
            self._fail(error)

    def _play_tick(self) -> None:
        """Ticks in the compiled loop or, where there is more to do, one in Python."""
        factor = self._factor = self.pace.real_time_factor
        period = self.plant.tick_ns * 1e-9 / factor if factor else 0.0
        how = self._compiled_ticks(period)
        if how == DONE:
            self._publish_rest(period)
        if how in (DONE, INTERRUPTED, PUBLISH_FAILED) or (
            how != UNPUBLISHED and not self._stepped(period, how == UNANSWERED)
        ):
            return
        late = self.pacer.wait(period, self._resting, self.pace.overrun)
        with self._between_ticks:
            if late > period and self.pace.overrun == "stop" and not self._resting():
                self._set_status(f"{FAULT}{overrun_sentence(late, period)}")
            elif self._ready:  # and nothing newer was published meanwhile
                self._ready()
                self._ready = None

    def _compiled_ticks(self, period: float) -> int | None:
        """Run the compiled loop; how it ended, None where it could not begin."""
        with self._between_ticks:
            native = self._native_publisher
            if native is None or self._native_loop.asked[0] or not self._is_native(period):
                return None  # whoever asks gets the lock while Python sleeps
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
                self._publish()  # says what the middleware has against it
            return how

    def _publish_rest(self, period: float) -> None:
        """Publish what is due besides the states that the compiled loop has just sent."""
        rest = self._native_publisher.rest(self) if self._native_publisher else None
        if rest is not None:
            begun = self._put_off(period)
            with self._between_ticks:
                start = time.monotonic()
                rest()
                self._work = time.monotonic() - start
                self._begun = 0.0 if self.pace.lockstep else begun

    def _put_off(self, period: float) -> float:
        """Begin a tick; when that was [s, steady]. What is commanded later is for the next one.

        Light work waits for some of the period: until then the readers of the last state have the
        interpreter. What is left can take what the work's time varies.
        """
        begun, self._begun = self._begun or time.monotonic(), 0.0
        if not self.pace.lockstep:
            self.pacer.wait_within(period, self._work, self._resting)
        return begun

    def _is_native(self, period: float) -> bool:
        """Whether the compiled loop can take the next tick.

        Where neither a deadline nor a command paces time, Python has it: the loop would leave its
        readers behind.
        """
        paced = self.command_queue.accepted > 0 if self.pace.lockstep else period > 0.0
        known = period <= SLICE and self.pacer.beat(period) is not None
        return self._native_loop.possible and paced and known and not self._resting()

    def _stepped(self, period: float, waited: bool) -> bool:
        """Sleep, and step with what was commanded before; whether something is to be published."""
        in_time = self._answer_arrived(self.pace.idle_period * waited)
        begun = self._put_off(period)
        with self._between_ticks:
            if self._resting():
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
        """Now; what was ready is past."""
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

    def _resting(self) -> bool:
        """Whether time rests, or has another pace than the tick that sleeps or waits."""
        paced = self.pace.real_time_factor == self._factor
        return self._ending or self.status != PLAYING or not paced

    def _fail(self, error: Exception) -> None:
        status = f"{FAULT}{type(error).__name__}: {error}"
        if status != self.status:
            traceback.print_exc()
        self._set_status(status)
        time.sleep(self.pace.idle_period)

    def _answer_arrived(self, waited: float) -> bool:
        """In lockstep, wait for the answer to the state sent, for which the compiled loop has
        `waited` [s]; free-wheel until the first command ever.

        The state is sent again while it waits: a reader may have lost it, and asks for the best
        effort only.
        """
        if not self.pace.lockstep or self.command_queue.accepted == 0 or not self.signals.is_new:
            return True

        def is_answered(newest) -> bool:
            """By a command that repeats the stamp."""
            return self._resting() or (
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
        self.statistics.ticked(self.plant.step_time, self.plant.off_travel)
        if fault:
            self._set_status(FAULT + fault)

    def _set_status(self, status: str) -> None:
        changed, self.status = status != self.status, status
        self.command_queue.wake()
        if changed:
            self._on_status(status)
