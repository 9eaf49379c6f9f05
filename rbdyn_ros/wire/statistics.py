"""Statistics of an end of the wire: counts, and percentiles over the last few thousand frames."""

import math
from collections import Counter, deque
from collections.abc import Iterable

KEPT = 5000  # samples: ten seconds at 500 Hz


class LinkStatistics:
    """Statistics of what was received, since the start or the last `reset`."""

    def __init__(self):
        self.reset()

    def reset(self) -> None:
        """Reset the counts to zero and discard the samples."""
        self.accepted = Counter()  # kind -> new frames
        self.malformed = Counter()  # reason -> pieces that are no frame
        self.outages = 0  # times that the other end became silent
        self.held_back = (
            0  # states and forces that were not sent: the other end was silent or behind
        )
        self.clock_leaps = 0  # times that the other end's clock was set
        # echoes of frames that were never sent, or that were held for longer than they were away
        self.false_echoes = 0
        self.ages, self.jitters, self.delays = (deque(maxlen=KEPT) for _ in range(3))  # [ns]
        self._last = None

    def count_arrival(self, kind: int, sent: int, now: int, age: float | None) -> None:
        """Count a new frame, sent at `sent` [ns, its clock], received at `now` [ns, ours], `age`
        [ns] old if that is known.

        Jitter is the difference of its travel time from that of the frame before; the clocks'
        offset cancels. RFC 3550, section 6.4.1.
        """
        self.accepted[kind] += 1
        if age is not None:
            self.ages.append(age)
        if self._last is not None:
            self.jitters.append(abs((now - self._last[1]) - (sent - self._last[0])))
        self._last = (sent, now)

    def count_outage(self) -> None:
        """Count an outage, a silence of the other end; the next frame has no predecessor."""
        self.outages += 1
        self._last = None

    def count_clock_leap(self) -> None:
        """Count that the other end's clock was set; the next frame has no predecessor on it."""
        self.clock_leaps += 1
        self._last = None


def percentiles(samples: Iterable[float]) -> dict[str, float]:
    """Return p50, p99 and max of any numbers, in their unit; nan where there are none."""
    ordered = sorted(samples) or [math.nan]
    n = len(ordered)
    return {"p50": ordered[n // 2], "p99": ordered[min(n - 1, n * 99 // 100)], "max": ordered[-1]}
