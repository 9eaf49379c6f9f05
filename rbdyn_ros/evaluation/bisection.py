"""Where it stops to hold: bisection over one number. It takes for granted that there is one such place."""

from typing import Callable, NamedTuple


class Edge(NamedTuple):
    """The largest number that was seen to hold, and all that were tried."""

    holds: float
    at_limit: bool  # even the largest that may be asked for holds
    tried: list
    outcomes: list  # 1 held, 0 did not


def edge(holds: Callable[[float], bool], largest: float, tolerance: float, near: float | None = None) -> Edge:
    """The largest x in [0, largest], to the tolerance, for which `holds(x)`; 0 counts as holding.

    `near` is a guess: if the edge is within eight tolerances of it, few questions find it.
    """
    tried, outcomes = [], []

    def ask(x: float) -> bool:
        tried.append(round(float(x), 9))
        outcomes.append(int(holds(x)))
        return bool(outcomes[-1])

    low, high = _bracket(ask, largest, 8.0 * tolerance, near)
    while high - low > tolerance:
        middle = 0.5 * (low + high)
        low, high = (middle, high) if ask(middle) else (low, middle)
    return Edge(low, low == largest, tried, outcomes)


def _bracket(ask: Callable, largest: float, reach: float, near: float | None) -> tuple:
    """(low, high): low holds, high does not, or both are the largest."""
    low, high = 0.0, largest
    if near is not None:
        below, above = max(0.0, near - reach), min(largest, near + reach)
        if ask(below):
            low = below
            if above < largest and not ask(above):
                return low, above
        else:
            return low, below
    return (high, high) if ask(high) else (low, high)
