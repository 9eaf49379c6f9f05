"""Recorded time against a steady clock: faster, slower, paused; what is late leaves at once, and
time does not burst.
"""

import time
from collections.abc import Callable

SLICE = 0.02  # [s] the longest sleep: a stop, a pause or another rate is seen this soon
LATE = (
    0.1  # [s] beyond which time slides: nobody wants what piled up in a process that was suspended
)


class Timeline:
    """Turns steady time into recorded time, slice by slice, at the rate of that slice."""

    def __init__(self, clock: Callable = time.monotonic, sleep: Callable = time.sleep):
        self._clock, self._sleep = clock, sleep
        self.slid = 0.0  # [s] of real time, in all
        self.begin(0)

    def begin(self, stamp: int) -> None:
        """The recorded instant `stamp` [ns] is now."""
        self._now, self._looked = stamp, self._clock()

    def wait(self, stamp: int, pace: Callable[[], float], stopped: Callable[[], bool]) -> None:
        """Sleep until the recorded instant `stamp` [ns].

        `pace()` is recorded seconds per second, 0 a pause. Ends early if `stopped()`.
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
