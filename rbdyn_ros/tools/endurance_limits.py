"""What a long run has to prove: numbers with limits, the memory's slope, the loop's drift.

No ROS in it.
"""

import math
from typing import NamedTuple

import numpy as np

SETTLED = 0.3  # part of a run after which caches, rings and allocators have filled


class Check(NamedTuple):
    """One thing to be proven."""

    name: str
    value: float
    limit: float
    unit: str
    least: bool = False  # the value must be at least the limit, not at most

    @property
    def ok(self) -> bool:
        """Whether it was; a value that is not known, nan, proves nothing."""
        return self.value >= self.limit if self.least else self.value <= self.limit

    @property
    def sentence(self) -> str:
        """How it went."""
        bound = "at least" if self.least else "at most"
        return (
            f"{'ok  ' if self.ok else 'FAIL'} {self.name}: {self.value:.4g} {self.unit} ({bound} "
            f"{self.limit:g})"
        )


def count_check(name: str, number: float, least: float) -> Check:
    """The check that there are as many as there must be."""
    return Check(name, float(number), float(least), "", least=True)


class Sample(NamedTuple):
    """A look at one process and the loop."""

    t: float  # [s] since the first look
    rss: tuple  # [MiB] of each process
    threads: tuple
    files: tuple  # open descriptors
    clock: float  # [s] when the simulator said what follows
    simulated: float  # [s]
    missed: float  # periods skipped since the start
    round_trip: float  # [ms] p50 since the look before
    unanswered: float  # share of the states since the look before


def check_samples(samples: list[Sample], names: tuple[str, ...], period: float) -> list[Check]:
    """The checks of a soak: `names` of the processes, `period` [s] of a tick."""
    late = [sample for sample in samples if sample.t >= SETTLED * samples[-1].t]
    grown = {
        "threads": np.subtract(late[-1].threads, late[0].threads),
        "open files": np.subtract(late[-1].files, late[0].files),
    }
    checks = []
    for i, name in enumerate(names):
        rss = [sample.rss[i] for sample in late]
        checks += [
            Check(
                f"memory of the {name}, growth over the last {100 * (1 - SETTLED):.0f} %",
                growth(late, rss),
                1.0,
                "MiB",
            ),
            *(
                Check(f"{what} of the {name}, more at the end", float(more[i]), 0.0, "")
                for what, more in grown.items()
            ),
        ]
    return [*checks, *_loop(late, period)]


def _loop(late: list, period: float) -> list:
    """Skipped periods are counted by the simulator, so what is left over is drift."""
    first, last = late[0], late[-1]
    due = last.clock - first.clock
    drift = (
        (last.simulated - first.simulated + (last.missed - first.missed) * period) / due - 1.0
        if due
        else math.nan
    )
    trips, third = [sample.round_trip for sample in late], max(1, len(late) // 3)
    rise = float(np.nanmedian(trips[-third:]) - np.nanmedian(trips[:third]))
    return [
        Check(
            "drift of the loop, skipped periods apart",
            1e6 * abs(drift),
            100.0 + 2e6 * period / max(due, period),
            "ppm",
        ),
        Check("round trip, longer in the last third", rise, 1.0, "ms"),
    ]


def growth(samples: list[Sample], values: list[float]) -> float:
    """What a least squares line through `values` rises from the first sample to the last; nan for
    fewer than three.
    """
    t = np.array([sample.t for sample in samples])
    return float(np.polyfit(t - t[0], values, 1)[0] * (t[-1] - t[0])) if len(t) > 2 else math.nan
