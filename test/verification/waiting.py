"""Waiting for what a thread of its own does: generously, nothing is timed."""

import time
from collections.abc import Callable


def wait(condition: Callable, limit: float = 30.0) -> None:
    """Until it holds; at most `limit` [s]."""
    end = time.monotonic() + limit
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.001)
