"""Linear complementarity: pivots, enumeration and sweeps, with and without degeneracy."""

import numpy as np
import pytest
from oracles import oracle

from rbdyn_ros.numerics.solvers import lcp
from rbdyn_ros.numerics.solvers.registry import select, solve
from rbdyn_ros.numerics.solvers.solution import EXHAUSTED, RAY, SINGULAR, STALLED


def regular(rng, n):
    A = rng.normal(size=(n, n))
    return lcp.problem(A @ A.T + 0.1 * np.eye(n), rng.normal(size=n))


def non_symmetric(rng, n):
    B = rng.normal(size=(n, n))
    return lcp.problem(regular(rng, n).M + B - B.T, rng.normal(size=n))


def degenerate(rng, n):
    """M of rank n/2, solution known to exist, with z = w = 0 in some rows."""
    A, z = rng.normal(size=(n, max(n // 2, 1))), np.maximum(rng.normal(size=n), 0.0)
    w = np.where(z > 0.0, 0.0, np.maximum(rng.normal(size=n), 0.0))
    return lcp.problem(A @ A.T, w - A @ (A.T @ z))


def integer(rng, n):
    """As `degenerate`, in small integers: ties everywhere."""
    A, z = rng.integers(-1, 2, size=(n, max(n // 2, 1))), rng.integers(0, 2, size=n)
    w = np.where(z > 0, 0, rng.integers(0, 2, size=n))
    return lcp.problem(A @ A.T, w - A @ (A.T @ z))


@pytest.mark.parametrize("make", [regular, non_symmetric, degenerate, integer])
@pytest.mark.parametrize("n", [1, 2, 5, 12, 40])
def test_lemke_solves_every_positive_problem(rng, make, n):
    for _ in range(100):
        problem = make(rng, n)
        solution = solve(select("lcp_lemke"), problem)
        w = problem.M @ solution.z + problem.q
        size = np.linalg.norm(problem.q) + 1.0
        assert solution.ok
        assert (
            (solution.z >= 0.0).all()
            and (w >= -1e-9 * size).all()
            and abs(solution.z @ w) < 1e-7 * size**2
        )


@pytest.mark.parametrize("solver", [select("lcp_lemke"), oracle("lcp_pgs")])
def test_all_agree_where_the_solution_is_unique(rng, solver):
    for _ in range(50):
        problem = regular(rng, 6)
        judge = solve(oracle("lcp_enumeration"), problem)
        assert solve(solver, problem).z == pytest.approx(judge.z, abs=1e-7)


def test_murtys_example_takes_two_to_the_n_pivots():
    """Murty, Math.

    Programming Study 7 (1978): Lemke visits 2^n bases of this lower triangular problem, and ends.
    """
    n = 8
    M = np.tril(2.0 * np.ones((n, n)), -1) + np.eye(n)
    q = -np.array([2.0 ** (n + 1) - 2.0 ** (n - j) for j in range(n)])
    solution = solve(select("lcp_lemke"), lcp.problem(M, q))
    assert solution.ok and solution.iterations == 2**n
    half_way = solve(select("lcp_lemke", max_iterations=2 ** (n - 1)), lcp.problem(M, q))
    assert not half_way.ok and half_way.status == STALLED


def test_a_cyclic_matrix_ties_every_ratio():
    M = np.array([[1.0, 2.0, 0.0], [0.0, 1.0, 2.0], [2.0, 0.0, 1.0]])
    solution = solve(select("lcp_lemke"), lcp.problem(M, [-1.0, -1.0, -1.0]))
    assert solution.ok and solution.z == pytest.approx(np.full(3, 1.0 / 3.0), rel=1e-14)


def test_a_feasible_start_needs_no_pivot():
    solution = solve(select("lcp_lemke"), lcp.problem(np.eye(3), [1.0, 0.0, 2.0]))
    assert solution.ok and solution.iterations == 0 and not solution.z.any()


def test_infeasible_problems_end_on_a_ray_or_exhausted():
    problem = lcp.problem([[1.0, -1.0], [-1.0, 1.0]], [-1.0, -1.0])
    assert solve(select("lcp_lemke"), problem).status == RAY
    assert solve(oracle("lcp_enumeration"), problem).status == EXHAUSTED
    sweeps = solve(oracle("lcp_pgs", max_iterations=50), problem)
    assert sweeps.status == STALLED and sweeps.residual == lcp.error(problem, sweeps.z) > 0.1


def test_sweeps_refuse_a_diagonal_that_is_not_positive():
    solution = solve(oracle("lcp_pgs"), lcp.problem([[0.0, 1.0], [-1.0, 1.0]], [-1.0, 1.0]))
    assert not solution.ok and solution.status == SINGULAR


def test_units_do_not_matter():
    problem = regular(np.random.default_rng(0), 8)
    scaled = lcp.problem(1e-9 * problem.M, 1e6 * problem.q)
    a, b = (solve(select("lcp_lemke"), p) for p in (problem, scaled))
    assert b.ok and b.z == pytest.approx(1e15 * a.z, rel=1e-9)


def test_enumeration_says_what_it_can_take():
    with pytest.raises(
        ValueError, match="lcp_enumeration takes at most 20 unknowns, not 21; take lcp_lemke"
    ):
        solve(oracle("lcp_enumeration"), lcp.problem(np.eye(21), np.ones(21)))


def test_bad_input_gets_one_sentence():
    with pytest.raises(ValueError, match=r"M has shape \(2, 3\); it must be square"):
        lcp.problem(np.ones((2, 3)), np.ones(2))
    with pytest.raises(ValueError, match=r"q\[0\] is nan; every number must be finite"):
        lcp.problem(np.eye(2), [np.nan, 0.0])
