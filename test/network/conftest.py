"""Golden data by name."""

from pathlib import Path

import numpy as np
import pytest


@pytest.fixture
def golden():
    def load(name: str) -> np.ndarray:
        return np.genfromtxt(
            Path(__file__).parents[1] / "golden" / f"{name}.csv", delimiter=",", names=True
        )

    return load
