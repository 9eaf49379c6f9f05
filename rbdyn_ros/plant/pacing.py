"""Time on a steady clock, without bursts after lost time: ticks are paced by absolute deadlines,
and recorded time runs faster, slower or not at all.
"""

import ctypes
import time
from collections.abc import Callable

_SET_TIMER_SLACK = 29  # of Linux's prctl
SLICE = 0.02  # [s] longest sleep, within which a stop or a change of pace is noticed
LATE = 0.1  # [s] beyond which recorded time slips, as of a suspended process


def exact_sleeps() -> bool:
    """Set the timer slack of this thread to the minimum. Return whether the system grants it.

    By default Linux lets each sleep be up to 50 us late, so that wake-ups coincide.
    """
    try:
        return ctypes.CDLL(None).prctl(_SET_TIMER_SLACK, ctypes.c_ulong(1), 0, 0, 0) == 0
    except (OSError, AttributeError):  # another system
        return False


class Pacer:
    """Waits for deadlines; deadline k is base + k period. A tick that ends after its deadline has
    overrun.

    `skip`  a delay of less than a period is caught up; whole lost periods are skipped, and the
            base moves by them: the deadlines keep their phase
    `slip`  the base moves by the delay: every tick has its full period, and time slips
    `stop`  as skip; the caller checks what `wait` returns
    """

    def __init__(self, clock: Callable = time.monotonic, sleep: Callable = time.sleep):
        self._clock, self._sleep = clock, sleep
        self.overruns = 0  # ticks that ended after their deadline
        self.missed = 0  # whole periods skipped
        self.slipped = 0.0  # [s] by which time has slipped
        self.restart()

    def restart(self) -> None:
        """Count the next deadline from now."""
        self._base, self._ticks, self.period = self._clock(), 0, 0.0

    def wait(self, period: float, stopped: Callable[[], bool], policy: str = "skip") -> float:
        """Sleep until the next deadline, `period` [s] after the one before; 0 does not sleep.

        End early if `stopped()`. Return by how much [s] the deadline had passed at the call, 0 if
        it had not.
        """
        if period != self.period:
            self.restart()
            self.period = period
        self._ticks += 1
        if not period:
            return 0.0
        deadline = self._base + self._ticks * period
        left = deadline - self._clock()
        if left < 0.0:
            self._count_overrun(-left, period, policy)
            return -left
        while left > 0.0 and not stopped():
            self._sleep(left if left < SLICE else SLICE)
            left = deadline - self._clock()
        return 0.0

    def _count_overrun(self, late: float, period: float, policy: str) -> None:
        self.overruns += 1
        if policy == "slip":
            self.slipped += late
            self._base += late
        elif late > period:
            skipped = int(late / period)
            self.missed += skipped
            self._base += skipped * period


def overrun_sentence(late: float, period: float) -> str:
    """Return why an overrun [s] of more than a period [s] stops the simulation."""
    return (
        f"a tick ended {1e3 * late:.3g} ms after its deadline, which is more than its period of "
        f"{1e3 * period:.3g} ms; "
        "set overrun to skip or slip, or lower real_time_factor, and call ~/reset"
    )


class Timeline:
    """Converts steady time to recorded time, slice by slice, at the rate of that slice. A late
    message is due at once, and a long delay is not caught up.
    """

    def __init__(self, clock: Callable = time.monotonic, sleep: Callable = time.sleep):
        self._clock, self._sleep = clock, sleep
        self.slid = 0.0  # [s] total real time by which time has slipped
        self.begin(0)

    def begin(self, stamp: int) -> None:
        """Let the recorded instant `stamp` [ns] be now."""
        self._now, self._looked = stamp, self._clock()

    def wait(self, stamp: int, pace: Callable[[], float], stopped: Callable[[], bool]) -> None:
        """Sleep until the recorded instant `stamp` [ns].

        `pace()` is recorded seconds per second, 0 a pause. End early if `stopped()`.
        """
        while not stopped():
            rate = pace()
            self._advance(rate)
            left = 1e-9 * (stamp - self._now)  # recorded
            if rate and left <= 0.0:
                self._slide(stamp, rate)
                return
            self._sleep(min(left / rate, SLICE) if rate else SLICE)

    def _advance(self, rate: float) -> None:
        looked, self._looked = self._looked, self._clock()
        self._now += round(1e9 * rate * (self._looked - looked))

    def _slide(self, stamp: int, rate: float) -> None:
        late = 1e-9 * (self._now - stamp) / rate
        if late > LATE:
            self._now = stamp
            self.slid += late


LOOK = 0.5  # [s] for which the time between two looks counts at most


class StallDetector:
    """A stopwatch that restarts whenever the observed value changes."""

    def __init__(self, clock: Callable = time.monotonic):
        self._clock, self._shown = clock, None
        self.restart()

    def restart(self) -> None:
        """Restart from zero."""
        self._looked, self._still = self._clock(), 0.0

    def look(self, shown) -> float:
        """Return for how long [s] the observed value has been the same."""
        now = self._clock()
        self._still = self._still + min(now - self._looked, LOOK) if shown == self._shown else 0.0
        self._looked, self._shown = now, shown
        return self._still
