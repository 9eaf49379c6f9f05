"""One end of the wire: it numbers what it sends, validates what it receives, and knows whether the
other end is there.

Time is an argument everywhere, in [ns] of this end's steady clock: nothing here reads a clock,
sleeps, or does I/O.
"""

import math
from collections import Counter, deque
from collections.abc import Iterable, Iterator
from typing import Any

from rbdyn_ros.wire.clock import SLACK, ClockOffset
from rbdyn_ros.wire.frame import (
    COMPACT,
    FORCE,
    HEARTBEAT,
    LARGEST_COMPACT,
    LONGEST_HELD,
    NEW,
    SAFE,
    SEQUENCES,
    STATE,
    TIMES,
    WANTS_COMPACT,
    Frame,
    Framing,
    Malformed,
    Sequence,
    decode,
    encode,
    extend,
)
from rbdyn_ros.wire.session import HELLO, NO_SESSION, SESSION, Session

SAMPLES = 5000  # samples: ten seconds at 500 Hz


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
        self.ages, self.jitters, self.delays = (deque(maxlen=SAMPLES) for _ in range(3))  # [ns]
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

    def forget_arrival(self) -> None:
        """Forget the newest frame: after a silence, or where the other end's clock was set, the
        next one has no predecessor.
        """
        self._last = None


def percentiles(samples: Iterable[float]) -> dict[str, float]:
    """Return p50, p99 and max of any numbers, in their unit; nan where there are none."""
    ordered = sorted(samples) or [math.nan]
    n = len(ordered)
    return {"p50": ordered[n // 2], "p99": ordered[min(n - 1, n * 99 // 100)], "max": ordered[-1]}


ECHOES = 2048  # frames of ours whose echo is recognized: four seconds at 500 Hz
UNECHOED = 20_000_000  # [ns] after which a frame counts as received by an end that has echoed none


COMPACT_LIMIT = 1_000_000_000  # [ns] since the newest echo within which a state may be compact


def keep_newest(kept: dict[int, Any], key: int, value: Any, most: int) -> None:
    """Keep a value under a new key, and of all the newest `most`."""
    kept[key] = value
    if len(kept) > most:
        del kept[next(iter(kept))]


class Link:
    """One end of the wire. The other end is up while its frames arrive; after `timeout` [ns]
    without a new one it is down.

    A line that is slower than its sender would queue frames without end. So a state or a force is
    sent only while the other end is up and fewer than `window` of them are unacknowledged: sent
    after the frame that its newest echo names, and less than `timeout` ago (`UNECHOED` where an
    end has been up for `timeout` and echoes nothing). All others are held back and counted.

    With a `session`, of a shared key, only its frames are new ones, and the other end is up only
    while it echoes what was sent less than `timeout` ago: a longer delay is a silence, too, and
    each silence ends the session.
    """

    def __init__(
        self,
        timeout: int,
        window: int = 3,
        wants_compact: bool = False,
        session: Session | None = None,
    ):
        """Start with the other end down; `wants_compact` requests compact states of it."""
        self.timeout, self.session = timeout, session
        self.greeted = False  # the other end waits for our nonce, and is answered at once
        self._asks = WANTS_COMPACT * wants_compact
        self._compact = False  # the other end requests compact states
        self.framing, self.sequence, self.clock, self.statistics = (
            Framing(session is not None),
            Sequence(),
            ClockOffset(),
            LinkStatistics(),
        )
        self.up = False
        self.safe = False  # the other end's watchdog has fired
        self._sent = 0
        self._newest: tuple[int, int] | None = None  # (its time, our time) of the newest frame
        self._times: dict[
            int, None
        ] = {}  # [ns] at which the last frames were sent, in order, all keys
        self._echoed = 0  # [ns] the newest of them that was echoed; 0 none
        self._since = 0  # [ns] when the other end came up
        self._leap = 0  # [ns] when the other end's clock was last found to be set
        # [ns] at which the newest states and forces were sent
        self._window: deque[int] = deque(maxlen=window)
        self._room = window

    def admits(
        self, now: int, kind: int, numbers: tuple[float, ...] = (), safe: bool = False
    ) -> bool:
        """Return whether a frame may be sent at `now`, and count it as held back if not.

        Heartbeats and forces that are flagged safe may always be sent; a force of zero needs no
        room in the window.
        """
        if kind == HEARTBEAT or safe:
            return True
        if self.up and (self._has_room(now) or kind == FORCE and not any(numbers)):
            return True
        self.statistics.held_back += 1
        return False

    def _has_room(self, now: int) -> bool:
        """Return whether there is room in the window, or its oldest frame is acknowledged, or too
        old to wait for.
        """
        if len(self._window) < self._room:
            return True
        oldest, echoes = self._window[0], self._echoed or now - self._since < self.timeout
        return oldest <= self._echoed or now - oldest > (self.timeout if echoes else UNECHOED)

    def outgoing(
        self,
        now: int,
        kind: int = HEARTBEAT,
        stamp: int = 0,
        numbers: tuple[float, ...] = (),
        safe: bool = False,
    ) -> bytes:
        """Return the bytes of the next frame, sent at `now`."""
        echo, arrival = self._newest or (0, now)
        # one thread receives while another one sends
        held = min(max(0, now - arrival), LONGEST_HELD)
        if kind == STATE and self._may_be_compact(now, numbers):
            kind = COMPACT
        flags = SAFE * safe | self._asks
        frame = Frame(kind, flags, self._sent, now, echo, held, stamp, numbers)
        self._sent = (self._sent + 1) % SEQUENCES
        keep_newest(self._times, now, None, ECHOES)
        if kind != HEARTBEAT:
            self._window.append(now)
        return self.framing.stuff(self.session.seal(frame) if self.session else encode(frame))

    def _may_be_compact(self, now: int, numbers: tuple[float, ...]) -> bool:
        """Return whether the other end requests compact states, and knows a frame recent enough to
        complete sequence and time from.
        """
        return (
            self._compact
            and 0 < self._echoed > now - COMPACT_LIMIT
            and max(map(abs, numbers)) <= LARGEST_COMPACT
        )

    def _complete(self, found: Frame) -> Frame | Malformed:
        """Return a compact state as a state with its full sequence and time."""
        if self._newest is None or self.sequence.newest is None:
            return Malformed("early")
        sequence = extend(found.sequence, 16, self.sequence.newest) % SEQUENCES
        sent = extend(found.time, 32, self._newest[0]) % TIMES
        return found._replace(kind=STATE, sequence=sequence, time=sent)

    def incoming(self, data: bytes, now: int) -> Iterator[Frame]:
        """Yield the new frames that end in `data`, which arrived at `now`.

        All others are counted; a force that is flagged safe is zero.
        """
        for piece in self.framing.pieces(data):
            found = piece if isinstance(piece, Malformed) else self._read(piece, now)
            if isinstance(found, Malformed):
                self.statistics.malformed[found.reason] += 1
            elif self.sequence.arrival(found.sequence) == NEW:
                self._accept(found, now)
                yield (
                    found._replace(numbers=(0.0, 0.0))
                    if found.kind == FORCE and found.flags & SAFE
                    else found
                )

    def _read(self, piece: bytes, now: int) -> Frame | Malformed:
        found = decode(piece, self.session is not None)
        if isinstance(found, Frame) and found.kind == COMPACT:
            found = self._complete(found)
        if self.session is None or isinstance(found, Malformed):
            return found
        return self._authenticate(self.session, found, piece, now)

    def _authenticate(
        self, session: Session, found: Frame, piece: bytes, now: int
    ) -> Frame | Malformed:
        """Return the frame, if it is of the session. Begin a session with a frame that echoes what
        was just sent.
        """
        if self.watch(now) and self._newest:  # the delay in this end's buffers counts, too
            if not session.verifies(found, piece):
                return Malformed("tag")
            # 2^32 frames later the sequence alone would take it for a new one
            repeated = found.time < self._newest[0] and self.sequence.is_ahead(found.sequence)
            return Malformed("stale") if repeated else found
        word = session.meet(found, piece)
        if word == SESSION and found.echo in self._times and now - found.echo <= self.timeout:
            return found
        if word in (SESSION, HELLO):
            self._newest, self.greeted = (found.time, now), True
            word = NO_SESSION if word == HELLO else "stale"
        return Malformed(word)

    def watch(self, now: int) -> bool:
        """Return whether the other end is up. After `timeout` without a new frame it is down.

        The frames after a silence may be of another end: its sequence, clock and session begin
        anew.
        """
        if self._newest:
            newest = self._echoed if self.session and self.up else self._newest[1]
            if now - newest > self.timeout:
                self.disconnect()
        return self.up

    def disconnect(self) -> None:
        """Mark the other end as down, when the port has closed or the end is silent."""
        if self.up:
            self.statistics.outages += 1
            self.statistics.forget_arrival()
        self.up = self.safe = self._compact = False
        self._newest, self._echoed = None, 0
        for part in (self.framing, self.sequence, self.clock, self.session):
            if part:
                part.restart()

    @property
    def has_echoed(self) -> bool:
        """Return whether the other end has echoed anything since it came up."""
        return self._echoed > 0

    def unverified_reason(self, before: Counter[str] | None = None) -> str:
        """Return why what arrives is not accepted, and what to do; empty if nothing malformed
        arrived since the counts were those of `before`.
        """
        # a copy, as another thread receives meanwhile
        malformed = Counter(self.statistics.malformed) - (before or Counter())
        if malformed["version"]:
            has = "no key" if self.session else "a key"
            return f"frames come of an end that has {has}; give both ends the same key, or none"
        if malformed["tag"]:
            return "frames come that this end's key does not verify; give both ends the same key"
        if malformed.total():
            return (
                "bytes come that are no frames; does the board send at the same baud rate, with 8 "
                "data bits, no parity, 1 stop bit?"
            )
        return ""

    def age(self, frame: Frame, now: int) -> float | None:
        """Return how long ago [ns] the frame was sent; None while the clock offset is unknown."""
        return now - self.clock.ours(frame.time) if self.clock.is_known else None

    def figures(self) -> dict[str, float]:
        """Return the statistics of the wire by name: counts, and milliseconds."""
        counts, sequence, clock = self.statistics, self.sequence, self.clock
        values: dict[str, float] = {
            "accepted": counts.accepted.total(),
            "lost": sequence.lost,
            "loss_percent": 100.0 * sequence.loss,
            "reordered": sequence.reordered,
            "duplicates": sequence.duplicates,
            "strays": sequence.strays,
            "outages": counts.outages,
            "held_back": counts.held_back,
            "clock_leaps": counts.clock_leaps,
            "false_echoes": counts.false_echoes,
        }
        values |= {f"malformed, {why}": count for why, count in sorted(counts.malformed.items())}
        for name in ("age", "jitter", "delay"):
            found = percentiles(getattr(counts, f"{name}s"))
            values |= {f"{name}_{which}_ms": 1e-6 * value for which, value in found.items()}
        values["clock_drift_ppm"] = 1e6 * clock.drift
        values["clock_uncertainty_ms"] = 1e-6 * clock.uncertainty
        return values

    def reset_statistics(self) -> None:
        """Reset the counts to zero; the clocks and the numbering go on."""
        self.statistics.reset()
        self.sequence.reset_counts()

    def _accept(self, frame: Frame, now: int) -> None:
        if self._newest and (
            frame.time < self._newest[0] - SLACK or self.clock.is_ahead(frame.time, now)
        ):
            self._restart_clock(now)
        self._newest = (frame.time, now)
        self._since = self._since if self.up else now
        self.up, self.safe = True, bool(frame.flags & SAFE)
        self._compact = bool(frame.flags & WANTS_COMPACT)
        if frame.echo:
            self._take_echo(frame, now)
        self.statistics.count_arrival(frame.kind, frame.time, now, self.age(frame, now))

    def _take_echo(self, frame: Frame, now: int) -> None:
        """Add a round trip, if the echo names a frame that was sent, and none older than the last
        echo.
        """
        if frame.echo not in self._times or frame.echo < self._echoed:
            self.statistics.false_echoes += 1
            return
        self._echoed = frame.echo
        if frame.held == LONGEST_HELD:
            return
        exchange = (frame.echo, frame.time - frame.held, frame.time, now)
        if self.clock.contradicts(*exchange):
            self._restart_clock(now)
        if frame.echo <= self._leap:
            return
        delay = self.clock.add(*exchange)
        if delay is None:
            self.statistics.false_echoes += 1
        else:
            self.statistics.delays.append(delay)

    def _restart_clock(self, now: int) -> None:
        """Forget the other end's clock, which was set, and estimate it from the frames that are
        sent from now on.
        """
        self.clock.restart()
        self._leap = now
        self.statistics.clock_leaps += 1
        self.statistics.forget_arrival()
