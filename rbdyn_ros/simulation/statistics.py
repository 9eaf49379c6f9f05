"""Statistics of the simulation: round trips, limited forces, watchdog trips, excursions."""

import math
import time
from collections import deque
from typing import NamedTuple

import numpy as np

from rbdyn_ros.types import Array

SENT = 256  # number of published states whose instant is kept
TRIPS = 5000  # number of round trips for percentiles


class Sent(NamedTuple):
    """The newest states that were sent: state k, counted from 0, is in the row k mod n."""

    count: Array  # (1,) so far
    stamps: Array  # (n,) [ns]
    instants: Array  # (n,) [s, steady]


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
        self.round_trips = deque(
            maxlen=TRIPS
        )  # [s] from a state's publication to the command that answers it
        self.sent = Sent(np.zeros(1, np.int64), np.zeros(SENT, np.int64), np.zeros(SENT))

    def record_publication(self, stamp: int) -> None:
        """Record that the state of that stamp [ns] is sent now."""
        count, stamps, instants = self.sent
        number = count.item()
        stamps[number % len(stamps)], instants[number % len(stamps)] = stamp, time.monotonic()
        count[0] = number + 1  # last, so that a reader finds the row complete

    def record_answer(self, stamp: int, received: float) -> None:
        """Record that a command which answers the state of that stamp [ns] arrived at the steady
        instant `received` [s].
        """
        count, stamps, instants = self.sent
        newest = count.item() - 1
        for number in range(newest, max(-1, newest - SENT), -1):  # mostly it is the first
            if stamps.item(number % len(stamps)) == stamp:
                self.round_trips.append(received - instants.item(number % len(stamps)))
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
