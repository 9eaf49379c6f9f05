"""When a run has settled, rests or is lost, and the edge that bisection finds."""

import math
from types import SimpleNamespace

import numpy as np
import pytest

from rbdyn_ros.evaluation import metrics, pictures
from rbdyn_ros.numerics.bracket import edge
from rbdyn_ros.pendulum import spherical_pendulum
from rbdyn_ros.plant.rollout import Rollout


def test_a_force_between_its_limits_does_not_decay():
    """Whatever the tilt does meanwhile; round-off of the limit is no decay."""
    tilts, force = np.linspace(2e-3, 1e-3, 100), np.full((99, 2), (20.0, 0.0))
    force[:10, 0] += 4e-15
    q = np.zeros((100, 6))
    q[:, 2], q[:, 3] = np.cos(0.5 * tilts), np.sin(0.5 * tilts)
    run = Rollout(np.arange(100.0), q, np.zeros((100, 5)), force)
    assert not metrics.is_decaying(run)
    assert metrics.is_decaying(run._replace(force=force * np.linspace(1.0, 0.9, 99)[:, None]))


def course_of(tilt, x=0.0, ended=""):
    """A run with a tilt [rad] per row."""
    tilt = np.asarray(tilt, float)
    q = np.column_stack(
        (
            np.full(len(tilt), x),
            0.0 * tilt,
            np.cos(tilt / 2),
            0.0 * tilt,
            np.sin(tilt / 2),
            0.0 * tilt,
        )
    )
    n = len(tilt) - 1
    return Rollout(
        0.1 * np.arange(n + 1),
        q,
        np.zeros((n + 1, 5)),
        np.zeros((n, 2)),
        ended,
    )


@pytest.mark.parametrize(
    "tilt, settled",
    [
        ([0.1, 0.001, 0.1, 0.0, 0.0], 0.3),
        ([0.0, 0.0], 0.0),
        ([0.1, 0.0, 0.1], math.inf),
        ([0.1, 0.0, 0.008], 0.1),
    ],
)
def test_settled_is_from_then_on(tilt, settled):
    assert metrics.settling_time(course_of(tilt)) == pytest.approx(settled)


def test_a_run_that_broke_off_has_not_settled():
    assert (
        metrics.settling_time(course_of([0.0, 0.0], ended="the cart left its travel")) == math.inf
    )
    assert metrics.settling_time(course_of([0.0, 0.0], ended=metrics.SETTLED)) == 0.0


def test_rest_takes_half_a_second_and_a_fall_none():
    upright, calm = spherical_pendulum.upright(), metrics.until_rest()
    assert [calm(0.1 * i, upright.q, upright.v) for i in range(6)] == [""] * 5 + [metrics.SETTLED]
    assert calm(0.1, spherical_pendulum.upright(1.6).q, upright.v) == metrics.FALLEN
    moving = metrics.until_rest()
    assert not any(moving(0.1 * i, upright.q, upright.v + 0.1) for i in range(20))


def test_held_counts_from_the_last_excursion():
    held, upright, away = (
        metrics.SettlingDetector(metrics.SWING_UP),
        spherical_pendulum.upright(),
        spherical_pendulum.upright(0.1),
    )
    words = [held(0.1 * i, (away if i == 4 else upright).q, upright.v) for i in range(15)]
    assert held.since == pytest.approx(0.4) and words == [""] * 14 + [metrics.SETTLED]


@pytest.mark.parametrize("true", (0.0, 0.03, 2.0, 7.77, 10.0))
@pytest.mark.parametrize("near", (None, 2.1, 7.5, 9.9))
def test_bisection_finds_the_edge(true, near):
    found = edge(lambda x: x <= true, 10.0, 0.05, near)
    assert found.holds <= true <= found.holds + 0.05 and found.at_limit == (true == 10.0)


def test_a_good_guess_saves_questions():
    assert len(edge(lambda x: x <= 3.33, 90.0, 0.05, 3.2).tried) < len(
        edge(lambda x: x <= 3.33, 90.0, 0.05).tried
    )


@pytest.mark.parametrize("time, most", ((None, 1.0), (0.0, 1.0), (3.0, 3.0)))
def test_the_scale_of_a_map_begins_at_0_and_ends_at_its_largest_time(time, most):
    curves = {"settled": [[None, time], [time, None]], "tilt": 10.0, "rate": 1.0}
    figure = pictures._draw_maps([SimpleNamespace(label="", curves=curves)])
    figure.canvas.draw()
    assert figure.axes[-1].get_ylim() == (0.0, most)
