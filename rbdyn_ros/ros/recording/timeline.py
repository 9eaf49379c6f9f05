"""Recorded time on a steady clock: faster, slower or paused; a late message is published at once,
and a long delay is not caught up.
"""

import time
from collections.abc import Callable

SLICE = 0.02  # [s] longest sleep, within which a stop, a pause or another rate is noticed
LATE = 0.1  # [s] beyond which time slips, so that a suspended process does not publish a burst


class Timeline:
    """Converts steady time to recorded time, slice by slice, at the rate of that slice."""

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
