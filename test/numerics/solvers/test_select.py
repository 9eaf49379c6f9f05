"""Solvers by name: what is known, what is refused, and with which sentence."""

from importlib import import_module

import numpy as np
import pytest

from rbdyn_ros.numerics.solvers import fc3d, lcp
from rbdyn_ros.numerics.solvers.registry import names, select, solve
from rbdyn_ros.numerics.solvers.solution import MEANINGS, explain


def test_every_name_can_be_selected():
    for name in names():
        assert select(name).name == name
    assert set(names("lcp")) == {"lcp_lemke"}
    assert {"fc3d_admm", "fc3d_hybrid", "fc3d_newton", "fc3d_nsgs", "fc3d_one_contact"} == set(
        names("fc3d")
    )


def test_defaults_are_the_solvers_own():
    assert select("fc3d_newton").options == (1e-8, 100)
    assert select("fc3d_newton", 1e-6, 7).options == (1e-6, 7)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (dict(name="fc3d_magic"), "the solver is 'fc3d_magic'; known are fc3d_admm"),
        (dict(name="fc3d"), "the solver is 'fc3d'; known are"),
        (dict(name="../select"), "the solver is '../select'; known are"),
        (
            dict(name="fc3d_nsgs", tolerance=0.0),
            "tolerance is 0.0; it must be > 0 and <= 0.001",
        ),
        (dict(name="fc3d_nsgs", tolerance=float("nan")), "tolerance is nan; it must be > 0"),
        (
            dict(name="fc3d_nsgs", max_iterations=0),
            "max_iterations is 0; it must be a whole number from 1 to 1e\\+09",
        ),
        (
            dict(name="fc3d_nsgs", max_iterations=2.5),
            "max_iterations is 2.5; it must be a whole number",
        ),
    ],
)
def test_bad_names_and_numbers_get_one_sentence(arguments, sentence):
    with pytest.raises(ValueError, match=sentence):
        select(**arguments)


def test_a_problem_of_another_kind_is_refused():
    with pytest.raises(
        ValueError,
        match="lcp_lemke solves a lcp.Problem, not a ndarray; make one with lcp.problem",
    ):
        solve(select("lcp_lemke"), np.eye(3))
    with pytest.raises(ValueError, match="fc3d_nsgs solves a fc3d.Problem"):
        solve(select("fc3d_nsgs"), lcp.problem(np.eye(3), np.zeros(3)))


def test_a_guess_of_another_shape_is_refused():
    problem = fc3d.problem(np.eye(3), np.zeros(3), 0.5)
    with pytest.raises(ValueError, match=r"guess has shape \(2,\); it must be \(3,\)"):
        solve(select("fc3d_nsgs"), problem, np.zeros(2))


def test_explain_puts_every_status_in_words():
    solution = solve(select("fc3d_nsgs"), fc3d.problem(np.eye(3), [-1.0, 0.0, 0.0], 0.5))
    assert explain(solution).startswith("solved: ") and "iterations" in explain(solution)
    assert len(MEANINGS) == 6


@pytest.mark.parametrize("of_q", [1e-300, 1e-160, 1e-100, 1e150, 1e300])
@pytest.mark.parametrize("name", names())
def test_very_small_and_very_large_numbers_are_solved(name, of_q):
    """Of q = 1e-160 the square is 0: z = 0 was taken for the solution."""
    kind, rng = name.split("_")[0], np.random.default_rng(1)
    module, n = import_module(f"rbdyn_ros.numerics.solvers.{kind}"), 3
    A = rng.normal(size=(n, n))
    M, q = A @ A.T + np.eye(n), np.array([-1.0, 0.3, 0.2])
    last = () if kind == "lcp" else (0.4,)
    expected = solve(select(name), module.problem(M, q, *last))
    found = solve(select(name), module.problem(M, of_q * q, *last))
    stiff = solve(select(name), module.problem(1e200 * M, q, *last))
    assert expected.ok and found.ok and stiff.ok
    np.testing.assert_allclose(found.z / of_q, expected.z, atol=1e-7)
    np.testing.assert_allclose(stiff.z * 1e200, expected.z, atol=1e-7)


def test_a_solution_beyond_the_largest_number_is_not_called_solved():
    found = solve(select("lcp_lemke"), lcp.problem([[1e-200]], [-1e200]))
    assert not found.ok and "not finite" in explain(found)
