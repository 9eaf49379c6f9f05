"""The offset of the other end's clock, from the four instants of a frame and its echo.

A frame is sent at t1 [our clock], arrives at t2 and is answered at t3 [its clock], the answer
arrives at t4 [our clock]:

    offset = ((t2 - t1) + (t3 - t4)) / 2        its clock minus ours
    delay  = (t4 - t1) - (t3 - t2)              round trip on the wire

where t3 - t2 is converted to our clock once the drift is known.

The error of the offset is at most delay / 2: it is half the difference of both ways. So of
each interval the sample with the least delay is kept, and a line through those gives offset and
drift. Mills, RFC 5905, section 8; Paxson, On Calibrating Measurements of Packet Transit Times,
SIGMETRICS 1998.
"""

from collections import deque
from statistics import linear_regression
from typing import NamedTuple

INTERVAL = 250_000_000  # [ns] of which the best sample is kept
KEPT = 40  # of them: ten seconds
SLACK = 2_000_000  # [ns] by which an instant may be wrong: a board may count milliseconds
DRIFT = 0.05  # [-] of the worst oscillator, one of resistor and capacitor
_NOISY = 2  # times the least delay; samples with a larger one were queued and are not fitted


class RoundTrip(NamedTuple):
    """One round trip, while no drift is known."""

    at: int  # [ns] t4, our clock
    offset: float  # [ns]
    delay: int  # [ns]
    held: int  # [ns] t3 - t2, the other clock

    def corrected(self, drift: float) -> "RoundTrip":
        """Return it with the time for which the frame was held by our clock."""
        drift = max(-DRIFT, min(drift, DRIFT))
        excess = self.held * drift / (1.0 + drift)
        return self._replace(offset=self.offset + excess / 2, delay=round(self.delay + excess))

    @property
    def is_possible(self) -> bool:
        """Whether no time was negative."""
        return self.delay >= 0 <= self.held


class OffsetLine(NamedTuple):
    """The offset as a line over our time."""

    at: int = 0  # [ns]
    offset: float = 0.0  # there [ns]
    drift: float = 0.0  # [-]
    uncertainty: float = 0.0  # [ns]


_UNKNOWN = OffsetLine()


class ClockOffset:
    """The other end's clock minus ours, as a line over our time."""

    def __init__(self):
        self.restart()

    def restart(self) -> None:
        """Forget all round trips, as another clock may answer now."""
        self._best: deque[RoundTrip] = deque(maxlen=KEPT)
        # one assignment, as other threads read it
        self._line = _UNKNOWN
        self._last: RoundTrip | None = None  # the newest sample

    def contradicts(self, t1: int, t2: int, t3: int, t4: int) -> bool:
        """Return whether no offset, with any drift, agrees with both this round trip and the one
        before. Then the clock was set.
        """
        sample, last = _sample(t1, t2, t3, t4).corrected(self.drift), self._last
        if last is None or not sample.is_possible:
            return False
        allowed = (sample.delay + last.delay) / 2 + _tolerance(last.at, t4)
        return abs(sample.offset - last.offset) > allowed

    def is_ahead(self, theirs: int, now: int) -> bool:
        """Return whether an instant of the other end's clock, at which it sent what has arrived
        now, is in the future. Then the clock was set.
        """
        last = self._last
        if last is None:
            return False
        return theirs - last.offset - now > last.delay / 2 + _tolerance(last.at, now)

    def add(self, t1: int, t2: int, t3: int, t4: int) -> int | None:
        """Add a round trip. Return its delay [ns], or None if it cannot be one: the echo of a
        frame that was never sent.
        """
        sample = _sample(t1, t2, t3, t4)
        corrected = sample.corrected(self.drift)
        if not corrected.is_possible:
            return None
        self._last, delay = corrected, corrected.delay
        if not self._best or sample.at // INTERVAL != self._best[-1].at // INTERVAL:
            self._best.append(sample)
            self._line = self._fit()
        elif delay < self._best[-1].corrected(self.drift).delay:
            self._best[-1] = sample
            self._line = self._fit()
        return delay

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
        """The offset's largest possible error [ns]; 0 before the first round trip."""
        return self._line.uncertainty

    def offset(self, now: int) -> float:
        """Return the other end's clock minus ours [ns] at our time `now`; 0 before the first round
        trip.
        """
        line = self._line
        return line.offset + line.drift * (now - line.at)

    def ours(self, theirs: int, now: int) -> int:
        """Convert an instant of the other end's clock to our clock [ns]."""
        return round(theirs - self.offset(now))

    def _fit(self) -> OffsetLine:
        """Fit a line by least squares to the samples that were not queued; a constant until they
        span a second. However old they are, the newest one, queued or not, bounds the offset.
        """
        samples = [sample.corrected(self.drift) for sample in self._best]
        newest, least = samples[-1], max(0, min(sample.delay for sample in samples))
        good = [sample for sample in samples if sample.delay <= _NOISY * least]
        t = [sample.at - newest.at for sample in good]
        if t[-1] - t[0] < 4 * INTERVAL:
            drift, offset = 0.0, min(good, key=lambda sample: sample.delay).offset
        else:
            drift, offset = linear_regression(t, [sample.offset for sample in good])
        reach = max(0, newest.delay) / 2
        bounded = min(max(offset, newest.offset - reach), newest.offset + reach)
        return OffsetLine(newest.at, bounded, drift, least / 2 if bounded == offset else reach)


def _tolerance(at: int, now: int) -> float:
    """Return by how much the clock may have moved since the instant `at` of a sample [ns]."""
    return SLACK + DRIFT * (now - at)


def _sample(t1: int, t2: int, t3: int, t4: int) -> RoundTrip:
    """Return a round trip as offset and delay."""
    return RoundTrip(t4, ((t2 - t1) + (t3 - t4)) / 2, (t4 - t1) - (t3 - t2), t3 - t2)
