"""Nested level sets: the numbers of the control study, what they recover, how they behave."""

import math

import numpy as np
import pytest

from rbdyn_ros.control.laws import lqr, nested_lqr
from rbdyn_ros.pendulum import spherical_pendulum

PLANT = spherical_pendulum.Params(cart_damping=0.5, joint_damping=0.005)
LEVELS = (
    0.034958,
    0.128833,
    0.502724,
    1.663602,
    5.973898,
    18.80628,
    65.13732,
    200.4759,
    682.0647,
)  # c_i of the study
ORIGIN = np.zeros(2)


def designed(params=PLANT, **options):
    return nested_lqr.design(spherical_pendulum, params, nested_lqr.Options(**options))


def tilted(degrees: float, azimuth: float = 0.0):
    return spherical_pendulum.upright(math.radians(degrees), math.radians(azimuth))


def test_the_levels_of_the_control_study():
    law, weights = designed(force_limit=1.0), nested_lqr.Options().force_weights
    aggressive = lqr.design(spherical_pendulum, PLANT, lqr.Options())
    np.testing.assert_allclose(law.gains[0], aggressive.gains, rtol=1e-12)
    for K, form, level in zip(law.gains, law.forms, LEVELS):
        assert 4.0 / (K @ np.linalg.solve(form * level, K)) == pytest.approx(level, rel=2e-5)
    assert len(weights) == len(LEVELS)


@pytest.mark.parametrize(
    "limit, recovers, falls",
    [(10.0, 17.3, 17.9), (20.0, 32.4, 32.8), (30.0, 43.4, 44.2), (50.0, 57.0, 58.4)],
)
def test_it_recovers_nearly_all_that_a_force_can(closed_loop, limit, recovers, falls):
    """The exact limits, full force towards the fall, are 17.8, 32.7, 44.0 and 58.3 degrees."""
    law = designed(force_limit=limit)
    assert closed_loop(law, PLANT, tilted(recovers, 40.0), 60.0).settling_time() < 60.0
    law.reset()
    assert closed_loop(law, PLANT, tilted(falls, 40.0), 15.0).fell


@pytest.mark.parametrize(
    "degrees, time, travel", [(10.0, 3.54, 0.67), (20.0, 5.44, 2.2), (28.0, 8.67, 6.6)]
)
def test_it_settles_as_in_the_study(closed_loop, degrees, time, travel):
    run = closed_loop(designed(), PLANT, tilted(degrees), 15.0)
    assert run.settling_time() == pytest.approx(time, rel=0.02)
    assert np.hypot(run.x, run.y).max() == pytest.approx(travel, rel=0.04)


def test_the_gains_go_down_the_ladder_without_chatter(closed_loop):
    law, levels = designed(), []
    answer = law.command
    law.command = lambda *question: (answer(*question), levels.append(law.level))[0]
    closed_loop(law, PLANT, tilted(28.0), 15.0)
    changes = np.diff(levels)
    assert levels[0] > 0 and levels[-1] == 0
    assert np.count_nonzero(changes) <= 20


@pytest.mark.parametrize("reference", [(1.0, 0.0), (20.0, -30.0)])
def test_a_far_set_point_does_not_topple_the_rod(closed_loop, reference):
    run = closed_loop(designed(), PLANT, tilted(0.0), 60.0, reference)
    assert run.settling_time(reference) < 60.0


def test_reset_forgets_the_level():
    law = designed()
    law.command(0.0, tilted(30.0), ORIGIN)
    assert law.level > 0
    law.reset()
    fresh = designed()
    np.testing.assert_array_equal(
        law.command(0.0, tilted(14.0), ORIGIN), fresh.command(0.0, tilted(14.0), ORIGIN)
    )


def test_without_force_there_is_none():
    np.testing.assert_array_equal(
        designed(force_limit=0.0).command(0.0, tilted(10.0), ORIGIN), (0.0, 0.0)
    )


def test_a_plant_that_no_gain_stabilizes():
    with pytest.raises(
        ValueError, match="nested_lqr: the Riccati equation has no .*cart.fixed false"
    ):
        designed(PLANT._replace(cart_fixed=True))


@pytest.mark.parametrize("weights", [(), (1.0, 0.5), (1.0, 1.0)])
def test_a_ladder_must_rise(weights):
    with pytest.raises(ValueError, match="nested_lqr.force_weights is .*; it must be rising"):
        designed(force_weights=weights)
