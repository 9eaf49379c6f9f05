"""Rotations to test on: random ones, and those near and at the points where formulas change
branch.
"""

import numpy as np
import pytest

ANGLES = [0.0, 1e-300, 1e-160, 1e-16, 1e-9, 1e-4, 0.01, 0.5, np.sqrt(2.0), 2.0, 3.0]
NEAR_PI = [np.pi - 10.0**-k for k in range(1, 17)] + [np.pi]


@pytest.fixture
def random():
    return np.random.default_rng(20240)


@pytest.fixture
def axes(random):
    n = np.concatenate(
        [np.eye(3), -np.eye(3), [[1, 1, 0], [-1, 0, 1], [0, -1, -1]], random.normal(size=(20, 3))]
    )
    return n / np.linalg.norm(n, axis=-1, keepdims=True)


@pytest.fixture
def vectors(axes):
    """Rotation vectors (n, 3) with angles from 0 up to and at pi."""
    return (np.array(ANGLES + NEAR_PI)[:, None, None] * axes).reshape(-1, 3)


@pytest.fixture
def quaternions(random):
    """Random rotation quaternions (200, 4), half of them with w < 0."""
    q = random.normal(size=(200, 4))
    return q / np.linalg.norm(q, axis=-1, keepdims=True)


@pytest.fixture
def twists(random):
    """Twists (60, 6) with angles up to 3 rad and long linear parts."""
    w = random.normal(size=(60, 3))
    w *= np.linspace(0.0, 3.0, 60)[:, None] / np.linalg.norm(w, axis=-1, keepdims=True)
    return np.concatenate([w, 10.0 * random.normal(size=(60, 3))], axis=-1)
