"""Gains by hand."""

import math

import numpy as np
import pytest

from rbdyn_ros.control.laws import lqr, pd
from rbdyn_ros.pendulum import spherical_pendulum

PLANT = spherical_pendulum.Params(cart_damping=0.5, joint_damping=0.005)


def designed(params=PLANT, **options):
    return pd.design(spherical_pendulum, params, pd.Options(**options))


def test_the_default_gains_stand(closed_loop):
    run = closed_loop(
        designed(),
        PLANT,
        spherical_pendulum.upright(math.radians(10.0), 0.7),
        reference=(0.3, 0.1),
    )
    assert run.settling_time((0.3, 0.1)) < 5.0


def test_with_the_gains_of_lqr_it_is_lqr():
    regulator = lqr.design(spherical_pendulum, PLANT, lqr.Options())
    same = designed(**dict(zip(pd.Options._fields, -regulator.gains)))
    state, reference = spherical_pendulum.upright(0.05, 0.4), np.array((0.02, -0.3))
    np.testing.assert_array_equal(
        same.command(0.0, state, reference), regulator.command(0.0, state, reference)
    )


@pytest.mark.parametrize(
    "gain",
    [{"tilt_gain": 20.0}, {"tilt_gain": -160.0}, {"position_gain": 0.0}, {"velocity_gain": -1.0}],
)
def test_gains_under_which_the_rod_falls_are_refused(gain):
    ((name, value),) = gain.items()
    with pytest.raises(
        ValueError,
        match=f"controller pd: the rod falls under .*pd.{name} {value:g} N.*; take other gains",
    ):
        designed(**gain)
