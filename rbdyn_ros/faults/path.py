"""A delay channel: items are late, lost and doubled.

Time is counted in whole steps, so that a run can be repeated.

An item that is sent at step k arrives at step

    k + round((delay + U jitter) / tick),  U uniform in [0, 1):

with jitter one can overtake another. It is lost with the probability `drop`; else, with the
probability `duplicate`, a copy follows with a U of its own. Each item takes four draws, whatever
is wrong, so one fault does not shift what happens by another.
"""

from collections import Counter
from collections.abc import Iterator
from heapq import heappop, heappush

from numpy.random import Generator

from rbdyn_ros.faults.draws import draws

BLOCK = 64  # items for which is drawn at once: to ask NumPy takes longer than all the rest


class Path:
    """A way with a memory: what has been sent and has not arrived is under way.

    `counts` has sent, arrived, dropped, duplicated, delayed (on their way for a step or more),
    reordered (read after a newer one) and outrun (arrived together with a newer one, which was
    read in its place).
    """

    def __init__(
        self,
        delay: float,
        jitter: float,
        drop: float,
        duplicate: float,
        seed: int,
        tick: float,
        name: str = "command",
    ):
        """delay, jitter [s]; drop, duplicate [0..1]; `tick` [s] is the time of a step, `name`
        chooses the stream of draws.
        """
        self._tick, self._name = tick, name
        self.counts = Counter()
        self.become(delay, jitter, drop, duplicate)
        self.restart(seed)

    def become(self, delay: float, jitter: float, drop: float, duplicate: float) -> None:
        """Go on with other numbers; what is under way keeps its time of arrival."""
        self.delay, self.jitter, self.drop, self.duplicate = delay, jitter, drop, duplicate

    def restart(self, seed: int) -> None:
        """Forget what is under way, and draw from the beginning."""
        self._draws = _in_fours(draws(seed, self._name))
        self._under_way, self._sent, self._read = [], 0, 0

    @property
    def clear(self) -> bool:
        """Whether an item that is sent now arrives now, once, and nothing older after it."""
        return not (self.delay or self.jitter or self.drop or self.duplicate or self._under_way)

    def send(self, step: int, item) -> None:
        """Let an item, which is not None, leave at a step."""
        loss, doubling, *lateness = next(self._draws)
        self._sent += 1
        self.counts["sent"] += 1
        if loss < self.drop:
            self.counts["dropped"] += 1
            return
        doubled = doubling < self.duplicate
        self.counts["duplicated"] += doubled
        for copy, U in enumerate(lateness[: 1 + doubled]):
            steps = round((self.delay + U * self.jitter) / self._tick)
            self.counts["delayed"] += steps > 0
            heappush(self._under_way, (step + steps, self._sent, copy, item))

    def arrived(self, step: int):
        """The item that arrived last since the last call, up to a step; of several in one step,
        the newest. None if none did.
        """
        item = None
        while self._under_way and self._under_way[0][0] <= step:
            self.counts["outrun"] += item is not None
            _, number, _, item = heappop(self._under_way)
            self.counts["arrived"] += 1
        if item is not None:
            self.counts["reordered"] += number < self._read
            self._read = max(self._read, number)
        return item


def _in_fours(stream: Generator) -> Iterator[list]:
    while True:
        yield from stream.random((BLOCK, 4)).tolist()
