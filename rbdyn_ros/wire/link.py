"""One end of the wire: it numbers what it sends, judges what it receives, and knows whether the other end is there.

Time is an argument everywhere, in [ns] of this end's steady clock: nothing here reads a clock, sleeps, or does I/O.
"""

from typing import Iterator

from rbdyn_ros.wire.clock import ClockOffset
from rbdyn_ros.wire.frame import HEARTBEAT, LONGEST_HELD, SAFE, SEQUENCES, Frame, Malformed
from rbdyn_ros.wire.framing import Framing
from rbdyn_ros.wire.sequence import NEW, Sequence
from rbdyn_ros.wire.statistics import Statistics, percentiles


class Link:
    """The other end is up while its frames come; after `timeout` [ns] without a new one it is down."""

    def __init__(self, timeout: int):
        self.timeout = timeout
        self.framing, self.sequence, self.clock, self.statistics = Framing(), Sequence(), ClockOffset(), Statistics()
        self.up = False
        self.safe = False  # the other end's watchdog has fired
        self._sent = 0
        self._newest = None  # (its time, our time) of the newest frame

    def outgoing(self, now: int, kind: int = HEARTBEAT, stamp: int = 0, numbers: tuple = (), safe: bool = False) -> bytes:
        """The bytes of the next frame, sent at `now`."""
        echo, arrival = self._newest or (0, now)
        held = min(max(0, now - arrival), LONGEST_HELD)  # one thread receives while another one sends
        frame = Frame(kind, SAFE * safe, self._sent, now, echo, held, stamp, numbers)
        self._sent = (self._sent + 1) % SEQUENCES
        return self.framing.encode(frame)

    def incoming(self, data: bytes, now: int) -> Iterator[Frame]:
        """The new frames that end in `data`, which arrived at `now`. All else is counted."""
        for found in self.framing.decode(data):
            if isinstance(found, Malformed):
                self.statistics.malformed[found.reason] += 1
            elif self.sequence.arrival(found.sequence) == NEW:
                self._arrived(found, now)
                yield found

    def watch(self, now: int) -> bool:
        """Whether the other end is up. What comes after a silence may come from another one: nothing is expected of it."""
        if self.up and now - self._newest[1] > self.timeout:
            self.disconnected()
        return self.up

    def disconnected(self) -> None:
        """The other end is gone, for certain or by its silence."""
        if self.up:
            self.statistics.interrupted()
        self.up = self.safe = False
        self._newest = None
        for part in (self.framing, self.sequence, self.clock):
            part.restart()

    def age(self, frame: Frame, now: int) -> float | None:
        """How long ago [ns] the frame was sent; None while the clocks' offset is unknown."""
        return now - frame.time + self.clock.offset(now) if self.clock.known else None

    def figures(self) -> dict:
        """What is known of the wire, by name: counts, and milliseconds."""
        counts, sequence, clock = self.statistics, self.sequence, self.clock
        values = {"accepted": counts.accepted.total()}
        values |= {"lost": sequence.lost, "loss_percent": 100.0 * sequence.loss, "reordered": sequence.reordered}
        values |= {"duplicates": sequence.duplicates, "strays": sequence.strays, "outages": counts.outages}
        values |= {f"malformed, {reason}": count for reason, count in sorted(counts.malformed.items())}
        for name, samples in (("age", counts.ages), ("jitter", counts.jitters), ("delay", counts.delays)):
            values |= {f"{name}_{which}_ms": 1e-6 * value for which, value in zip(("p50", "p99", "max"), percentiles(samples))}
        return values | {"clock_drift_ppm": 1e6 * clock.drift, "clock_uncertainty_ms": 1e-6 * clock.uncertainty}

    def reset_statistics(self) -> None:
        """Count from zero; the clocks and the numbering go on."""
        self.statistics.reset()
        self.sequence.reset_counts()

    def _arrived(self, frame: Frame, now: int) -> None:
        self._newest = (frame.time, now)
        self.up, self.safe = True, bool(frame.flags & SAFE)
        if frame.echo and frame.held < LONGEST_HELD:
            delay = self.clock.add(frame.echo, frame.time - frame.held, frame.time, now)
            if delay is not None:
                self.statistics.delays.append(delay)
        self.statistics.arrived(frame.kind, frame.time, now, self.age(frame, now))
