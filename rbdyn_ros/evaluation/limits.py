"""The time and the memory that the code of a law may take outside its commands."""

import resource
from collections.abc import Iterator
from contextlib import contextmanager

import psutil

from rbdyn_ros.interrupts import CallTimedOut, CallTimeout

LONGEST = 120.0  # [s] for loading, designing or resetting a law, which may compile


@contextmanager
def limit_time(what: str, seconds: float | None = None) -> Iterator[None]:
    """End the block between one and two times `seconds` (None: `LONGEST`). TimeoutError, in a
    sentence that begins with `what`.
    """
    seconds = LONGEST if seconds is None else seconds
    with CallTimeout(seconds) as calls:
        calls.edges += 1
        try:
            yield
        except CallTimedOut:
            raise TimeoutError(f"{what} took longer than {seconds:g} s") from None
        finally:
            calls.edges += 1


@contextmanager
def limit_memory() -> Iterator[None]:
    """Let an allocation in the block fail beyond a quarter of the machine's memory, so that a law
    that takes memory without end leaves the machine some.
    """
    limit = psutil.virtual_memory().total // 4
    soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
    if soft == resource.RLIM_INFINITY or soft > limit:
        resource.setrlimit(resource.RLIMIT_DATA, (limit, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))
