"""The last seconds, in a ring that is allocated once."""

import numpy as np

from rbdyn_ros.types import Array

COLUMNS = 13  # q (6), v (5), force (2)


class History:
    """The newest `rows` ticks: stamp [ns], q (6,), v (5,), applied cart force (2,)."""

    def __init__(self, rows: int):
        self._stamps, self._rows, self._count = np.zeros(rows, np.int64), np.zeros((rows, COLUMNS)), 0

    def append(self, stamp: int, q: Array, v: Array, force: Array) -> None:
        """Add a tick; the oldest one goes."""
        i = self._count % len(self._stamps)
        self._stamps[i] = stamp
        row = self._rows[i]
        row[:6], row[6:11], row[11:] = q, v, force
        self._count += 1

    def read(self) -> tuple:
        """(stamps (n,), rows (n, 13)), a copy, oldest first."""
        n = min(self._count, len(self._stamps))
        order = np.arange(self._count - n, self._count) % len(self._stamps)
        return self._stamps[order], self._rows[order]
