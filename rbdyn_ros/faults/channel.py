"""A delay channel: items are delayed, lost and duplicated.

Time is counted in whole steps, so that a run can be repeated.

An item that is sent at step k arrives at step

    k + round((delay + U jitter) / tick),  U uniform in [0, 1):

with jitter one can overtake another. It is lost with the probability `drop`; else, with the
probability `duplicate`, a copy follows with a U of its own. Each item takes four draws, whichever
faults are set, so one fault does not change the random numbers of another.

Of several items that arrive at one step only the newest is read. So the channel is a ring of
steps: each holds how many items arrive then, and the newest of them.

Each fault has a random stream of its own, which does not depend on the draws of the others.
"""

from collections.abc import Callable
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np

from rbdyn_ros.kernel import kernel
from rbdyn_ros.types import Array


def draws(seed: int, name: str) -> np.random.Generator:
    """Return the random stream of `name` for a seed >= 0. The streams of different names or seeds
    are independent.
    """
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(crc32(name.encode()),)))


def refill(block: Array, used: int, draw: Callable[[tuple[int, int]], Array]) -> None:
    """Move the unused rows of a block to its beginning and draw as many new ones as were used.

    Kernels read their random numbers there: those of the stream, in its order.
    """
    if used:
        left = len(block) - used
        block[:left] = block[used:].copy()
        block[left:] = draw((used, block.shape[1]))


class Counts:
    """Reads the counters of a kernel: the first of `state.numbers`, which `COUNTED` names."""

    COUNTED: tuple[str, ...] = ()
    state: Any

    def reset_counts(self) -> None:
        """Reset the counts to zero."""
        self.state.numbers[: len(self.COUNTED)] = 0

    @property
    def counts(self) -> dict[str, int]:
        """The counts by their names."""
        return dict(zip(self.COUNTED, self.state.numbers.tolist()))


BLOCK = 256  # items for which numbers are drawn at once
LEAVES, ARRIVED = -2, -1  # rows of the ring: the item to send; the newest that has arrived
COUNTED = ("sent", "arrived", "dropped", "duplicated", "delayed", "reordered", "outrun")
_SENT, _ARRIVED, _DROPPED, _DUPLICATED, _DELAYED, _REORDERED, _OUTRUN = range(7)
# after the counts: draws used, number of the newest item sent, of the newest read, first step that
# has not passed, items in transit
USED, _NUMBER, _READ, _STEP, _UNDER_WAY = range(7, 12)


class ChannelState(NamedTuple):
    """A channel as arrays, for kernels."""

    options: Array  # (5,) delay, jitter [s], drop, duplicate [0..1], duration of a step [s]
    draws: Array  # (BLOCK, 4) uniform in [0, 1): loss, duplicate, delay of the item, of its copy
    numbers: Array  # (12,) the counts of COUNTED, then those that are named above
    # (n + 2, 5) step k is in row k mod n: items that arrive, the newest one's number, its two
    # whole numbers (a stamp [ns] and another), k; then the rows LEAVES and ARRIVED
    ring: Array
    items: Array  # (n + 2, m) its other numbers


@kernel
def _copy(c, source, target):
    for i in range(1, 4):
        c.ring[target, i] = c.ring[source, i]
    for i in range(c.items.shape[1]):
        c.items[target, i] = c.items[source, i]


@kernel
def send(c, step):
    """Send the item in the row LEAVES at a step; there must be a draw for it."""
    o, k, n = c.options, c.numbers, len(c.ring) - 2
    draw = k[USED]
    k[USED] += 1
    k[_NUMBER] += 1
    k[_SENT] += 1
    if c.draws[draw, 0] < o[2]:
        k[_DROPPED] += 1
        return
    copies = 2 if c.draws[draw, 1] < o[3] else 1
    k[_DUPLICATED] += copies - 1
    c.ring[n, 1] = k[_NUMBER]
    for copy in range(copies):
        steps = int(round((o[0] + c.draws[draw, 2 + copy] * o[1]) / o[4]))
        k[_DELAYED] += steps > 0
        row = (step + steps) % n
        c.ring[row, 0] += 1
        _copy(c, n, row)
        c.ring[row, 4] = step + steps
        k[_UNDER_WAY] += 1


@kernel
def receive(c, step):
    """Receive all items that are due up to a step. Return whether there was one.

    The item that arrived last, of several at one step the newest, is then in the row ARRIVED.
    """
    k, n, found = c.numbers, len(c.ring) - 2, 0
    for at in range(max(min(k[_STEP], step), step - n + 1), step + 1):
        if c.ring[at % n, 0] and c.ring[at % n, 4] <= step:
            found += c.ring[at % n, 0]
            c.ring[at % n, 0] = 0
            _copy(c, at % n, n + 1)
    k[_STEP] = step
    if not found:
        return False
    k[_ARRIVED] += found
    k[_UNDER_WAY] -= found
    k[_OUTRUN] += found - 1
    number = c.ring[n + 1, 1]
    k[_REORDERED] += number < k[_READ]
    k[_READ] = max(k[_READ], number)
    return True


class DelayChannel(Counts):
    """A channel with its state: an item that was sent and has not arrived is in transit.

    `counts` has sent, arrived, dropped, duplicated, delayed (in transit for a step or more),
    reordered (read after a newer one) and outrun (arrived together with a newer one, which was
    read in its place).
    """

    COUNTED = COUNTED

    def __init__(self, options: tuple, seed: int, tick: float, name: str, size: int):
        """Start with nothing in transit.

        `options` are delay, jitter [s], drop and duplicate [0..1]; `tick` [s] is the time of a
        step, `name` chooses the random stream, items have `size` numbers and two whole ones.
        """
        self._tick, self._name = tick, name
        none = np.zeros((2, 5), np.int64), np.zeros((2, size))
        numbers = np.zeros(12, np.int64)
        self.state = ChannelState(np.zeros(5), np.zeros((BLOCK, 4)), numbers, *none)
        self.reconfigure(*options)
        self.restart(seed)

    def reconfigure(self, delay: float, jitter: float, drop: float, duplicate: float) -> None:
        """Use other options from now on; items in transit keep their time of arrival."""
        state = self.state
        state.options[:] = delay, jitter, drop, duplicate, self._tick
        n, before = round((delay + jitter) / self._tick) + 2, len(state.ring) - 2
        if n <= before:
            return
        ring, items = np.zeros((n + 2, 5), np.int64), np.zeros((n + 2, state.items.shape[1]))
        for old in np.flatnonzero(state.ring[:before, 0]):
            new = state.ring.item(old, 4) % n
            ring[new], items[new] = state.ring[old], state.items[old]
        ring[-2:], items[-2:] = state.ring[-2:], state.items[-2:]
        self.state = state._replace(ring=ring, items=items)

    def restart(self, seed: int) -> None:
        """Discard the items in transit and restart the random stream."""
        state = self.state
        self._stream = draws(seed, self._name)
        state.ring[:], state.numbers[USED + 1 :] = 0, 0
        state.numbers[USED] = BLOCK
        self.refill()

    def refill(self) -> None:
        """Draw random numbers, so that there are enough for the next BLOCK items."""
        numbers = self.state.numbers
        refill(self.state.draws, numbers.item(USED), self._stream.random)
        numbers[USED] = 0

    @property
    def is_ready(self) -> bool:
        """Whether there is a draw for the next item."""
        return bool(self.state.numbers[USED] < BLOCK)

    @property
    def is_clear(self) -> bool:
        """Whether an item that is sent now arrives at once, exactly once, and no older one after
        it.
        """
        return not (self.state.options[:4].any() or self.state.numbers.item(_UNDER_WAY))

    def send(self, step: int, item: tuple[float, ...], stamps: tuple[int, int] = (0, 0)) -> None:
        """Send an item, with two whole numbers, at a step."""
        if not self.is_ready:
            self.refill()
        self.state.items[LEAVES], self.state.ring[LEAVES, 2:4] = item, stamps
        send(self.state, step)

    def receive(self, step: int) -> tuple[float, ...] | None:
        """Return the item that arrived last since the last call, up to a step; of several in one
        step, the newest. Return None if none arrived.
        """
        return tuple(self.state.items[ARRIVED].tolist()) if receive(self.state, step) else None
