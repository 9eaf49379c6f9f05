"""The experiment of the bad worlds in its short form."""

import pytest
from matplotlib.figure import Figure

from rbdyn_ros.experiments import bad_worlds
from rbdyn_ros.experiments import outcome as outcomes


def test_the_claims_hold_and_the_figure_is_drawn():
    heard = []
    outcome = bad_worlds.run(True, heard.append)
    assert outcomes.stands(outcome), "\n" + outcomes.verdict(outcome)
    assert heard == sorted(heard) and heard[-1] == pytest.approx(1.0)
    figure = Figure(figsize=(11.0, 7.0))
    bad_worlds.draw(outcome, figure)
    assert all(axes.has_data() for axes in figure.axes)
