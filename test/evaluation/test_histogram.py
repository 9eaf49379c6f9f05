"""The histogram's percentiles against NumPy's, and its edges."""

import math

import numpy as np
import pytest

from rbdyn_ros.evaluation.latency import HIGHEST, LOWEST, Histogram


@pytest.mark.parametrize("scale", [1e-4, 1e-2, 1.0])
def test_percentiles_are_within_a_bin_of_the_exact_ones(scale):
    values = scale * np.random.default_rng(1).lognormal(sigma=1.0, size=20000)
    histogram = Histogram()
    for value in values.tolist():
        histogram.add(value)
    for percent in (1.0, 50.0, 90.0, 99.0, 99.9):
        exact = np.percentile(values, percent, method="inverted_cdf")
        assert histogram.percentile(percent) == pytest.approx(exact, rel=0.012)
    assert (histogram.least, histogram.most) == (values.min(), values.max())
    assert histogram.mean == pytest.approx(values.mean(), rel=1e-12)
    assert histogram.total == histogram.counts.sum() == len(values)


def test_zero_and_what_is_beyond_the_bins_is_counted():
    histogram = Histogram()
    for value in (0.0, 0.1 * LOWEST, 10.0 * HIGHEST):
        histogram.add(value)
    assert histogram.percentile(50) == 0.0 and histogram.percentile(100) == 10.0 * HIGHEST
    times, shares = histogram.curve()
    assert times.tolist() == [0.0, 10.0 * HIGHEST] and shares.tolist() == [
        pytest.approx(2 / 3),
        1.0,
    ]


def test_the_smallest_percentile_is_the_smallest_value_and_one_value_is_every_percentile():
    histogram = Histogram()
    histogram.add(0.0123)
    assert {histogram.percentile(percent) for percent in (0.0, 50.0, 100.0)} == {0.0123}


def test_before_the_first_value_there_is_nothing():
    histogram = Histogram()
    assert (
        math.isnan(histogram.percentile(50))
        and math.isnan(histogram.mean)
        and len(histogram.curve()[0]) == 0
    )
    histogram.add(1.0)
    histogram.clear()
    assert math.isnan(histogram.percentile(50)) and histogram.counts.sum() == 0
