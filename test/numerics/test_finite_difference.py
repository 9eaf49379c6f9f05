"""The finite-difference helper: exact on smooth functions to twelve digits, honest about its
error.
"""

import numpy as np
import pytest

from rbdyn_ros.numerics.finite_difference import jacobian


def test_of_a_smooth_function():
    f = lambda x: np.array([np.sin(x[0]) * x[1], np.exp(x[1]), x[0] ** 3])  # noqa: E731
    x = np.array([0.7, -0.3])
    exact = [[np.cos(0.7) * -0.3, np.sin(0.7)], [0.0, np.exp(-0.3)], [3 * 0.49, 0.0]]
    numeric = jacobian(f, x)
    assert np.allclose(numeric.value, exact, atol=1e-12)
    assert np.abs(numeric.value - exact).max() < 10.0 * numeric.error < 1e-10


def test_step_control_finds_the_scale_of_the_function():
    f = lambda x: np.sin(50.0 * x)  # noqa: E731
    numeric = jacobian(f, np.array([0.1]))
    assert numeric.value[0, 0] == pytest.approx(50.0 * np.cos(5.0), abs=1e-8)


def test_error_estimate_tells_a_kink():
    assert jacobian(lambda x: np.abs(x - 0.001), np.array([0.0])).error > 1e-3


def test_rejects_a_bad_step_and_a_function_that_is_not_finite():
    with pytest.raises(ValueError, match="step is 0"):
        jacobian(np.sin, np.zeros(1), step=0.0)
    with pytest.raises(ValueError, match="not finite within"):
        jacobian(lambda x: np.full(1, np.nan), np.zeros(1))
