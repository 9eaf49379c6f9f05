"""Random matrices with a seed of their own for each test."""

import numpy as np
import pytest


@pytest.fixture
def rng(request):
    """A generator that depends on the test's name only."""
    return np.random.default_rng(list(request.node.name.encode()))
