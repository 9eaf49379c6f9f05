"""Ticks against absolute deadlines on a steady clock: skip what is lost, never burst to catch up."""

import time
from typing import Callable

SLICE = 0.02  # [s] the longest sleep: a stop or a change of pace is seen this soon


class Pacer:
    """Deadline k is base + k period; a tick that is over a period late moves the base."""

    def __init__(self, clock: Callable = time.monotonic, sleep: Callable = time.sleep):
        self._clock, self._sleep = clock, sleep
        self.missed = 0  # whole periods skipped
        self.restart()

    def restart(self) -> None:
        """Count the next deadline from now."""
        self._base, self._ticks, self._period = self._clock(), 0, 0.0

    def wait(self, period: float, stopped: Callable) -> None:
        """Sleep until the next deadline, `period` [s] after the one before; 0 does not sleep. Ends early if `stopped()`."""
        if period != self._period:
            self.restart()
            self._period = period
        self._ticks += 1
        deadline = self._base + self._ticks * period
        late = self._clock() - deadline
        if period and late > period:
            skipped = int(late / period)
            self.missed += skipped
            self._base += skipped * period
        while late < 0.0 and not stopped():
            self._sleep(min(-late, SLICE))
            late = self._clock() - deadline
