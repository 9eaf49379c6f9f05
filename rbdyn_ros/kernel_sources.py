"""Where kernels may come from, for those who may not wait for a compiler; imports none."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

MEMORY, CACHE, COMPILER = range(3)
allowed = ContextVar("allowed", default=COMPILER)


class KernelMissing(BaseException):
    """A kernel is not where `only_from` allows; no `except Exception` of a law hides that."""


@contextmanager
def only_from(source: int) -> Iterator[None]:
    """Raise KernelMissing in this block and thread for kernels that are not there."""
    token = allowed.set(source)
    try:
        yield
    finally:
        allowed.reset(token)
