"""The numbers of a sample depend on its number alone, and are distributed as they should be."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rbdyn_ros.evaluation.campaigns.plan import (
    Axis,
    CampaignPlan,
    Draw,
    integers,
    numbers,
    uniform,
)

DRAWN = (
    Draw("a", "uniform", (2.0, 3.0)),
    Draw("b", "normal", (1.0, 0.5)),
    Draw("c", "choice", ("x", "y", "z")),
)
PLAN = CampaignPlan((), (Axis("p", (1.0, 2.0)), Axis("q", ("u", "v", "w"))), DRAWN, 4, 5)


def test_the_last_axis_is_the_fastest_and_each_point_has_its_draws():
    columns = numbers(PLAN, 0, PLAN.size)
    assert columns["p"].tolist() == [1.0] * 12 + [2.0] * 12
    assert columns["q"].tolist() == (["u"] * 4 + ["v"] * 4 + ["w"] * 4) * 2
    assert list(columns) == ["p", "q", "a", "b", "c"]


@given(st.integers(0, 23), st.integers(0, 23))
def test_a_batch_is_a_part_of_the_whole(a, b):
    begin, end = min(a, b), max(a, b) + 1
    whole, part = numbers(PLAN, 0, PLAN.size), numbers(PLAN, begin, end)
    for name in whole:
        assert part[name].tobytes() == whole[name][begin:end].tobytes()


@pytest.mark.parametrize("begin", (0, 1, 2, 3, 4, 1001))
def test_streams_are_counted(begin):
    np.testing.assert_array_equal(
        integers(7, "a", begin, begin + 9), integers(7, "a", 0, begin + 9)[begin:]
    )


def test_names_and_seeds_have_streams_of_their_own():
    streams = [uniform(seed, name, 0, 5).tolist() for seed in (0, 1, 2**62) for name in ("a", "b")]
    assert len({tuple(stream) for stream in streams}) == 6


def test_distributions():
    from scipy import stats  # takes half a second, in each process that collects the tests

    plan = CampaignPlan((), (), DRAWN, 20000, 1)
    columns = numbers(plan, 0, plan.size)
    assert stats.kstest(columns["a"], stats.uniform(2.0, 1.0).cdf).pvalue > 0.01
    assert stats.kstest(columns["b"], stats.norm(1.0, 0.5).cdf).pvalue > 0.01
    assert stats.chisquare(np.unique(columns["c"], return_counts=True)[1]).pvalue > 0.01
    assert abs(np.corrcoef(columns["a"], columns["b"])[0, 1]) < 0.03
