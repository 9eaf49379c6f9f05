"""The tilt without calls against the tilt with atan2 and hypot."""

import math

import numpy as np
import pytest

from rbdyn_ros.evaluation.campaigns import lanes
from rbdyn_ros.geometry import vec
from rbdyn_ros.pendulum import tilt

ANGLES = [
    0.0,
    1e-200,
    1e-12,
    1e-3,
    0.5,
    1.0,
    1.57,
    math.pi / 2,
    1.58,
    2.0,
    3.0,
    math.pi - 1e-6,
    math.pi,
]


@pytest.mark.parametrize("angle", ANGLES)
@pytest.mark.parametrize("azimuth", (0.0, 0.7, -2.5))
def test_it_is_the_logarithm_of_the_sphere(angle, azimuth):
    n, dk = math.sin(angle), (0.3, -0.2, 0.1)
    k = (n * math.cos(azimuth), n * math.sin(azimuth), math.cos(angle))
    np.testing.assert_allclose(
        lanes.tilt(k, dk), tilt.on_sphere(k, vec.cross(k, dk)), rtol=2e-15, atol=1e-300
    )


def test_hanging_exactly_it_points_along_x():
    assert lanes.tilt((0.0, 0.0, -1.0), (0.0, 0.0, 0.0))[:2] == (math.pi, 0.0)


def test_random_directions():
    rng = np.random.default_rng(1)
    for k in rng.normal(size=(500, 3)):
        k = tuple((k / np.linalg.norm(k)).tolist())
        np.testing.assert_allclose(
            lanes.tilt(k, (0.0,) * 3)[:2], tilt.on_sphere(k, (0.0,) * 3)[:2], rtol=3e-15
        )
