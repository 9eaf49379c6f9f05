"""What a person sees when something takes longer than two seconds; before that, nothing."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Timer

_DELAY = 2.0  # [s]


@contextmanager
def bar(total: float, unit: str) -> Iterator[Callable[[float], None]]:
    """A function `show(done)` that draws a progress bar of `total` units on stderr."""
    from tqdm import tqdm  # here: the start of a program need not wait for it

    form = (
        "{percentage:3.0f} %|{bar}| {n:.4g} of {total:.4g}"
        + f" {unit} "
        + "[{elapsed} so far, {remaining} to go]"
    )
    pace = 0.1 if sys.stderr.isatty() else _DELAY  # a log file needs fewer lines
    with tqdm(
        total=total, delay=_DELAY, mininterval=pace, bar_format=form, file=sys.stderr
    ) as drawn:
        yield lambda done: drawn.update(done - drawn.n) and None


def estimate(simulated: float, duration: float, seconds: float) -> str:
    """How far a run of `duration` [s] is that has simulated so much [s] in so many seconds; one
    that settles ends earlier.
    """
    so_far = f"{max(simulated, 0.0):.2f} of {duration:g} s simulated"
    if not simulated > 0.0:
        return so_far
    minutes, rest = divmod(round(seconds * max(duration - simulated, 0.0) / simulated), 60)
    return f"{so_far}, at most {minutes}:{rest:02d} min to go in this run"


@contextmanager
def notice(sentence: str) -> Iterator[None]:
    """Print the sentence on stderr if the block has not ended after two seconds."""
    timer = Timer(_DELAY, print, (sentence,), {"file": sys.stderr, "flush": True})
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
