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
        # (stamp [ns], when [s, steady]) of the newest states that were sent
        self._sent = deque[tuple[int, float]](maxlen=SENT)

    def record_publication(self, stamp: int) -> None:
        """Record that the state of that stamp [ns] is sent now."""
        self._sent.append((stamp, time.monotonic()))

    def record_answer(self, stamp: int, received: float) -> None:
        """Record that a command which answers the state of that stamp [ns] arrived at the steady
        instant `received` [s].
        """
        for sent, instant in reversed(list(self._sent)):  # mostly it is the first
            if sent == stamp:
                self.round_trips.append(received - instant)
                return

    def count_tick(self, step_time: float, limited: bool, off_travel: bool) -> None:
        """Count a tick that took `step_time` [s] per step: whether its force was limited, and
        whether it left the cart beyond its travel.
        """
        self.ticks += 1
        self.saturated += limited
        self.step_time = max(self.step_time, step_time)
        self.excursions += off_travel and not self.off_travel
        self.off_travel = off_travel

    def percentiles(self) -> tuple[float, float, float]:
        """Return (p50, p99, max) of the round trip [s], nan before the first."""
        trips = sorted(self.round_trips) or [math.nan]
        n = len(trips)
        return trips[n // 2], trips[min(n - 1, n * 99 // 100)], trips[-1]
