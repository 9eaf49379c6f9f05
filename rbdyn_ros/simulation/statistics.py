"""What the simulation counts: round trips, cut forces, watchdog trips, excursions."""

import time
from collections import deque

SENT = 256  # published states whose instant is kept
TRIPS = 5000  # round trips over which percentiles are taken


class Statistics:
    """Counters since the start, or since the last ~/reset_statistics."""

    def __init__(self):
        self.ticks = 0
        self.saturated = 0  # ticks whose force was cut
        self.watchdog_trips = 0
        self.watchdog_expired = False  # now
        self.lockstep_timeouts = 0
        self.excursions = 0  # beyond cart.travel
        self.off_travel = False  # now
        self.step_time = 0.0  # [s] largest
        self.round_trips = deque(maxlen=TRIPS)  # [s] from a state's publication to the command that answers it
        self._sent = {}

    def published(self, stamp: int) -> None:
        """The state of that stamp [ns] leaves now."""
        self._sent[stamp] = time.monotonic()
        if len(self._sent) > SENT:
            del self._sent[next(iter(self._sent))]

    def answered(self, stamp: int, received: float) -> None:
        """A command that answers the state of that stamp [ns] arrived at the steady instant `received` [s]."""
        sent = self._sent.get(stamp)
        if sent is not None:
            self.round_trips.append(received - sent)

    def watched(self, expired: bool) -> None:
        """The watchdog looked at the newest command."""
        self.watchdog_trips += expired and not self.watchdog_expired
        self.watchdog_expired = expired

    def ticked(self, step_time: float, off_travel: bool) -> None:
        """A tick took `step_time` [s] per step and left the cart beyond its travel, or not."""
        self.ticks += 1
        self.step_time = max(self.step_time, step_time)
        self.excursions += off_travel and not self.off_travel
        self.off_travel = off_travel

    def percentiles(self) -> tuple:
        """Round trip (p50, p99, max) [s], nan before the first."""
        trips = sorted(self.round_trips)
        if not trips:
            return (float("nan"),) * 3
        return trips[len(trips) // 2], trips[min(len(trips) - 1, len(trips) * 99 // 100)], trips[-1]
