"""The summary counts, the interval covers, and every kind of campaign has its picture."""

import json
from collections import Counter

import numpy as np
import pytest
from matplotlib.figure import Figure

from rbdyn_ros.evaluation.campaigns import picture, store
from rbdyn_ros.evaluation.campaigns.plan import Axis, CampaignPlan, Draw
from rbdyn_ros.evaluation.campaigns.store import ABSENT, CampaignResults, interval

LAWS = Axis("controller", ("lqr", "pd"))
TILT, RATE = Axis("start.tilt", (-10.0, 0.0, 10.0)), Axis("start.rate", (0.0, 1.0, 4.0, 5.0))
MASS = Draw("rod.mass", "uniform", (0.5, 2.0))


def made(axes: tuple, drawn: tuple = (), draws: int = 1) -> CampaignResults:
    """Results in which all ends occur."""
    plan = CampaignPlan(
        (("controller", "lqr"),) if LAWS not in axes else (), axes, drawn, draws, 0
    )
    rng = np.random.default_rng(1)
    ended = rng.integers(0, 5, plan.size).astype(np.uint8)
    settled = np.where(ended == 0, rng.uniform(1.0, 5.0, plan.size), np.nan)
    return CampaignResults(
        plan,
        ended,
        settled,
        rng.uniform(0.0, 2.0, plan.size),
        Counter({"it broke": int((ended == 4).sum())}),
    )


def test_the_summary_counts_each_law(tmp_path):
    found = made((LAWS, TILT, RATE))
    found.ended[0] = ABSENT
    rows = store.rows(found)
    assert [row["controller"] for row in rows] == ["lqr", "pd"]
    assert [row["samples"] for row in rows] == [11, 12]
    assert sum(row["settled"] for row in rows) == found.success.sum()
    assert rows[1]["settling_time"]["largest"] == pytest.approx(np.nanmax(found.settled[12:]))
    assert f"{found.reasons['it broke']} times: it broke" in store.summary(found)
    store.write(found, tmp_path / "summary.json")
    assert json.loads((tmp_path / "summary.json").read_text())["rows"] == rows


def test_a_law_from_a_file_is_called_by_its_short_name():
    laws = Axis("controller", ("lqr", "/far/away/mine.py", "/far/away/lqr.py"))
    plan = CampaignPlan((), (laws, TILT), (), 1, 0)
    assert [*picture._facets(plan)] == ["lqr", "mine", "/far/away/lqr.py"]
    assert [*store.titles(plan).values()] == [*picture._facets(plan)]


@pytest.mark.parametrize("p", (0.02, 0.5, 0.97))
def test_the_interval_covers_the_truth_95_times_of_100(p):
    good = np.random.default_rng(4).binomial(200, p, 1000)
    covered = [low <= p <= high for low, high in (interval(int(k), 200) for k in good)]
    assert 0.92 < np.mean(covered) < 0.98


def test_the_interval_of_nothing():
    assert interval(0, 0) == (0.0, 1.0)
    assert (interval(0, 10)[0], interval(10, 10)[1]) == pytest.approx((0.0, 1.0), abs=1e-15)


@pytest.mark.parametrize(
    "found",
    (
        made((LAWS, TILT, RATE)),
        made((TILT, RATE), (MASS,), 5),
        made((LAWS, RATE), (MASS,), 7),
        made((), (MASS, Draw("start.tilt", "normal", (0.0, 5.0))), 200),
        made((LAWS,), (Draw("rod.length", "choice", (2.0, 2.4)),), 50),
        made((Axis("start.x", (1.0,)),), (MASS,), 20),
    ),
    ids=("map of times", "map of parts", "curves", "bins", "choices", "one point"),
)
def test_every_kind_of_campaign_has_a_picture(found, tmp_path, monkeypatch):
    """Its legend is beside the panels, not over what they show."""
    save, seen = Figure.savefig, []
    monkeypatch.setattr(
        Figure, "savefig", lambda figure, *a, **k: (seen.append(figure), save(figure, *a, **k))
    )
    picture.write(found, tmp_path / "campaign.png")
    assert (tmp_path / "campaign.png").stat().st_size > 8000
    seen[0].draw_without_rendering()
    boxes = [axes.get_window_extent() for axes in seen[0].axes]
    assert not any(axes.get_legend() for axes in seen[0].axes)
    for legend in seen[0].legends:
        assert not any(legend.get_window_extent().overlaps(box) for box in boxes)


DRAWN_LAWS = Draw("controller", "choice", ("lqr", "pd"))


@pytest.mark.parametrize(
    ("found", "curves", "bars"),
    (
        (made((Axis("start.tilt", (10.0, -10.0, 0.0)),)), [("lqr", [-10.0, 0.0, 10.0])], 0),
        (made((LAWS,)), [], 2),
    ),
    ids=("an axis whose values do not rise", "nothing but laws"),
)
def test_what_a_picture_shows(found, curves, bars, tmp_path, monkeypatch):
    seen = []
    monkeypatch.setattr(
        "matplotlib.figure.Figure.savefig", lambda figure, *_, **__: seen.append(figure)
    )
    picture.write(found, tmp_path / "campaign.png")
    axes = seen[0].axes[0]
    assert [(line.get_label(), line.get_xdata().tolist()) for line in axes.lines] == curves
    assert len(axes.patches) == bars


@pytest.mark.parametrize("settled", (np.nan, 0.0), ids=("none settles", "all at time 0"))
def test_a_map_without_a_time_has_a_scale_to_one_second(settled, tmp_path, monkeypatch):
    seen = []
    monkeypatch.setattr(
        "matplotlib.figure.Figure.savefig", lambda figure, *_, **__: seen.append(figure)
    )
    found = made((TILT, RATE))
    found.settled[:], found.ended[:] = settled, 1 if np.isnan(settled) else 0
    picture.write(found, tmp_path / "campaign.png")
    assert seen[0].axes[-1].get_ylim() == (0.0, 1.0)


def test_laws_that_are_drawn_have_curves_of_their_own():
    plan = CampaignPlan((), (), (DRAWN_LAWS, MASS), 60, 0)
    assert set(picture._facets(plan)) == {"lqr", "pd"}
    assert sum(where.sum() for where in picture._facets(plan).values()) == 60


def test_cells_stand_where_their_values_are():
    found = made((TILT, RATE))
    cells = picture._Cells(found.plan, TILT, RATE).mean(np.arange(12.0), np.ones(12, bool))
    np.testing.assert_array_equal(cells, np.arange(12.0).reshape(3, 4))
    np.testing.assert_array_equal(picture._edges(RATE), (-0.5, 0.5, 2.5, 4.5, 5.5))
