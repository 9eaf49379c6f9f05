"""How a figure goes over a run of any length, in a fixed number of slots: where they are full,
pairs become one.
"""

import math
from typing import NamedTuple

SLOTS = 512


class Slot(NamedTuple):
    """What happened between `begin` and the next slot."""

    begin: float  # [s]
    count: int
    mean: float
    most: float


class Trend:
    """Mean and maximum per slot; a slot is `width` [s] long, and grows."""

    def __init__(self, width: float = 1.0):
        self.width, self.slots = width, []

    def add(self, t: float, value: float) -> None:
        """A value at the time t [s] >= 0, not before the newest slot."""
        begin = math.floor(t / self.width) * self.width
        if self.slots and begin <= self.slots[-1].begin:
            self.slots[-1] = merged(self.slots[-1], Slot(begin, 1, value, value))
            return
        self.slots.append(Slot(begin, 1, value, value))
        if len(self.slots) > SLOTS:
            self._halve()

    def _halve(self) -> None:
        self.width *= 2.0
        halved = []
        for slot in self.slots:
            begin = math.floor(slot.begin / self.width) * self.width
            if halved and halved[-1].begin == begin:
                halved[-1] = merged(halved[-1], slot)
            else:
                halved.append(slot._replace(begin=begin))
        self.slots = halved


def merged(first: Slot, second: Slot) -> Slot:
    """Two slots as one."""
    count = first.count + second.count
    mean = first.mean + (second.mean - first.mean) * second.count / count
    return Slot(first.begin, count, mean, max(first.most, second.most))
