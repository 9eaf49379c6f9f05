"""The friction problem: what its error function means, what its constructor refuses."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rbdyn_ros.numerics.solvers import fc3d
from rbdyn_ros.numerics.solvers.registry import select, solve

numbers = st.floats(-10.0, 10.0)


@given(st.tuples(numbers, numbers, numbers), st.floats(0.0, 5.0))
def test_projection_is_moreaus_decomposition(x, mu):
    """x = p + d, p in K_mu, -d in K_mu*, p . d = 0."""
    p = np.array(fc3d.project(x, mu))
    d = np.array(x) - p
    size = 1.0 + np.linalg.norm(x) * (1.0 + mu)
    assert np.hypot(p[1], p[2]) <= mu * p[0] + 1e-14 * size
    assert mu * np.hypot(d[1], d[2]) <= -d[0] + 1e-13 * size * (1.0 + mu)
    assert abs(p @ d) <= 1e-13 * size**2


def problem():
    """Block on a table: pressed at rest, dragged sideways."""
    return fc3d.problem(np.eye(3) / 2.0, [-1.0, 3.0, 0.0], 0.5)


def test_error_vanishes_at_the_solution_only():
    solution = np.array([2.0, -1.0, 0.0])
    assert fc3d.error(problem(), solution) < 1e-15
    for k in range(3):
        for size in (1e-6, -1e-6):
            wrong = solution.copy()
            wrong[k] += size
            assert 1e-8 < fc3d.error(problem(), wrong) < 1e-5


@pytest.mark.parametrize(
    "J, q, mu",
    [
        ((0.9, 0.0, 2.0), (-0.8, -0.6, -0.4), 1.2),
        ((0.3, -1.1, 1.2), (-2.7, -1.0, 0.2), 1.5),
        ((-0.5, 1.8, 0.3), (-1.1, 1.4, 0.6), 0.5),
    ],
)
def test_velocities_are_seen_beside_impulses_of_any_size(J, q, mu):
    """A contact that moves in one way, which friction locks: impulses of 1e16 N s, whose round-off
    is larger than any velocity, were called its solution.
    """
    task = fc3d.problem(np.outer(J, J), q, mu)
    assert not solve(select("fc3d_hybrid"), task).ok


def test_error_does_not_depend_on_units():
    r = np.array([1.0, -0.2, 0.3])
    p = problem()
    kilo = fc3d.problem(1e-3 * p.W, 1e2 * p.q, p.mu)
    assert fc3d.error(kilo, 1e5 * r) == pytest.approx(fc3d.error(p, r), rel=1e-12)


def test_wrong_friction_laws_have_an_error():
    p = problem()
    assert fc3d.error(p, np.array([2.0, 0.0, 0.0])) > 1e-2  # frictionless
    assert fc3d.error(p, np.array([2.0, 1.0, 0.0])) > 1e-2  # along the slip
    assert fc3d.error(p, np.array([2.0, -6.0, 0.0])) > 1e-2  # sticking beyond the cone
    assert fc3d.error(p, np.zeros(3)) > 1e-2  # nothing


@pytest.mark.parametrize(
    ("W", "q", "mu", "sentence"),
    [
        (
            np.ones((3, 4)),
            np.zeros(3),
            0.5,
            r"W has shape \(3, 4\); it must be square, 3 rows for each contact",
        ),
        (
            np.eye(4),
            np.zeros(4),
            0.5,
            r"W has shape \(4, 4\); it must be square, 3 rows for each contact",
        ),
        (
            np.eye(3),
            np.zeros(4),
            0.5,
            r"q has shape \(4,\); it must be \(3,\)",
        ),
        (np.eye(6), np.zeros(6), [0.5], r"mu has shape \(1,\); it must be \(2,\)"),
        (
            np.eye(6),
            np.zeros(6),
            [0.5, -0.3],
            r"mu\[1\] is -0.3; a friction coefficient must be >= 0 \(0 is frictionless\)",
        ),
        (
            np.diag([1.0, np.nan, 1.0]),
            np.zeros(3),
            0.5,
            r"W\[1, 1\] is nan; every number must be finite",
        ),
        (np.eye(3), [0.0, np.inf, 0.0], 0.5, r"q\[1\] is inf; every number must be finite"),
        ("table", np.zeros(3), 0.5, "W is 'table'; it must be an array of numbers"),
    ],
)
def test_bad_input_gets_one_sentence(W, q, mu, sentence):
    with pytest.raises(ValueError, match=sentence):
        fc3d.problem(W, q, mu)


def test_a_problem_without_contacts_is_solved_by_nothing():
    assert fc3d.error(fc3d.problem(np.zeros((0, 0)), np.zeros(0), 0.5), np.zeros(0)) == 0.0
