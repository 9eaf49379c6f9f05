"""A histogram of times with bins of equal ratio: percentiles of a run of any length in memory of
one size.
"""

import math

import numpy as np

LOWEST, HIGHEST = 1e-6, 1e3  # [s] below and above there is one bin each
PER_DECADE = 100  # a bin is 2.3 % wide, so a percentile is within 1.2 %
_BINS = round(math.log10(HIGHEST / LOWEST)) * PER_DECADE


class Histogram:
    """Counts times >= 0 [s]; smallest, largest and mean are exact."""

    def __init__(self):
        self.counts = np.zeros(_BINS + 2, np.int64)
        self.clear()

    def clear(self) -> None:
        """Count from zero."""
        self.counts[:] = 0
        self.total, self.least, self.most, self._sum = 0, math.inf, 0.0, 0.0

    def add(self, value: float) -> None:
        """Count one."""
        self.counts[_bin(value)] += 1
        self.total += 1
        self._sum += value
        self.least, self.most = min(self.least, value), max(self.most, value)

    @property
    def mean(self) -> float:
        """nan before the first."""
        return self._sum / self.total if self.total else math.nan

    def percentile(self, percent: float) -> float:
        """The time that `percent` [0..100] of all do not exceed, the middle of its bin; nan before
        the first.
        """
        if not self.total:
            return math.nan
        rank = max(1, math.ceil(1e-2 * percent * self.total))
        i = int(np.searchsorted(np.cumsum(self.counts), rank))
        return min(max(_middle(i), self.least), self.most)

    def curve(self) -> tuple[np.ndarray, np.ndarray]:
        """(time [s], share of all that do not exceed it), over the bins that are not empty: what
        to plot.
        """
        used = np.flatnonzero(self.counts)
        shares = np.cumsum(self.counts)[used] / max(1, self.total)
        return np.array(
            [min(max(_middle(i), self.least), self.most) for i in used.tolist()]
        ), shares


def _bin(value: float) -> int:
    if value < LOWEST:
        return 0
    return 1 + min(_BINS, int(PER_DECADE * math.log10(value / LOWEST)))


def _middle(i: int) -> float:
    """Of a bin; the first one ends at LOWEST, the last one begins at HIGHEST: both are cut by what
    was seen.
    """
    if i == 0:
        return 0.0
    return LOWEST * 10.0 ** ((i - 0.5) / PER_DECADE) if i <= _BINS else math.inf
