"""A control loop as a third party measures it: the period of the states, the age of the commands
and the losses; and the verdict of a monitor on them: fine, a warning, an error, each with the
number and its limit. It does not depend on ROS.

A state is identified by its stamp, and a command by the stamp of the state that it answers.
Instants are those at which the middleware received a message here, so a round trip is from a
state's arrival to its answer's, both at the observer; or those at which it was sent, where all
clocks are one.

The trend of a figure over a run of any length is kept in a fixed number of slots: where they are
full, pairs are merged. Percentiles are those of a histogram with bins of equal ratio, whose size
in memory is constant.
"""

import math
from collections import Counter, deque
from statistics import median_low
from typing import Any, NamedTuple

import numpy as np

LOWEST, HIGHEST = 1e-6, 1e3  # [s] below and above there is one bin each
PER_DECADE = 100  # a bin is 2.3 % wide, so a percentile is within 1.2 %
_BINS = round(math.log10(HIGHEST / LOWEST)) * PER_DECADE


class Histogram:
    """A histogram of times >= 0 [s]; smallest, largest and mean are exact."""

    def __init__(self):
        self.counts = np.zeros(_BINS + 2, np.int64)
        self.clear()

    def clear(self) -> None:
        """Set all counts to zero."""
        self.counts[:] = 0
        self.total, self.least, self.most, self._sum = 0, math.inf, 0.0, 0.0

    def add(self, value: float) -> None:
        """Count one value [s]."""
        self.counts[_bin(value)] += 1
        self.total += 1
        self._sum += value
        self.least, self.most = min(self.least, value), max(self.most, value)

    @property
    def mean(self) -> float:
        """The mean [s], nan before the first value."""
        return self._sum / self.total if self.total else math.nan

    def percentile(self, percent: float) -> float:
        """Return the time that `percent` [0..100] of all values do not exceed, the middle of its
        bin; nan before the first value.
        """
        if not self.total:
            return math.nan
        rank = max(1, math.ceil(1e-2 * percent * self.total))
        i = int(np.searchsorted(np.cumsum(self.counts), rank))
        return min(max(_middle(i), self.least), self.most)

    def curve(self) -> tuple[np.ndarray, np.ndarray]:
        """Return (time [s], share of all values that do not exceed it) over the bins that are not
        empty, for a plot.
        """
        used = np.flatnonzero(self.counts)
        shares = np.cumsum(self.counts)[used] / max(1, self.total)
        times = [min(max(_middle(i), self.least), self.most) for i in used.tolist()]
        return np.array(times), shares


def _bin(value: float) -> int:
    if value < LOWEST:
        return 0
    return 1 + min(_BINS, int(PER_DECADE * math.log10(value / LOWEST)))


def _middle(i: int) -> float:
    """Return the middle of bin i [s], 0 of the first bin and inf of the last: both are clipped to
    the values that occurred.
    """
    if i == 0:
        return 0.0
    return LOWEST * 10.0 ** ((i - 0.5) / PER_DECADE) if i <= _BINS else math.inf


SLOTS = 512


class Slot(NamedTuple):
    """The values between `begin` and the next slot."""

    begin: float  # [s]
    count: int
    mean: float
    most: float


class Trend:
    """Mean and maximum per slot; a slot is `width` [s] long, and its width doubles when the slots
    are full.
    """

    def __init__(self):
        self.width, self.slots = 1.0, []

    def add(self, t: float, value: float) -> None:
        """Add a value at the time t [s] >= 0, not before the newest slot."""
        self._put(Slot(t, 1, value, value))
        if len(self.slots) > SLOTS:
            self.width *= 2.0
            slots, self.slots = self.slots, []
            for slot in slots:
                self._put(slot)

    def _put(self, slot: Slot) -> None:
        """Merge a slot into the newest one if both begin at the same time, else append it."""
        begin = math.floor(slot.begin / self.width) * self.width
        if self.slots and begin <= self.slots[-1].begin:
            self.slots[-1] = merge(self.slots[-1], slot)
        else:
            self.slots.append(slot._replace(begin=begin))


def merge(first: Slot, second: Slot) -> Slot:
    """Return two slots merged into one."""
    count = first.count + second.count
    mean = first.mean + (second.mean - first.mean) * second.count / count
    return Slot(first.begin, count, mean, max(first.most, second.most))


KEPT = 1024  # states whose answer may still come
STEPS = 101  # of the stamps, over which the usual one is taken
RESTART = 1_000_000_000  # [ns] a stamp older by more than this belongs to another run


class Figure(NamedTuple):
    """One measured time: over the whole run, over the newest window, and its trend."""

    run: Histogram
    window: Histogram
    trend: Trend

    def add(self, t: float, value: float) -> None:
        """Add a value [s] at the time t [s] since the end of the warm-up."""
        self.run.add(value)
        self.window.add(value)
        self.trend.add(t, value)


class Latency:
    """Counter of states and commands; those within `warm_up` [s] of the first state are counted
    separately.
    """

    def __init__(self, warm_up: float):
        self.period, self.age, self.round_trip = figures = tuple(
            Figure(Histogram(), Histogram(), Trend()) for _ in range(3)
        )
        self.figures = dict(zip(("period", "age", "round_trip"), figures))
        self.counts, self.window = Counter(), Counter()
        self._warm_up = round(warm_up * 1e9)
        self._first: int | None = None  # [ns] arrival of the first state
        # [ns] of the newest state
        self._stamp: int | None = None
        self._arrived: int | None = None
        self._steps: deque[int] = deque(maxlen=STEPS)  # [ns] of the stamps
        self._open: dict[int, int] = {}  # stamp -> arrival of states that wait for their answer

    @property
    def tick(self) -> float:
        """The usual step from one state's stamp to the next [s]; 0 before the second state."""
        return median_low(self._steps) * 1e-9 if self._steps else 0.0

    def add_state(self, stamp: int, arrived: int) -> None:
        """Count a state with that stamp [ns], which arrived at the instant `arrived` [ns]."""
        self._first = arrived if self._first is None else self._first
        if self._stamp is not None and stamp <= self._stamp:
            self._handle_old_stamp(stamp, self._stamp)
            return
        if self._stamp is not None:
            self._advance(stamp - self._stamp, arrived)
        self._count("states" if self._is_warm(arrived) else "warm_up")
        self._stamp, self._arrived = stamp, arrived
        self._open[stamp] = arrived
        if len(self._open) > KEPT:
            self._open.pop(next(iter(self._open)))

    def add_command(self, stamp: int, arrived: int) -> None:
        """Count a command that answers the state with that stamp [ns], zero for a command without
        a stamp.
        """
        self._count("commands" if self._is_warm(arrived) else "warm_up")
        if stamp == 0:
            self._count("unstamped")
        elif self._stamp is not None and stamp <= self._stamp:
            self._add(self.age, arrived, (self._stamp - stamp) * 1e-9)
            self._count_answer(stamp, arrived)

    def turn_window(self) -> Counter:
        """Begin another window and return the counts of the previous one."""
        for figure in self.figures.values():
            figure.window.clear()
        ended, self.window = self.window, Counter()
        return ended

    def _handle_old_stamp(self, stamp: int, newest: int) -> None:
        """Handle a stamp that is not newer: time is paused and the state is sent again, or a new
        run has begun, or messages have overtaken each other.
        """
        if stamp == newest:
            self._arrived = None  # the time until the next one is no period
        elif newest - stamp > RESTART:
            self._count("restarts")
            self._stamp, self._arrived = stamp, None
            self._open.clear()
        else:
            self._count("out_of_order")

    def _advance(self, step: int, arrived: int) -> None:
        self._steps.append(step)
        if self._is_warm(arrived):
            self._count("lost", max(0, round(step / median_low(self._steps)) - 1))
        if self._arrived is None:
            return
        if arrived < self._arrived:
            # the system's clock was set back: the warm-up's end moves with it
            self._count("clock_jumps")
            if self._first is not None:
                self._first += arrived - self._arrived
        else:
            self._add(self.period, arrived, (arrived - self._arrived) * 1e-9)

    def _count_answer(self, stamp: int, arrived: int) -> None:
        sent = self._open.pop(stamp, None)
        if sent is not None and self._is_warm(sent):
            self._count("answered")
            self._add(self.round_trip, arrived, max(0, arrived - sent) * 1e-9)

    def _count(self, what: str, number: int = 1) -> None:
        self.counts[what] += number
        self.window[what] += number

    def _add(self, figure: Figure, arrived: int, value: float) -> None:
        if self._first is not None and self._is_warm(arrived):
            figure.add((arrived - self._first - self._warm_up) * 1e-9, value)

    def _is_warm(self, arrived: int) -> bool:
        return self._first is not None and arrived - self._first >= self._warm_up


FINE, WARNING, WRONG = 0, 1, 2
_LEVELS = (("error", WRONG), ("warn", WARNING))


def find_alarms(
    latency: Latency, counts: Counter, values: dict[str, Any], window: bool = True
) -> list[tuple[int, str]]:
    """Return [(level, sentence)] of the figures beyond their limits in `values`
    ("monitor.warn.age", ...), in the newest window or over the run.

    `counts` are those of the same time. Where a figure is beyond both limits, only the error is
    returned.
    """
    found = []
    for name, value, said in _measure(latency, counts, window):
        for level, rank in _LEVELS:
            limit = values[f"monitor.{level}.{name}"]
            if value > limit:
                found.append((rank, f"{said}; the limit is {_format_limit(name, limit)}"))
                break
    return found


def loss(counts: Counter) -> float:
    """Return the share of the states that did not arrive."""
    sent = counts["states"] + counts["lost"]
    return counts["lost"] / sent if sent else 0.0


def unanswered_share(counts: Counter) -> float:
    """Return the share of the states that arrived here without a command in answer."""
    states = counts["states"]
    return max(0, states - counts["answered"]) / states if states else 0.0


def _measure(latency: Latency, counts: Counter, window: bool) -> list:
    """Return rows (name of the limit, value, sentence); a value that is not measured yet is nan,
    which exceeds no limit.
    """
    figures = [figure.window if window else figure.run for figure in latency.figures.values()]
    period, late, trip = (figure.percentile(99) for figure in figures)
    median = figures[0].percentile(50)
    ratio, usual = period / median if figures[0].total else 0.0, f"{1e3 * median:.3g}"
    return [
        ("period_ratio", ratio, f"the period's p99 is {ratio:.1f} times its median of {usual} ms"),
        ("age", late, f"the commands' age has a p99 of {1e3 * late:.3g} ms"),
        ("round_trip", trip, f"the round trip has a p99 of {1e3 * trip:.3g} ms"),
        ("loss", loss(counts), f"{100.0 * loss(counts):.3g} % of the states did not arrive"),
        (
            "unanswered",
            unanswered_share(counts),
            f"{100.0 * unanswered_share(counts):.3g} % of the states had no command",
        ),
    ]


def _format_limit(name: str, limit: float) -> str:
    if name in ("age", "round_trip"):
        return f"{1e3 * limit:g} ms"
    return f"{100.0 * limit:g} %" if name in ("loss", "unanswered") else f"{limit:g}"
