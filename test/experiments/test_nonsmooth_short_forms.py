"""The experiments with impacts and friction in their short form: claims hold, progress ends,
figures can be drawn.
"""

from importlib import import_module

import pytest
from color_vision import closest, colors_of
from matplotlib.figure import Figure

from rbdyn_ros.experiments import outcome as outcomes

NAMES = ("bouncing_ball", "cam_follower", "incline", "joints", "sliding_block")


@pytest.mark.parametrize("name", NAMES)
def test_the_claims_hold_and_the_figure_is_drawn(name):
    experiment, received = import_module(f"rbdyn_ros.experiments.{name}"), []
    outcome = experiment.run(True, received.append)
    assert outcome.claims and outcomes.is_confirmed(outcome), "\n" + outcomes.verdict(outcome)
    assert received == sorted(received) and received[-1] == pytest.approx(1.0)
    figure = Figure(figsize=(11.0, 7.0))
    experiment.draw(outcome, figure)
    assert all(axes.has_data() for axes in figure.axes)
    assert closest(colors_of(figure))[0] >= 20.0, closest(colors_of(figure))
