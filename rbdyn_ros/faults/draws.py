"""Random numbers that belong to one fault: what another one draws does not shift them."""

from collections.abc import Callable
from typing import Any
from zlib import crc32

import numpy as np

from rbdyn_ros.types import Array


def draws(seed: int, name: str) -> np.random.Generator:
    """The stream of `name` under a seed >= 0; another name, or another seed, gives an independent
    one.
    """
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(crc32(name.encode()),)))


def refill(block: Array, used: int, draw: Callable[[tuple[int, int]], Array]) -> None:
    """Move the rows of a block that are left to its begin, and draw as many as were used.

    Kernels read their random numbers there: they are those of the stream, in its order.
    """
    if used:
        left = len(block) - used
        block[:left] = block[used:].copy()
        block[left:] = draw((used, block.shape[1]))


class Counts:
    """Reads what a kernel has counted: the first of `state.numbers`, which `COUNTED` names."""

    COUNTED: tuple[str, ...] = ()
    state: Any

    def reset_counts(self) -> None:
        """Count from zero."""
        self.state.numbers[: len(self.COUNTED)] = 0

    @property
    def counts(self) -> dict[str, int]:
        """The counts by their names."""
        return dict(zip(self.COUNTED, self.state.numbers.tolist()))
