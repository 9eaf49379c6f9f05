"""The last seconds, in a ring that is allocated once."""

from typing import NamedTuple

import numpy as np

from rbdyn_ros.types import Array


class HistoryRing(NamedTuple):
    """The newest ticks: tick k, counted from 0, is in the row k mod n: stamp [ns], q (6), v (5),
    applied cart force (2).
    """

    count: Array  # (1,) so far
    stamps: Array  # (n, 14) the rows as whole numbers; the first of each is the stamp
    rows: Array  # (n, 14) the same memory as doubles


class History:
    """Holds the newest `rows` ticks, which `simulation.tick` writes."""

    def __init__(self, rows: int):
        stamps = np.zeros((rows, 14), np.int64)
        self.ring = HistoryRing(np.zeros(1, np.int64), stamps, stamps.view(float))

    def read(self) -> tuple[Array, Array]:
        """(stamps (n,), rows (n, 13)), a copy, oldest first."""
        count, rows = self.ring.count.item(), len(self.ring.rows)
        chosen = np.arange(count - min(count, rows), count) % rows
        return self.ring.stamps[chosen, 0], self.ring.rows[chosen, 1:]
