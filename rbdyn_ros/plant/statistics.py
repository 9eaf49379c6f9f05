"""Statistics of the simulation: round trips, limited forces, watchdog trips, excursions."""

import math
import time
from collections import deque

SENT = 256  # number of published states whose instant is kept
TRIPS = 5000  # number of round trips for percentiles


class Statistics:
    """Counters since the start, or since the last ~/reset_statistics."""

    def __init__(self):
        self.ticks = 0
        self.saturated = 0  # ticks whose force was limited
        self.watchdog_trips = 0
        self.watchdog_expired = False  # now
        self.lockstep_timeouts = 0
        self.excursions = 0  # beyond cart.travel
        self.off_travel = False  # now
        self.step_time = 0.0  # [s] largest
        # [s] from a state's publication to the command that answers it
        self.round_trips = deque[float](maxlen=TRIPS)
        self._sent: dict[int, float] = {}  # stamp [ns] -> when [s, steady], of the newest states

    def record_publication(self, stamp: int) -> None:
        """Record that the state of that stamp [ns] is sent now."""
        self._sent[stamp] = time.monotonic()
        if len(self._sent) > SENT:
            del self._sent[next(iter(self._sent))]

    def record_answer(self, stamp: int, received: float) -> None:
        """Record that a command which answers the state of that stamp [ns] arrived at the steady
        instant `received` [s].
        """
        if (sent := self._sent.get(stamp)) is not None:
            self.round_trips.append(received - sent)

    def count_tick(self, step_time: float, limited: bool, off_travel: bool) -> None:
        """Count a tick that took `step_time` [s] per step: whether its force was limited, and
        whether it left the cart beyond its travel.
        """
        self.ticks += 1
        self.saturated += limited
        if step_time > self.step_time:
            self.step_time = step_time
        if off_travel != self.off_travel:
            self.excursions += off_travel
            self.off_travel = off_travel

    def percentiles(self) -> tuple[float, float, float]:
        """Return (p50, p99, max) of the round trip [s], nan before the first."""
        trips = sorted(self.round_trips) or [math.nan]
        n = len(trips)
        return trips[n // 2], trips[min(n - 1, n * 99 // 100)], trips[-1]
