"""The experiment of degraded conditions in its short form."""

import pytest
from matplotlib.figure import Figure

from rbdyn_ros.experiments import degraded_conditions
from rbdyn_ros.experiments import outcome as outcomes


def test_the_claims_hold_and_the_figure_is_drawn():
    progress = []
    outcome = degraded_conditions.run(True, progress.append)
    assert outcomes.is_confirmed(outcome), "\n" + outcomes.verdict(outcome)
    assert progress == sorted(progress) and progress[-1] == pytest.approx(1.0)
    figure = Figure(figsize=(11.0, 7.0))
    degraded_conditions.draw(outcome, figure)
    assert all(axes.has_data() for axes in figure.axes)
