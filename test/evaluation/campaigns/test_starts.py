"""Starts as people say them, seen on the sphere."""

import numpy as np
import pytest

from rbdyn_ros.evaluation.campaigns.campaign_trial import start_rows
from rbdyn_ros.pendulum import sphere_state

NAMES = ("tilt", "azimuth", "rate", "precession", "spin", "x", "y", "vx", "vy")


@pytest.mark.parametrize(
    "numbers", [(30, 20, 1, 0), (120, -50, 0.3, 0.7), (-40, 200, -2, 1), (180, 0, 1, 1)]
)
def test_direction_and_rate_on_the_sphere(numbers):
    values = dict.fromkeys((f"start.{name}" for name in NAMES), 0.0)
    values |= dict(
        zip(("start.tilt", "start.azimuth", "start.rate", "start.precession"), map(float, numbers))
    )
    row = start_rows(values | {"start.x": 0.5, "start.vy": -0.2, "start.spin": 4.0}, 1)[0]
    k, dk, x, v = sphere_state.of_state(row[:6], row[6:])
    (T, A), rate, precession = np.radians(numbers[:2]), *numbers[2:]
    along = np.array((np.cos(T) * np.cos(A), np.cos(T) * np.sin(A), -np.sin(T)))
    across = np.array((-np.sin(A), np.cos(A), 0.0))
    np.testing.assert_allclose(
        k, (np.sin(T) * np.cos(A), np.sin(T) * np.sin(A), np.cos(T)), atol=1e-15
    )
    np.testing.assert_allclose(dk, rate * along + precession * across, atol=1e-15)
    assert (x, v, row[10]) == ((0.5, 0.0), (0.0, -0.2), 4.0)
