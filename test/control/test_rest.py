"""No force."""

import math

import numpy as np

from rbdyn_ros.control.laws import rest
from rbdyn_ros.pendulum import spherical_pendulum


def test_the_rod_falls(closed_loop):
    params = spherical_pendulum.Params()
    law = rest.design(spherical_pendulum, params, rest.Options())
    run = closed_loop(
        law, params, spherical_pendulum.upright(math.radians(1.0)), reference=(1.0, 0.0)
    )
    assert run.fell
    np.testing.assert_array_equal(run.force, 0.0)
