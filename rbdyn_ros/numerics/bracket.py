"""Numbers that are found between two others: the instant at which a gap closes, between one where
it is open and one where it overlaps, and the edge of a condition.

The parabola through both ends and the one that the last trial replaced (Muller's method), for gaps
of bodies that fall or have just rebounded are nearly parabolas; a line for the first trial. Every
fourth trial halves the bracket, for gaps that jump or stay small, and every one does after
`INTERPOLATIONS` of them, or where the gap is not open at the start.

The edge of a condition is found by bisection, which assumes that the condition holds below it and
not above it.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

from rbdyn_ros.kernel import inlined

TRIALS, INTERPOLATIONS = 100, 30
_INSIDE = 1e-3  # of the bracket: no trial is nearer to its ends


class Bracket(NamedTuple):
    """The instants between which the gap closes, and the gaps there."""

    open: float
    closed: float
    gap: float  # >= 0, at `open`
    overlap: float  # < 0, at `closed`
    former: float  # the end that the last trial has replaced; nan before the first
    former_gap: float


@inlined
def between(at_open, at_closed, gap, overlap):
    """Return the Bracket of two instants and their gaps, before the first trial."""
    return Bracket(at_open, at_closed, gap, overlap, math.nan, math.nan)


@inlined
def trial(b, k):
    """Return the instant of the k-th trial."""
    share = 0.5
    if b.gap > 0.0 and k % 4 < 3 and k < INTERPOLATIONS:
        is_first = b.former != b.former
        share = b.gap / (b.gap - b.overlap) if is_first else _root(b)
    return b.open + (b.closed - b.open) * min(max(share, _INSIDE), 1.0 - _INSIDE)


@inlined
def _root(b):
    """Return where the parabola through the three gaps is zero in the bracket, as a share of it:
    q s^2 + p s + gap = 0.
    """
    fall, width = b.overlap - b.gap, b.closed - b.open
    bend = (b.former_gap - b.gap) / (b.former - b.open) - fall / width
    q = bend / (b.former - b.closed) * width * width
    p = fall - q
    root = math.sqrt(max(p * p - 4.0 * q * b.gap, 0.0))
    return 2.0 * b.gap / (root - p) if p < 0.0 else (p + root) / (-2.0 * q)


@inlined
def narrow(b, at, gap):
    """Return the bracket after a trial has found a gap."""
    if gap >= 0.0:
        return Bracket(at, b.closed, gap, b.overlap, b.open, b.gap)
    return Bracket(b.open, at, b.gap, gap, b.closed, b.overlap)


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
