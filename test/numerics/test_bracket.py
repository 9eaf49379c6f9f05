"""The bracket of the instant at which a gap closes."""

import numpy as np
import pytest

from rbdyn_ros.numerics import bracket


def instant(gap, low, high):
    """(where the gap closes, trials) by trials until the bracket is as narrow as round-off."""
    b = bracket.between(low, high, max(gap(low), 0.0), gap(high))
    for k in range(bracket.TRIALS):
        at = bracket.trial(b, k)
        assert b.open < at < b.closed
        b = bracket.narrow(b, at, gap(at))
        if gap(at) == 0.0 or b.closed - b.open < 1e-13:
            return b.open, k
    raise AssertionError("the bracket does not close")


@pytest.mark.parametrize("root", [0.3, 1e-4, 1.0 - 1e-4])
def test_a_smooth_gap_takes_few_trials(root):
    at, trials = instant(lambda s: (root - s) * (1.0 + 0.5 * s), 0.0, 1.0)
    assert at == pytest.approx(root, abs=1e-12) and trials < 25


@pytest.mark.parametrize("rise", [0.7, 1e-2, 1e-5])
def test_a_rebound_is_a_parabola_that_a_few_trials_find(rise):
    b = bracket.between(0.0, 1.0, 1e-16, rise - 1.0)
    for k in range(9):
        at = bracket.trial(b, k)
        gap = at * (rise - at)
        if 0.0 <= gap < 1e-15 and at > 0.1 * rise:
            break
        b = bracket.narrow(b, at, gap)
    assert at == pytest.approx(rise, rel=1e-9)


@pytest.mark.parametrize(
    "gap", [lambda s: 1.0 if s < 0.7 else -1e-9, lambda s: 1e-9 if s < 0.7 else -1.0]
)
def test_a_gap_that_jumps_is_halved(gap):
    at, trials = instant(gap, 0.0, 1.0)
    assert at == pytest.approx(0.7, abs=1e-12) and trials < bracket.TRIALS


def test_a_gap_that_is_closed_at_the_start_opens_within():
    at, _ = instant(lambda s: np.sin(7.0 * s) - 1e-14, 0.0, 0.8)
    assert at == pytest.approx(np.pi / 7.0, abs=1e-12)
