"""The Riccati equation: its definition, a closed form, and why there is no solution."""

import numpy as np
import pytest

from rbdyn_ros.control import riccati

A = np.array(((1.0, 0.1), (0.3, 1.2)))
B = np.array(((0.0,), (0.1,)))
Q, R = np.diag((2.0, 1.0)), np.array(((0.5,),))


def test_the_scalar_equation_in_closed_form():
    """s^2 + (1 - a^2 - 1) s - 1 = 0 for b = q = r = 1 and a = 2: s = 2 + sqrt 5."""
    one = np.eye(1)
    K, S = riccati.gain(2.0 * one, one, one, one)
    s = 2.0 + 5.0**0.5
    np.testing.assert_allclose((S[0, 0], K[0, 0]), (s, 2.0 * s / (1.0 + s)), rtol=1e-12)


def test_the_cost_to_go_is_the_sum_along_the_trajectory():
    K, S = riccati.gain(A, B, Q, R)
    e, cost = np.array((1.0, -2.0)), 0.0
    expected = e @ S @ e
    for _ in range(2000):
        u = -K @ e
        cost += e @ Q @ e + u @ R @ u
        e = A @ e + B @ u
    assert cost == pytest.approx(expected, rel=1e-10)


def test_no_other_gain_costs_less():
    K, S = riccati.gain(A, B, Q, R)
    for change in np.random.default_rng(1).normal(scale=0.05, size=(50, 1, 2)):
        other = K + change
        closed = A - B @ other
        cost = np.zeros((2, 2))
        for _ in range(2000):
            cost = Q + other.T @ R @ other + closed.T @ cost @ closed
        assert np.linalg.eigvalsh(cost - S).min() > -1e-9


def test_a_mode_that_the_input_does_not_reach():
    with pytest.raises(ValueError, match="input does not reach the mode with eigenvalue 1.1"):
        riccati.gain(np.diag((0.5, 1.1)), np.array(((1.0,), (0.0,))), np.eye(2), np.eye(1))


def test_a_mode_on_the_circle_that_no_weight_sees():
    with pytest.raises(ValueError, match="no weight sees the mode with eigenvalue 1"):
        riccati.gain(np.diag((0.5, 1.0)), np.ones((2, 1)), np.diag((1.0, 0.0)), np.eye(1))
