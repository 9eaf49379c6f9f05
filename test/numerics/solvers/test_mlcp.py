"""Mixed complementarity: Schur complement and Lemke against enumeration."""

import numpy as np
import pytest
from oracles import mlcp, oracle

from rbdyn_ros.numerics.solvers.registry import solve
from rbdyn_ros.numerics.solvers.solution import EXHAUSTED, SINGULAR

BOTH = "mlcp_lemke", "mlcp_enumeration"


def positive(rng, n, m):
    A, B = rng.normal(size=(2, n, n))
    return mlcp.problem(A @ A.T + 0.2 * np.eye(n) + B - B.T, rng.normal(size=n), m)


def test_both_solvers_agree(rng):
    for _ in range(200):
        n = int(rng.integers(1, 9))
        problem = positive(rng, n, int(rng.integers(0, n + 1)))
        lemke, judge = (solve(oracle(name), problem) for name in BOTH)
        assert lemke.ok and judge.ok and lemke.z == pytest.approx(judge.z, abs=1e-9)
        w = problem.M @ judge.z + problem.q
        assert np.abs(w[: problem.equations]).max(initial=0.0) < 1e-10
        assert np.minimum(w, judge.z)[problem.equations :].min(initial=0.0) > -1e-10


def test_a_bead_on_a_wire_before_a_wall():
    """x free with x - y = 1, wall 0 <= y _|_ lambda >= 0: M = [[1, -1], [1, 1]]."""
    problem = mlcp.problem([[1.0, -1.0], [1.0, 1.0]], [-1.0, -3.0], 1)
    for name in BOTH:
        assert solve(oracle(name), problem).z == pytest.approx([2.0, 1.0], rel=1e-14)


def test_a_singular_block_is_named_and_enumeration_goes_on():
    problem = mlcp.problem([[0.0, 1.0], [-1.0, 1.0]], [-2.0, 0.5], 1)
    lemke, judge = (solve(oracle(name), problem) for name in BOTH)
    assert (
        lemke.status == SINGULAR
        and not lemke.ok
        and lemke.residual == mlcp.error(problem, lemke.z)
    )
    assert judge.ok and judge.z == pytest.approx([2.5, 2.0], rel=1e-14)


def test_inconsistent_equations_are_exhausted():
    problem = mlcp.problem(
        [[1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 1.0]], [1.0, 2.0, -1.0], 2
    )
    assert solve(oracle("mlcp_enumeration"), problem).status == EXHAUSTED
    assert solve(oracle("mlcp_lemke"), problem).status == SINGULAR


@pytest.mark.parametrize("equations", [-1, 3, 0.5])
def test_bad_input_gets_one_sentence(equations):
    with pytest.raises(
        ValueError, match=f"equations is {equations}; it must be a whole number from 0 to 2"
    ):
        mlcp.problem(np.eye(2), np.zeros(2), equations)


@pytest.mark.parametrize("equations", ["1", None, 1j])
def test_a_count_that_is_no_number_is_named(equations):
    with pytest.raises(ValueError, match="equations is .*; it must be a whole number"):
        mlcp.problem(np.eye(2), np.ones(2), equations)
