"""Several contacts: every solver on the same mechanics, judged by the same conditions, and against
each other.
"""

import numpy as np
import pytest
from oracles import fc3d_modes

from benchmarks import contact_problems
from rbdyn_ros.numerics.solvers import fc3d
from rbdyn_ros.numerics.solvers.registry import names, select, solve
from rbdyn_ros.numerics.solvers.solution import NOT_FINITE, SINGULAR, SOLVED, STALLED, explain

from .coulomb import violations

SEVERAL = tuple(n for n in names("fc3d") if n != "fc3d_one_contact")


def solutions(solver, given, tolerance=1e-9):
    """All of them."""
    chosen = select(solver, tolerance)
    return [solve(chosen, problem) for problem in given]


@pytest.mark.parametrize("solver", SEVERAL)
def test_a_box_on_its_corners(solver):
    given = contact_problems.problems("box, 4 contacts")[:100]
    for problem, solution in zip(given, solutions(solver, given)):
        assert solution.ok and solution.status == SOLVED
        assert violations(*problem, solution.z) < 1e-7


@pytest.mark.parametrize("name", contact_problems.SETS)
def test_the_hybrid_solves_every_set(name):
    given = contact_problems.problems(name)
    for problem, solution in zip(given, solutions("fc3d_hybrid", given, 1e-8)):
        assert solution.ok, explain(solution)
        assert solution.residual == fc3d.error(problem, solution.z)


@pytest.mark.parametrize("name", ["stack 5x4, equal", "stack 5x4, top 20x"])
def test_admm_solves_hyperstatic_stacks(name):
    assert all(s.ok for s in solutions("fc3d_admm", contact_problems.problems(name)[:10], 1e-8))


@pytest.mark.parametrize("solver", SEVERAL)
def test_solvers_agree_on_regular_problems(solver, rng):
    """W positive definite and weakly coupled: one solution, whoever finds it."""
    for _ in range(30):
        A = rng.normal(size=(12, 12))
        W = np.eye(12) + 0.05 * (A + A.T)
        problem = fc3d.problem(W, rng.normal(size=12), rng.uniform(0.0, 0.8, 4))
        chosen, judge = select(solver, 1e-11), select("fc3d_nsgs", 1e-12)
        assert solve(chosen, problem).z == pytest.approx(solve(judge, problem).z, abs=1e-8)


@pytest.mark.parametrize("solver", SEVERAL)
def test_non_symmetric_delassus_matrices(solver, rng):
    for _ in range(30):
        A = rng.normal(size=(9, 9))
        problem = fc3d.problem(np.eye(9) + 0.1 * A, rng.normal(size=9), rng.uniform(0.0, 0.8, 3))
        solution = solve(select(solver, 1e-9), problem)
        assert solution.ok and violations(*problem, solution.z) < 1e-7


@pytest.mark.parametrize("solver", SEVERAL)
def test_frictionless_contacts(solver, rng):
    problem = contact_problems.stack(rng)._replace(mu=np.zeros(20))
    solution = solve(select(solver), problem)
    assert solution.ok and not solution.z.reshape(-1, 3)[:, 1:].any()


@pytest.mark.parametrize("solver", SEVERAL)
def test_contacts_that_are_all_separating_need_no_iteration(solver):
    q = np.array([0.1, 5.0, 1.0, 0.0, -2.0, 0.0])
    solution = solve(select(solver), fc3d.problem(np.eye(6), q, 0.5))
    assert solution.ok and solution.iterations == 0 and not solution.z.any()


@pytest.mark.parametrize("solver", SEVERAL)
def test_a_contact_given_twice_is_redundant_but_solved(solver):
    single = contact_problems.box(np.random.default_rng(4))
    twice = np.kron(np.ones((2, 2)), single.W)
    problem = fc3d.problem(twice, np.tile(single.q, 2), np.tile(single.mu, 2))
    assert np.linalg.matrix_rank(problem.W) < len(problem.q)
    solution = solve(select(solver), problem)
    assert solution.ok and violations(*problem, solution.z) < 1e-6


@pytest.mark.parametrize("solver", SEVERAL)
def test_inconsistent_contacts_are_said_to_be_singular(solver):
    """Two rows of one body that approach at different speeds along the same line, from opposite
    sides.
    """
    W = np.kron([[1.0, -1.0], [-1.0, 1.0]], np.eye(3))
    problem = fc3d.problem(W, [-1.0, 0.0, 0.0, -1.0, 0.0, 0.0], 0.3)
    solution = solve(select(solver, max_iterations=200), problem)
    assert not solution.ok and solution.status == SINGULAR
    assert solution.residual == fc3d.error(problem, solution.z) > 0.1


@pytest.mark.parametrize("solver", SEVERAL)
def test_running_out_of_iterations_is_said(solver):
    problem = contact_problems.bodies(np.random.default_rng(1), 3, 5)._replace(mu=np.full(5, 0.7))
    W = problem.W + 0.01 * np.eye(15)
    solution = solve(select(solver, 1e-14, 1), fc3d.problem(W, problem.q, problem.mu))
    if solver == "fc3d_hybrid":
        assert solution.status in (SOLVED, STALLED)
    else:
        assert not solution.ok and solution.status == STALLED and "stalled" in explain(solution)


@pytest.mark.parametrize("solver", SEVERAL)
def test_nan_that_appears_inside_a_loop_is_seen(solver):
    problem = contact_problems.box(np.random.default_rng(0))
    problem.q[4] = np.nan
    solution = select(solver).solve(problem, np.zeros(12), select(solver).options)
    assert not solution.ok and solution.status == NOT_FINITE


@pytest.mark.parametrize("solver", SEVERAL)
def test_a_good_guess_is_kept_and_the_guess_is_not_written_to(solver):
    problem = contact_problems.box(np.random.default_rng(7))
    first = solve(select(solver, 1e-10), problem)
    guess = first.z.copy()
    second = solve(select(solver, 1e-9), problem, guess)
    assert (
        second.iterations == 0
        and second.z == pytest.approx(first.z, abs=1e-14)
        and np.array_equal(guess, first.z)
    )


@pytest.mark.parametrize(("n", "count"), [(1, 60), (2, 25)])
def test_either_impulses_are_found_or_none_exist(n, count):
    """Contacts of a body that moves in few ways: the solver finds impulses where the search
    through all modes does not prove that there are none, and only there.
    """
    random, solver, without = np.random.default_rng(n), select("fc3d_hybrid"), 0
    for _ in range(count):
        m = int(random.integers(1, 2 * n + 1))
        J, mu = random.normal(size=(3 * n, m)), random.uniform(0.0, 1.5, n)
        q = J @ random.normal(size=m) if random.random() < 0.5 else random.normal(size=3 * n)
        q[::3] -= 1.0
        problem = fc3d.problem(J @ J.T, q, mu)
        is_without = fc3d_modes.is_without_impulses(problem)
        assert is_without != solve(solver, problem).ok, problem
        without += is_without
    assert 3 < without < count - 3
