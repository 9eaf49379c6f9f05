"""The last seconds, in a ring that is allocated once."""

from struct import Struct

import numpy as np

_ROW = Struct("=q6d5d2d")
_AS_ARRAY = np.dtype([("stamp", "=i8"), ("numbers", "=f8", 13)])


class History:
    """The newest `rows` ticks: stamp [ns], q (6), v (5), applied cart force (2)."""

    def __init__(self, rows: int):
        self._rows, self._bytes, self._count = rows, bytearray(rows * _ROW.size), 0
        self._memory = tuple(
            np.frombuffer(self._bytes, kind).reshape(rows, 14) for kind in (np.int64, float)
        )

    @property
    def memory(self) -> tuple:
        """(whole numbers (rows, 14), doubles (rows, 14), row): the same memory twice, and which row of it is next."""
        return *self._memory, self._count % self._rows

    def passed(self, ticks: int) -> None:
        """So many ticks were written into `memory`."""
        self._count += ticks

    def append(self, stamp: int, q: list, v: list, force: tuple) -> None:
        """Add a tick; the oldest one goes."""
        _ROW.pack_into(self._bytes, self._count % self._rows * _ROW.size, stamp, *q, *v, *force)
        self._count += 1

    def read(self) -> tuple:
        """(stamps (n,), rows (n, 13)), a copy, oldest first."""
        n = min(self._count, self._rows)
        rows = np.frombuffer(bytes(self._bytes), _AS_ARRAY)[
            np.arange(self._count - n, self._count) % self._rows
        ]
        return rows["stamp"].copy(), rows["numbers"].copy()
