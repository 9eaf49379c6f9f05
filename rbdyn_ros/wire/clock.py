"""The offset of the other end's clock, with a bound, from the four instants of a frame and its
echo.

A frame is sent at t1 [our clock], arrives at t2 and is answered at t3 [its clock], the answer
arrives at t4 [our clock]. No frame arrives before it was sent, whatever queues delay it, so with
its clock minus ours as o(t)

    t3 - t4 <= o(t4),    o(t1) <= t2 - t1                            two points, and o between them

Over a window a line o(t) = o + d t lies above all points of the first kind and below those of the
second. All (o, d) for which it does form a convex polygon: it holds the true offset and drift
together, its extent at an instant bounds the offset, and the middle of that is the estimate. A
point without a queue cuts off most of it; a queued one cuts off nothing. The time for which a
frame was held never enters, so a fast clock and a slow one are the same problem.

The bound holds while the rate changes by at most `WANDER`: an older point is relaxed by the square
of its age. Where the rate changes faster, or the clock was set by less than `SLACK`, no line
agrees with all points; then the older ones are dropped, and the bound may fail until they are.

Moon, Skelly and Towsley, Estimation and Removal of Clock Skew from Network Delay Measurements,
INFOCOM 1999, have the linear program, with points of one way.
"""

from collections import deque
from math import gcd
from typing import NamedTuple

INTERVAL = 250_000_000  # [ns] of which the tightest bounds are kept
KEPT = 20  # of them: five seconds
SLACK = 2_000_000  # [ns] by which an instant may be wrong: a board may count milliseconds
DRIFT = 0.05  # [-] of the worst oscillator, one of resistor and capacitor
WANDER = 1e-14  # [1/ns] largest change of the drift with time: 10 ppm/s
SLEW = 0.5  # [-] of an interval, by which `advance` may lengthen or shorten it


class RoundTrip(NamedTuple):
    """The bounds that round trips give: the offset was at most `upper` at `sent`, and at least
    `lower` at `arrived`.
    """

    sent: int  # [ns] t1, our clock
    upper: int  # [ns] t2 - t1
    arrived: int  # [ns] t4, our clock
    lower: int  # [ns] t3 - t4


class OffsetLine(NamedTuple):
    """The offset as a line over our time."""

    at: int = 0  # [ns]
    base: int = 0  # [ns] of the offset; a float cannot hold it to the nanosecond
    offset: float = 0.0  # there, beyond the base [ns]
    drift: float = 0.0  # [-]
    uncertainty: float = 0.0  # [ns]


_UNKNOWN = OffsetLine()
Corners = list[tuple[float, float]]  # of a polygon, in order: (offset beyond the base [ns], drift)


class ClockOffset:
    """The other end's clock minus ours, as a line over our time."""

    def __init__(self):
        self._reached = 0  # [ns, our clock] by `advance`, of whatever clock
        self.restart()

    def restart(self) -> None:
        """Forget all round trips, as another clock may answer now."""
        # of each interval the tightest bounds along the least and the largest drift
        self._best: deque[tuple[RoundTrip, RoundTrip]] = deque(maxlen=KEPT)
        self._end = 0  # [ns] of the newest interval
        self._tick = 0  # [ns] of the other clock: all its instants are multiples of it
        self._corners: Corners = []  # of all lines that agree with the bounds
        # one assignment, as other threads read it
        self._line = _UNKNOWN
        self._last: RoundTrip | None = None  # the newest one
        self._advanced: int | None = None  # [ns, their clock] the newest instant of `advance`

    def contradicts(self, t1: int, t2: int, t3: int, t4: int) -> bool:
        """Return whether no offset, with any drift, agrees with both this round trip and the one
        before. Then the clock was set.
        """
        last = self._last
        if last is None or not _is_possible(t3 - t2, t4 - t1):
            return False
        is_behind = t2 - t1 < last.lower - SLACK - DRIFT * abs(t1 - last.arrived)
        return is_behind or self.is_ahead(t3, t4)

    def is_ahead(self, theirs: int, now: int) -> bool:
        """Return whether an instant of the other end's clock, at which it sent what has arrived
        now, is in the future. Then the clock was set.
        """
        last = self._last
        return last is not None and theirs - now > last.upper + SLACK + DRIFT * (now - last.sent)

    def add(self, t1: int, t2: int, t3: int, t4: int) -> int | None:
        """Add a round trip. Return its delay [ns], or None if it cannot be one: the echo of a
        frame that was never sent.
        """
        held, away = t3 - t2, t4 - t1
        if not _is_possible(held, away):
            return None
        self._last = trip = RoundTrip(t1, t2 - t1, t4, t3 - t4)
        self._tick = gcd(self._tick, t2, t3)
        if self._best and t4 < self._end:
            drifts = [drift for _, drift in self._corners]
            slow, fast = self._best[-1]
            self._best[-1] = _tightest(slow, trip, min(drifts)), _tightest(fast, trip, max(drifts))
            self._corners = self._cut(self._corners, trip)
        else:
            self._best.append((trip, trip))
            self._end, self._corners = t4 + INTERVAL, []
        if not self._corners:
            self._solve(trip)
        self._line = self._middle(trip)
        return max(0, round(away - held / (1.0 + self.drift)))

    @property
    def is_known(self) -> bool:
        """Whether there was a round trip."""
        return self._line is not _UNKNOWN

    @property
    def drift(self) -> float:
        """The relative excess of the other clock's rate over ours [-]; 0 before it is known."""
        return self._line.drift

    @property
    def uncertainty(self) -> float:
        """The offset's largest possible error at the newest round trip [ns]; 0 before the first
        one.
        """
        return self._line.uncertainty

    def offset(self, now: int) -> float:
        """Return the other end's clock minus ours [ns] at our time `now`; 0 before the first round
        trip.
        """
        line = self._line
        return line.base + (line.offset + line.drift * (now - line.at))

    def ours(self, theirs: int) -> int:
        """Convert an instant of the other end's clock to our clock [ns]."""
        line = self._line
        passed = (theirs - line.base - line.at - line.offset) / (1.0 + line.drift)
        return line.at + round(passed)

    def advance(self, theirs: int) -> int | None:
        """Convert an instant as `ours` does, but later than the one before by half to one and a
        half times what has passed between them, so that no new estimate makes two of them nearly
        equal; return None if it is not later.
        """
        ours, before = self.ours(theirs), self._advanced
        if before is not None:
            least, most = (
                self._reached + round(share * (theirs - before))
                for share in (1.0 - SLEW, 1.0 + SLEW)
            )
            ours = min(max(ours, least), most)
        if ours <= self._reached:
            return None
        self._advanced, self._reached = theirs, ours
        return ours

    def _solve(self, newest: RoundTrip) -> None:
        """Find all lines that agree with the newest bounds and with the kept ones, up to the
        oldest with which any agrees; drop those before.
        """
        self._at, self._base = newest.arrived, newest.lower
        reach = newest.upper - newest.lower + DRIFT * (newest.arrived - newest.sent)
        low, high = -1.0 - self._tick, 1.0 + self._tick + reach
        corners = [(low, -DRIFT), (high, -DRIFT), (high, DRIFT), (low, DRIFT)]
        self._corners = self._cut(corners, newest)
        agreeing: deque[tuple[RoundTrip, RoundTrip]] = deque(maxlen=KEPT)
        for slow, fast in reversed(self._best):
            if not (corners := self._cut(self._cut(self._corners, slow), fast)):
                break
            self._corners = corners
            agreeing.appendleft((slow, fast))
        self._best = agreeing or deque([(newest, newest)], KEPT)

    def _cut(self, corners: Corners, bounds: RoundTrip) -> Corners:
        """Return the part of a polygon whose lines agree with bounds; empty if none does."""
        # the age that they have at the end of an interval
        ages = (self._at + INTERVAL - bounds.sent, self._at + INTERVAL - bounds.arrived)
        upper, lower = (self._tick + WANDER * age * age / 2 for age in ages)
        corners = _clip(corners, bounds.sent - self._at, bounds.upper - self._base + upper, 1)
        return _clip(corners, bounds.arrived - self._at, bounds.lower - self._base - lower, -1)

    def _middle(self, newest: RoundTrip) -> OffsetLine:
        """Return the line that is in the middle of the polygon halfway through the newest round
        trip, and the largest distance of the others from it at its end.
        """
        away = newest.arrived - newest.sent
        halfway = newest.sent + away // 2
        offsets = [o + d * (halfway - self._at) for o, d in self._corners]
        drifts = [d for _, d in self._corners]
        offset, drift = (min(offsets) + max(offsets)) / 2, (min(drifts) + max(drifts)) / 2
        errors = (o - offset + (d - drift) * away / 2 for o, d in zip(offsets, drifts))
        return OffsetLine(halfway, self._base, offset, drift, max(map(abs, errors)))


def _is_possible(held: int, away: int) -> bool:
    """Return whether a frame that was away for a time [ns, our clock] can have been held that long
    [ns, the other clock].
    """
    return 0 <= held <= (1.0 + DRIFT) * away


def _tightest(first: RoundTrip, second: RoundTrip, drift: float) -> RoundTrip:
    """Return of two pairs of bounds the tightest ones, along a drift."""
    upper = second.upper - first.upper < drift * (second.sent - first.sent)
    lower = second.lower - first.lower > drift * (second.arrived - first.arrived)
    return RoundTrip(*(second if upper else first)[:2], *(second if lower else first)[2:])


def _clip(corners: Corners, at: float, bound: float, sign: int) -> Corners:
    """Return the part of a polygon in which the line is at most (sign 1), or at least (-1), a
    bound at the time `at`; empty if there is none. Sutherland and Hodgman, 1974.
    """
    excess = [sign * (offset + drift * at - bound) for offset, drift in corners]
    if max(excess, default=0.0) <= 0.0:
        return corners
    kept: Corners = []
    for i, (corner, over) in enumerate(zip(corners, excess)):
        before, was_over = corners[i - 1], excess[i - 1]
        if (over > 0.0) != (was_over > 0.0):
            share = was_over / (was_over - over)
            kept.append(
                (
                    before[0] + share * (corner[0] - before[0]),
                    before[1] + share * (corner[1] - before[1]),
                )
            )
        if over <= 0.0:
            kept.append(corner)
    return kept
