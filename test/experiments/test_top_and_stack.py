"""The experiments on bodies with contacts in their short form, and what they lean on against
golden data and statics.
"""

from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from color_vision import closest, colors_of
from matplotlib.figure import Figure

from rbdyn_ros.bodies.description import contact_pairs
from rbdyn_ros.experiments import outcome as outcomes
from rbdyn_ros.experiments import scenes, spinning_top
from rbdyn_ros.experiments.stack import settle

GOLDEN = Path(__file__).parents[1] / "golden"


@pytest.mark.parametrize("name", ["spinning_top", "stack"])
def test_the_claims_hold_and_the_figure_is_drawn(name):
    experiment, received = import_module(f"rbdyn_ros.experiments.{name}"), []
    outcome = experiment.run(True, received.append)
    assert outcome.claims and outcomes.is_confirmed(outcome), "\n" + outcomes.verdict(outcome)
    assert received == sorted(received) and received[-1] == pytest.approx(1.0)
    assert all(
        len({len(column) for column in table.values()}) == 1 for table in outcome.tables.values()
    )
    figure = Figure(figsize=(11.0, 7.0))
    experiment.draw(outcome, figure)
    assert all(axes.has_data() for axes in figure.axes)
    assert closest(colors_of(figure))[0] >= 20.0, closest(colors_of(figure))


def test_reduced_equations_of_the_top_meet_the_reference():
    golden = np.genfromtxt(GOLDEN / "top_sliding_traj.csv", delimiter=",", names=True)[::10]
    q, v = spinning_top.exact(golden["t"])
    columns = ("x", "y", "z", "q0", "q1", "q2", "q3"), ("vx", "vy", "vz", "w1", "w2", "w3")
    expected_q, expected_v = (
        np.column_stack([golden[name] for name in names]) for names in columns
    )
    assert np.abs(q - expected_q).max() < 1e-11
    assert np.abs(v - expected_v).max() < 1e-9


def test_the_pyramid_touches_and_its_lower_balls_do_not():
    stack = scenes.pyramid()
    gaps = contact_pairs.gaps(stack.pairs, stack.q)
    assert np.abs(gaps[:6]).max() < 1e-15
    assert gaps[6:] == pytest.approx(scenes.CLEARANCE, abs=1e-15)


@pytest.mark.parametrize("share", [0.5, 0.98, 1.02])
def test_the_overhang_puts_each_part_over_or_beyond_an_edge(share):
    """The center of mass of the boxes from i up lies inside the edge below for share < 1, outside
    for share > 1.
    """
    stack = scenes.overhang(share=share)
    x = stack.q[:, 0]
    edges = np.concatenate([[0.0], x[:-1] + scenes.HALF[0]])
    beyond = np.array([x[i:].mean() - edges[i] for i in range(4)])
    assert np.all((beyond > 0.0) == (share > 1.0))
    assert np.abs(contact_pairs.gaps(stack.pairs, stack.q)).max() < 1e-15


@pytest.mark.parametrize("share, h", [(1.02, 5e-3), (1.1, 5e-3), (1.05, 2e-3)])
def test_a_stack_that_topples_over_its_edges_does_so_without_overlaps(share, h):
    """Giving a micrometer back within a part of a step of microseconds threw the boxes 0.3 mm into
    each other.
    """
    run = settle(scenes.overhang(share=share), h, 0.7)
    pitch = 2.0 * np.arctan2(run.q[-1, -1, 5], run.q[-1, -1, 3])
    assert pitch > 0.5
    assert run.gap.min() > -2e-6
