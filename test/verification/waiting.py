"""Waiting for what a thread of its own does: generously, nothing is timed."""

import time
from collections.abc import Callable


def wait(condition: Callable, limit: float = 30.0, every: float = 0.001) -> None:
    """Until it holds, looking every so often [s]; at most `limit` [s]."""
    end = time.monotonic() + limit
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(every)
