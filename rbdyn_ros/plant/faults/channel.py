"""A delay channel: items are delayed, lost and duplicated.

Time is counted in whole steps, so that a run can be repeated.

An item that is sent at step k arrives at step

    k + round((delay + U jitter) / tick),  U uniform in [0, 1):

with jitter one can overtake another. It is lost with the probability `drop`; else, with the
probability `duplicate`, a copy follows with a U of its own. Each item takes four draws, whichever
faults are set, so one fault does not change the random numbers of another.

Of several items that arrive at one step only the newest is read.

Each fault has a random stream of its own, which does not depend on the draws of the others.
"""

from collections.abc import Callable, Iterator
from heapq import heappop, heappush
from typing import Any
from zlib import crc32

import numpy as np

BLOCK = 256  # items for which numbers are drawn at once
COUNTED = ("sent", "arrived", "dropped", "duplicated", "delayed", "reordered", "outrun")


def draws(seed: int, name: str) -> np.random.Generator:
    """Return the random stream of `name` for a seed >= 0. The streams of different names or seeds
    are independent.
    """
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(crc32(name.encode()),)))


def rows(draw: Callable[[tuple[int, int]], np.ndarray], size: int) -> Iterator[list[float]]:
    """Yield the numbers of a random stream, `size` at a time. To draw a block takes hardly longer
    than to draw one row.
    """
    while True:
        yield from draw((BLOCK, size)).tolist()


class DelayChannel:
    """A channel with its state: an item that was sent and has not arrived is in transit.

    `counts` has sent, arrived, dropped, duplicated, delayed (in transit for a step or more),
    reordered (read after a newer one) and outrun (arrived together with a newer one, which was
    read in its place).
    """

    def __init__(
        self, options: tuple[float, float, float, float], seed: int, tick: float, name: str
    ):
        """Start with nothing in transit.

        `options` are delay, jitter [s], drop and duplicate [0..1]; `tick` [s] is the time of a
        step, `name` chooses the random stream.
        """
        self._tick, self._name = tick, name
        self.reset_counts()
        self.reconfigure(*options)
        self.restart(seed)

    def reconfigure(self, delay: float, jitter: float, drop: float, duplicate: float) -> None:
        """Use other options from now on; items in transit keep their time of arrival."""
        self._delay, self._jitter, self._drop, self._duplicate = delay, jitter, drop, duplicate

    def restart(self, seed: int) -> None:
        """Discard the items in transit and restart the random stream."""
        self._draws = rows(draws(seed, self._name).random, 4)
        self._in_transit: list[tuple[int, int, int, Any]] = []  # a heap: see `send`
        self._sent = self._read = 0  # number of the newest item that was sent, that was read

    def reset_counts(self) -> None:
        """Reset the counts to zero."""
        self.counts = dict.fromkeys(COUNTED, 0)

    @property
    def is_clear(self) -> bool:
        """Whether an item that is sent now arrives at once, exactly once, and no older one after
        it.
        """
        faults = self._delay, self._jitter, self._drop, self._duplicate
        return not (any(faults) or self._in_transit)

    def send(self, step: int, item: Any) -> None:
        """Send an item at a step."""
        lost, doubled, late, copy_late = next(self._draws)
        self._sent += 1
        self.counts["sent"] += 1
        if lost < self._drop:
            self.counts["dropped"] += 1
            return
        self._put(step, late, 0, item)
        if doubled < self._duplicate:
            self.counts["duplicated"] += 1
            self._put(step, copy_late, 1, item)

    def _put(self, step: int, late: float, copy: int, item: Any) -> None:
        steps = round((self._delay + late * self._jitter) / self._tick)
        if steps > 0:
            self.counts["delayed"] += 1
        heappush(self._in_transit, (step + steps, self._sent, copy, item))

    def receive(self, step: int) -> Any:
        """Return the item that arrived last since the last call, up to a step; of several in one
        step, the newest. Return None if none arrived.
        """
        found, number, item, waiting = 0, 0, None, self._in_transit
        while waiting and waiting[0][0] <= step:
            _, number, _, item = heappop(waiting)
            found += 1
        if found:
            counts = self.counts
            counts["arrived"] += found
            counts["outrun"] += found - 1
            if number < self._read:
                counts["reordered"] += 1
            else:
                self._read = number
        return item
