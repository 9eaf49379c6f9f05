"""The simulation's own thread: it plays, pauses, waits in lockstep, stops at a fault. No ROS in it."""

import threading
import time
import traceback
from typing import Callable, NamedTuple

from rbdyn_ros.simulation.command import Command, Mailbox, Watchdog, limited
from rbdyn_ros.simulation.disturbance import Disturbance
from rbdyn_ros.simulation.history import History
from rbdyn_ros.simulation.pacing import Pacer
from rbdyn_ros.simulation.plant import Plant, Setup
from rbdyn_ros.simulation.statistics import Statistics
from rbdyn_ros.types import State

STOPPED, PAUSED, PLAYING = "stopped", "paused", "playing"
FAULT = "fault: "  # and why


class Pace(NamedTuple):
    """How the plant is run: an immutable snapshot, swapped between two ticks."""

    real_time_factor: float  # 0 as fast as it goes
    start: str  # on_command immediately paused
    lockstep: bool
    lockstep_timeout: float  # [s]
    lockstep_reaction: str  # zero hold fault
    watchdog: Watchdog
    force_limit: float  # [N] norm
    idle_period: float  # [s]
    history_rows: int

    @property
    def slowdown(self) -> float:
        """Real seconds per simulated second where that is more than one: commands may take so much longer."""
        return 1.0 / self.real_time_factor if 0.0 < self.real_time_factor < 1.0 else 1.0

    @property
    def oldest_stamp(self) -> float:
        """How old the state may be [s, simulated] that a command answers; unlimited where time is not paced."""
        if self.lockstep or self.real_time_factor == 0.0 or self.watchdog.timeout == 0.0:
            return float("inf")
        return self.watchdog.timeout * max(1.0, self.real_time_factor)


class Runner:
    """Ticks a `Plant` in a thread. Whatever others ask for happens between two ticks.

    `publish(runner)` is called in the thread after every tick, and at `idle_period` while time stands still;
    `on_status(status)` after every change of the status.
    """

    def __init__(self, setup: Setup, pace: Pace, publish: Callable, on_status: Callable):
        self.plant, self.pace = Plant(setup), pace
        self.mailbox, self.disturbance = Mailbox(), Disturbance()
        self.history, self.statistics = History(pace.history_rows), Statistics()
        self.pacer = Pacer()
        self.status = STOPPED
        self.force = (0.0, 0.0)  # [N] applied to the cart in the last tick
        self._publish, self._on_status = publish, on_status
        self._between_ticks = threading.RLock()
        self._held = False  # paused until the first valid command
        self._ending = False
        self._thread: threading.Thread | None = None

    # what others ask for

    def begin(self) -> None:
        """Start the thread; `pace.start` says whether time begins with it."""
        self._held, self._ending = self.pace.start == "on_command", False
        self._become(PLAYING if self.pace.start == "immediately" else PAUSED)
        self._thread = threading.Thread(target=self._run, name="simulation", daemon=True)
        self._thread.start()

    def end(self) -> None:
        """Stop the thread, at once also where it sleeps or waits."""
        self._ending = True
        self.mailbox.wake()
        if self._thread:
            self._thread.join()
            self._thread = None
        self._become(STOPPED)

    def command(self, command: Command) -> None:
        """Take a valid command: it is applied from the next tick on, and releases a held start.

        In lockstep the first answer to the present state counts, and no other.
        """
        if self.pace.lockstep and command.stamp and self._is_late(command.stamp):
            self.mailbox.late += 1
            return
        self.statistics.answered(command.stamp, command.received)
        self.mailbox.put(command)
        if self._held:
            self.play()

    def play(self) -> str:
        """Let time run; why not, or ""."""
        with self._between_ticks:
            if self.status.startswith(FAULT):
                return f"in {self.status}; call ~/reset first"
            self._held = False
            self._become(PLAYING)
            return ""

    def pause(self) -> str:
        """Let time stand still; why not, or ""."""
        with self._between_ticks:
            if self.status.startswith(FAULT):
                return f"in {self.status}; call ~/reset first"
            self._held = False
            self._become(PAUSED)
            return ""

    def step(self) -> str:
        """One tick while paused; why not, or ""."""
        with self._between_ticks:
            if self.status != PAUSED:
                return f"is {self.status}; only a paused simulation steps"
            self._tick(self._commanded())
            self._show()
            return ""

    def reset(self, state: State | None = None) -> None:
        """Put the plant into `state` (the initial one if None), also after a fault; time goes on from where it is."""
        with self._between_ticks:
            self.plant.reset(state)
            self.force = (0.0, 0.0)
            self.disturbance = Disturbance()
            self.mailbox.clear()
            if self.status.startswith(FAULT):
                self._become(PLAYING)
            self._show()

    def adopt(self, setup: Setup, pace: Pace) -> None:
        """Go on with other numbers."""
        with self._between_ticks:
            self.plant.adopt(setup)
            self.pace = pace

    def reset_statistics(self) -> None:
        """Count from zero again."""
        with self._between_ticks:
            self.statistics, self.pacer = Statistics(), Pacer()
            self.mailbox.reset_counts()

    # the thread

    def _run(self) -> None:
        while not self._ending:
            try:
                if self.status == PLAYING:
                    self._play_tick()
                else:
                    self._idle()
            except Exception as error:  # the thread must neither die nor go on in silence
                self._fail(error)

    def _play_tick(self) -> None:
        in_time = self._answer_arrived()
        with self._between_ticks:
            if self.status != PLAYING or self._ending:
                return
            if not in_time and self.pace.lockstep_reaction == "fault":
                self._become(f"{FAULT}no command answered the state within {self.pace.lockstep_timeout:g} s")
                return
            drop = not in_time and self.pace.lockstep_reaction == "zero"
            self._tick((0.0, 0.0) if drop else self._commanded())
        factor = self.pace.real_time_factor
        self.pacer.wait(self.plant.tick_ns * 1e-9 / factor if factor else 0.0, self._resting)
        with self._between_ticks:
            if not self._resting():
                self._show()

    def _idle(self) -> None:
        with self._between_ticks:
            self._show()
        self.mailbox.wait(lambda newest: self._ending or self.status == PLAYING, self.pace.idle_period)
        self.pacer.restart()

    def _resting(self) -> bool:
        return self._ending or self.status != PLAYING

    def _show(self) -> None:
        self.statistics.published(self.plant.stamp)  # first: the answer may come before the last topic has left
        self._publish(self)

    def _fail(self, error: Exception) -> None:
        status = f"{FAULT}{type(error).__name__}: {error}"
        if status != self.status:
            traceback.print_exc()
        self._become(status)
        time.sleep(self.pace.idle_period)

    def _answer_arrived(self) -> bool:
        """In lockstep, wait for the answer to the state sent; free-wheel until the first command ever.

        The state is sent again while it waits: a reader may have lost it, and asks for the best effort only.
        """
        if not self.pace.lockstep or self.mailbox.accepted == 0:
            return True
        sent = self.plant.stamp

        def is_answered(newest) -> bool:
            """By a command that repeats the stamp, or has none."""
            return self._resting() or (newest is not None and newest.stamp in (0, sent))

        deadline = time.monotonic() + self.pace.lockstep_timeout
        while not self.mailbox.wait(is_answered, self.pace.idle_period):
            if time.monotonic() > deadline:
                self.statistics.lockstep_timeouts += 1
                return False
            with self._between_ticks:
                self._show()
        return True

    def _is_late(self, stamp: int) -> bool:
        newest = self.mailbox.newest
        return stamp < self.plant.stamp or (newest is not None and newest.stamp == stamp)

    def _commanded(self) -> tuple:
        """The force to apply now: the newest command, as far as the watchdog lets it count."""
        newest = self.mailbox.newest
        if newest is None:
            return (0.0, 0.0)
        if self.pace.lockstep:
            return newest.force
        age = (time.monotonic() - newest.received) / self.pace.slowdown
        self.statistics.watched(self.pace.watchdog.expired(age))
        return self.pace.watchdog.force(newest.force, age)

    def _tick(self, force: tuple) -> None:
        self.force, cut = limited(force, self.pace.force_limit)
        self.statistics.saturated += cut
        plant = self.plant
        fault = plant.tick(self.force, self.disturbance.at(plant.stamp))
        self.history.append(plant.stamp, plant.q, plant.v, plant.input.force)
        self.statistics.ticked(plant.evidence.step_time, plant.off_travel)
        if fault:
            self._become(FAULT + fault)

    def _become(self, status: str) -> None:
        changed, self.status = status != self.status, status
        self.mailbox.wake()
        if changed:
            self._on_status(status)
