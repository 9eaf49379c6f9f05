"""Bisection over one number for the largest one at which a condition holds.

It assumes that the condition holds below that number and not above it.
"""

from collections.abc import Callable
from typing import NamedTuple


class Edge(NamedTuple):
    """The largest number at which the condition held, and all that were tried."""

    holds: float
    at_limit: bool  # it holds even at the largest number allowed
    tried: list
    outcomes: list  # 1 held, 0 did not


def edge(
    holds: Callable[[float], bool], largest: float, tolerance: float, near: float | None = None
) -> Edge:
    """Return the largest x in [0, largest], to the tolerance, for which `holds(x)`, as an Edge; 0
    counts as holding.

    `near` is a guess: an edge there is found in two trials, one farther away in a few more.
    """
    tried, outcomes = [], []

    def is_met(x: float) -> bool:
        tried.append(round(float(x), 9))
        outcomes.append(int(holds(x)))
        return bool(outcomes[-1])

    low, high = _bracket(is_met, largest, tolerance, near)
    while high - low > (1.0 + 1e-9) * tolerance:
        middle = 0.5 * (low + high)
        low, high = (middle, high) if is_met(middle) else (low, middle)
    return Edge(low, low == largest, tried, outcomes)


def _bracket(is_met: Callable, largest: float, tolerance: float, near: float | None) -> tuple:
    """Return (low, high): low holds, high does not, or both are the largest.

    From `near` on each trial is four times as far as the last one.
    """
    if near is None:
        return (largest, largest) if is_met(largest) else (0.0, largest)
    inner, reach, upwards = near, tolerance, is_met(near)
    while True:
        outer = min(largest, near + reach) if upwards else max(0.0, near - reach)
        if outer == inner:  # an end of the range
            return inner, inner
        if (outer == 0.0 or is_met(outer)) != upwards:
            return (inner, outer) if upwards else (outer, inner)
        inner, reach = outer, 4.0 * reach
