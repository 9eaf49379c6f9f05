"""A wrench on the rod that acts for a while: a push."""

import math

import numpy as np

from rbdyn_ros.types import Array


class Disturbance:
    """The newest push and its end; zero before and after. A new push replaces the one before."""

    def __init__(self):
        self._wrench, self._end = np.zeros(9), 0

    def push(self, wrench: Array, end: int) -> None:
        """Let a wrench (9,) (see `types.Input`) act until the simulated time `end` [ns]."""
        self._wrench, self._end = wrench, end

    @property
    def acts(self) -> bool:
        """Whether there is a push whose end was not seen."""
        return self._end > 0

    def at(self, stamp: int) -> Array:
        """What acts from the simulated time `stamp` [ns] on, (9,)."""
        if self._end and stamp >= self._end:
            self._wrench, self._end = np.zeros(9), 0
        return self._wrench


def towards(target: tuple, point: tuple, force: float) -> tuple:
    """A force of size `force` [N] from `point` towards `target` (3,), zero if they are the same."""
    d = tuple(a - b for a, b in zip(target, point))
    distance = math.sqrt(sum(c * c for c in d))
    return tuple(force * c / distance for c in d) if distance > 0.0 else (0.0, 0.0, 0.0)
