"""Dense linear algebra inside kernels."""

import numpy as np
import pytest

from rbdyn_ros.numerics import linear


@pytest.mark.parametrize("n", [1, 3, 20])
def test_against_numpy(n):
    rng = np.random.default_rng(n)
    A, b, y = rng.normal(size=(n, n)), rng.normal(size=n), np.empty(n)
    A[0, 0] = 0.0 if n > 1 else 1.0  # without pivoting there is no answer
    linear.multiply(A, b, y)
    x, C = b.copy(), A.copy()
    linear.solve_in_place(C, x)
    assert y == pytest.approx(A @ b, abs=1e-12)
    assert x == pytest.approx(np.linalg.solve(A, b), abs=1e-12)
    assert linear.solution(A, b) == pytest.approx(np.linalg.solve(A, b), abs=1e-13)
    B = rng.normal(size=(n, 2))
    assert linear.solution(A, B) == pytest.approx(np.linalg.solve(A, B), abs=1e-12)
    assert linear.inverse(A) == pytest.approx(np.linalg.inv(A), abs=1e-14)


@pytest.mark.parametrize("A", [np.zeros((2, 2)), np.array([[1.0, np.nan], [0.0, 1.0]])])
def test_singular_or_not_finite_gives_nan(A):
    assert np.isnan(linear.solution(A, np.ones(2))).all()
    assert np.isnan(linear.inverse(A)).all()


@pytest.mark.parametrize(
    "A", [np.zeros((2, 2)), np.ones((2, 2)), np.array([[1.0, np.nan], [0.0, 1.0]])]
)
def test_solving_with_a_singular_matrix_in_place_is_not_finite(A):
    b = np.array([1.0, 2.0])
    linear.solve_in_place(A.copy(), b)
    assert not np.isfinite(b).all()


def test_nan_is_not_lost_in_reordered_sums():
    y = np.empty(1)
    linear.multiply(np.array([[0.0, 1.0, 2.0]]), np.array([np.nan, 1.0, 1.0]), y)
    assert np.isnan(y[0])
