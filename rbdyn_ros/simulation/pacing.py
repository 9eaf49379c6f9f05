"""Ticks against absolute deadlines on a steady clock, and what happens to time that is lost: it
never comes back in a burst.
"""

import ctypes
import math
import time
from collections.abc import Callable

_SET_TIMER_SLACK = 29  # of Linux's prctl
SLICE = 0.02  # [s] the longest sleep: a stop or a change of pace is seen this soon
WAITED = 0.3  # part of a period that the readers of a state have before light work begins


def exact_sleeps() -> bool:
    """Let the sleeps of this thread end when they should; whether the system grants it.

    Linux lets each be up to 50 us late, so that wake-ups come together.
    """
    try:
        return ctypes.CDLL(None).prctl(_SET_TIMER_SLACK, ctypes.c_ulong(1), 0, 0, 0) == 0
    except (OSError, AttributeError):  # another system
        return False


class Pacer:
    """Deadline k is base + k period. A tick that ends after its deadline has overrun.

    `skip`  what is late by less than a period is caught up; whole periods that are lost are
            skipped, and the base moves by them: the deadlines keep their beat
    `slip`  the base moves by whatever is late: every tick has its full period, and time slides
    `stop`  as skip; the caller looks at what `wait` returns
    """

    def __init__(self, clock: Callable = time.monotonic, sleep: Callable = time.sleep):
        self._clock, self._sleep = clock, sleep
        self.overruns = 0  # ticks that ended after their deadline
        self.missed = 0  # whole periods skipped
        self.slipped = 0.0  # [s] by which time has slid
        self.restart()

    def restart(self) -> None:
        """Count the next deadline from now."""
        self._base, self._ticks, self._period = self._clock(), 0, 0.0

    def wait(self, period: float, stopped: Callable[[], bool], policy: str = "skip") -> float:
        """Sleep until the next deadline, `period` [s] after the one before; 0 does not sleep.

        Ends early if `stopped()`.

        Returns by how much [s] the deadline was over at the call, 0 if it was not.
        """
        if period != self._period:
            self.restart()
            self._period = period
        self._ticks += 1
        deadline = self._base + self._ticks * period
        late = self._clock() - deadline
        overrun = max(0.0, late) if period else 0.0
        if overrun:
            self._overran(overrun, period, policy)
        self._sleep_until(deadline, stopped)
        return overrun

    def beat(self, period: float) -> tuple[float, int] | None:
        """(base [s, steady], deadlines that are past) of that period; None where another one, or
        none, was waited for last.
        """
        return (self._base, self._ticks) if period == self._period else None

    def passed(self, deadlines: int, overruns: int = 0) -> None:
        """Somebody else waited for so many deadlines; so many ticks had overrun, none by more than
        `latest`.
        """
        self._ticks += deadlines
        self.overruns += overruns

    @staticmethod
    def latest(period: float, policy: str) -> float:
        """How late [s] a tick may be and leave the beat as it is."""
        return (0.0 if policy == "slip" else period) if period else math.inf

    def wait_within(self, period: float, work: float, stopped: Callable[[], bool]) -> None:
        """Sleep for WAITED periods less `work` [s] from the last deadline, if that is known."""
        if period == self._period:
            self._sleep_until(self._base + (self._ticks + WAITED) * period - work, stopped)

    def _sleep_until(self, instant: float, stopped: Callable) -> None:
        while (left := instant - self._clock()) > 0.0 and not stopped():
            self._sleep(min(left, SLICE))

    def _overran(self, late: float, period: float, policy: str) -> None:
        self.overruns += 1
        if policy == "slip":
            self.slipped += late
            self._base += late
        elif late > period:
            skipped = int(late / period)
            self.missed += skipped
            self._base += skipped * period


def overrun_sentence(late: float, period: float) -> str:
    """Why an overrun [s] of more than a period [s] stops the simulation."""
    return (
        f"a tick ended {1e3 * late:.3g} ms after its deadline, which is more than its period of "
        f"{1e3 * period:.3g} ms; "
        "set overrun to skip or slip, or lower real_time_factor, and call ~/reset"
    )


LOOK = 0.5  # [s] that the time from one look to the next counts for at most


class StallDetector:
    """A stopwatch that begins anew whenever what it is shown differs from the last."""

    def __init__(self, clock: Callable = time.monotonic):
        self._clock, self._shown = clock, None
        self.restart()

    def restart(self) -> None:
        """Begin anew."""
        self._looked, self._still = self._clock(), 0.0

    def look(self, shown) -> float:
        """For how long [s] it has been the same."""
        now = self._clock()
        self._still = self._still + min(now - self._looked, LOOK) if shown == self._shown else 0.0
        self._looked, self._shown = now, shown
        return self._still
