"""Claims: what holds, what fails, and what a verdict says of it."""

import numpy as np
import pytest
from matplotlib.figure import Figure

from rbdyn_ros.experiments import order_of_accuracy
from rbdyn_ros.experiments.outcome import (
    Outcome,
    above,
    below,
    between,
    columns,
    is_confirmed,
    label_axes,
    slope,
    verdict,
)


@pytest.mark.parametrize(
    "claim", [below("a", 2.0, 1.0), above("a", 1.0, 2.0), between("a", 3.0, 1.0, 2.0)]
)
def test_a_false_claim_fails_and_says_so(claim):
    outcome = Outcome({}, (below("b", 0.0, 1.0, "J"), claim))
    assert not claim.holds and not is_confirmed(outcome)
    assert "FAILS  a" in verdict(outcome) and "holds  b  0  (expected < 1 J)" in verdict(outcome)


@pytest.mark.parametrize(
    "claim", [below("a", np.nan, 1.0), above("a", np.nan, 1.0), between("a", np.nan, 1.0, 2.0)]
)
def test_nothing_can_be_claimed_of_nan(claim):
    assert not claim.holds


def test_the_slope_is_the_exponent():
    h = np.array([0.1, 0.05, 0.025])
    assert slope(h, 7.0 * h**3) == pytest.approx(3.0)


def test_rows_become_columns_by_the_words_of_one_string():
    table = columns("method step", [("rk4", 0.1), ("tqdl", 0.2)])
    assert list(table) == ["method", "step"]
    assert table["method"].tolist() == ["rk4", "tqdl"]
    assert table["step"].dtype == float and table["step"].tolist() == [0.1, 0.2]


@pytest.mark.parametrize(
    "steps, decades, numbers",
    [
        ((1e-3, 4e-3), ["0.001"], ["0.002"]),
        ((5e-3, 2e-2), ["0.01"], ["0.005", "0.02"]),
        ((1e-3, 1.0), [f"$\\mathdefault{{10^{{{n}}}}}$" for n in range(-3, 1)], []),
    ],
)
def test_a_short_logarithmic_axis_has_more_than_one_number(steps, decades, numbers):
    """All written alike, in letters of one size."""
    figure = Figure()
    axes = figure.subplots()
    axes.loglog(steps, steps, "o-")
    label_axes(axes, "errors", "step [s]", "error [m]")
    figure.canvas.draw()
    low, high = axes.get_xlim()
    for minor, expected in ((False, decades), (True, numbers)):
        labels = zip(axes.get_xticks(minor=minor), axes.get_xticklabels(minor=minor))
        shown = [label for at, label in labels if low <= at <= high and label.get_text()]
        assert [label.get_text() for label in shown] == expected
        assert {label.get_fontsize() for label in shown} <= {9.0}


def test_the_measured_orders_stand_beside_their_lines():
    steps = (0.01, 0.02, 0.04)
    rows = [("rk4", "none", h, h**4) for h in steps] + [("mine", "none", h, h**2) for h in steps]
    errors = columns("method composition step error", [*rows, ("mine", "none", 0.08, np.nan)])
    slopes = columns("method composition measured", [("rk4", "none", 4.0), ("mine", "none", 2.0)])
    figure = Figure(figsize=(11.0, 7.0), layout="constrained")
    order_of_accuracy.draw(Outcome({"errors": errors, "slopes": slopes}, ()), figure)
    figure.draw_without_rendering()
    axes = figure.axes[0]
    assert [text.get_text() for text in axes.texts] == [
        "coupled RK4, order 4.00",
        "mine, order 2.00",
    ]
    last = max(axes.transData.transform((0.04, 1e-3))[0], axes.get_window_extent().x0)
    assert all(text.get_window_extent().x0 > last for text in axes.texts)
    assert not any(panel.get_legend() for panel in figure.axes)
