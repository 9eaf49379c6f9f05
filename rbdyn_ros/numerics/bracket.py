"""The instant at which a gap closes, between one where it is open and one where it overlaps.

False position with halving (Illinois): where an end stays, its gap counts half, so that the other
end comes in as well. Every fourth trial halves the bracket, for gaps that jump or stay small, and
every one does after `FALSE_POSITIONS` of them, or where the gap is not open at the start.
"""

from typing import NamedTuple

from rbdyn_ros.kernel import inlined

TRIALS, FALSE_POSITIONS = 100, 30
_INSIDE = 1e-3  # of the bracket: no trial is nearer to its ends


class Bracket(NamedTuple):
    """The instants between which the gap closes, and the numbers that count as its values
    there.
    """

    open: float
    closed: float
    gap: float  # >= 0, at `open`
    overlap: float  # < 0, at `closed`
    side: float  # which end the last trial has moved: 1 the open one, -1 the other, 0 none yet


@inlined
def trial(b, k):
    """Return the instant of the k-th trial."""
    is_secant = b.gap > 0.0 and k % 4 < 3 and k < FALSE_POSITIONS
    share = b.gap / (b.gap - b.overlap) if is_secant else 0.5
    return b.open + (b.closed - b.open) * min(max(share, _INSIDE), 1.0 - _INSIDE)


@inlined
def narrow(b, at, gap):
    """Return the bracket after a trial has found a gap."""
    if gap >= 0.0:
        return Bracket(at, b.closed, gap, 0.5 * b.overlap if b.side == 1.0 else b.overlap, 1.0)
    return Bracket(b.open, at, 0.5 * b.gap if b.side == -1.0 else b.gap, gap, -1.0)
