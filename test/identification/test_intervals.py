"""Intervals of a linear fit whose errors are white, correlated in parts, or repeat."""

import numpy as np
import pytest
from scipy.special import stdtrit

from rbdyn_ros.identification import intervals

SEGMENTS, SAMPLES, CHANNELS, SPACING = 48, 50, 4, 5
LENGTH = SPACING * (SAMPLES - 1)
FIRST = 25 + LENGTH * np.arange(SEGMENTS)
PERIOD = 8  # segments


def problem(draw, repeated):
    """J (n, 3) and errors (n,), whole or repeated after `PERIOD` segments."""
    shape = (PERIOD if repeated else SEGMENTS), SAMPLES, CHANNELS
    J, errors = draw.normal(size=(*shape, 3)), draw.normal(size=shape)
    if repeated:
        J, errors = (np.concatenate([each] * (SEGMENTS // PERIOD)) for each in (J, errors))
    return J.reshape(-1, 3), errors.ravel()


@pytest.mark.parametrize("repeated", [False, True])
def test_95_percent_of_the_intervals_have_the_truth(repeated):
    draw = np.random.default_rng(4)
    covered = []
    for _ in range(100):
        J, errors = problem(draw, repeated)
        change = np.linalg.lstsq(J, errors, rcond=None)[0]
        residual = (errors - J @ change).reshape(SEGMENTS, SAMPLES, CHANNELS)
        period = intervals.repetition(residual, FIRST, SPACING)
        assert period == (PERIOD * LENGTH if repeated else 0)
        parts = intervals.parts_of(FIRST, LENGTH, SPACING, period)
        found = intervals.spread(J, residual.ravel(), np.repeat(parts, CHANNELS), 1e-6)
        covered.append(np.abs(change) < found.intervals)
    assert np.mean(covered) == pytest.approx(0.95, abs=0.03)


def test_a_gap_leaves_the_repetition_where_it_is():
    draw = np.random.default_rng(5)
    residual = np.concatenate([draw.normal(size=(PERIOD, SAMPLES, CHANNELS))] * 6)
    kept = np.delete(np.arange(SEGMENTS), [4, 5, 19, 30])
    assert intervals.repetition(residual[kept], FIRST[kept], SPACING) == PERIOD * LENGTH


def test_white_errors_have_the_deviations_of_least_squares():
    J, errors = problem(np.random.default_rng(6), repeated=False)
    clusters = np.repeat(np.arange(SEGMENTS), SAMPLES * CHANNELS)
    found = intervals.spread(J, errors, clusters, 1e-6)
    usual = np.sqrt(np.diag(np.linalg.inv(J.T @ J)))
    assert found.deviations == pytest.approx(usual, rel=0.3)
    assert found.intervals / found.deviations == pytest.approx(stdtrit(SEGMENTS - 1, 0.975))


def test_the_deviations_are_those_of_the_fits_without_a_cluster():
    J, errors = problem(np.random.default_rng(7), repeated=False)
    clusters = np.repeat(np.arange(SEGMENTS), SAMPLES * CHANNELS)
    whole = np.linalg.lstsq(J, errors, rcond=None)[0]
    without = np.array(
        [
            np.linalg.lstsq(J[clusters != c], errors[clusters != c], rcond=None)[0]
            for c in range(SEGMENTS)
        ]
    )
    wanted = np.sqrt((SEGMENTS - 1) / SEGMENTS * np.sum((without - whole) ** 2, axis=0))
    found = intervals.spread(J, errors - J @ whole, clusters, 1e-6)
    assert found.deviations == pytest.approx(wanted, rel=1e-9)


def test_what_a_direction_leaves_open_is_infinite():
    J, errors = problem(np.random.default_rng(8), repeated=False)
    J[:, 2] = 2.0 * J[:, 1]
    clusters = np.repeat(np.arange(SEGMENTS), SAMPLES * CHANNELS)
    found = intervals.spread(J, errors, clusters, 1e-6)
    assert np.isinf(found.intervals).tolist() == [False, True, True]
    assert found.weak.shape == (1, 3)


def test_white_residuals_are_white_and_others_are_not():
    white = np.random.default_rng(9).normal(size=(2000, CHANNELS))
    assert intervals.whiteness(white) > 0.01
    assert intervals.whiteness(white[1:] + white[:-1]) < 1e-6
