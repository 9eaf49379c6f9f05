"""Solvers by name, and the call from Python that checks its arguments."""

import math
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

from rbdyn_ros.numerics import arguments
from rbdyn_ros.numerics.solvers.solution import NOT_FINITE, Options, Solution

_SMALL = 1e-60  # of the largest number: products of four such still have all their digits


class Solver(NamedTuple):
    """A solver with its numbers: `solve(problem, guess, options) -> Solution` is a kernel and
    checks nothing.
    """

    name: str
    problem: ModuleType  # the module of its Problem: lcp, fc3d
    solve: Callable[[Any, np.ndarray, Options], Solution]  # (problem, guess, options)
    options: Options
    check: Callable[[Any], None]  # (Problem): ValueError where the method does not apply


def names(problem: str = "") -> tuple[str, ...]:
    """Return the names of the known solvers, alphabetically, of one problem ("lcp", "fc3d") or of
    all.
    """
    files = sorted(Path(__file__).parent.glob(f"{problem}*_*.py"))
    return tuple(f.stem for f in files if "\ndef solve(" in f.read_text("utf-8"))


def select(name: str, tolerance: float | None = None, max_iterations: int | None = None) -> Solver:
    """Return the solver `name`; None stands for the solver's own default.

    Raise ValueError for an unknown name, a bad number.
    """
    if name not in names():
        raise ValueError(f"the solver is '{name}'; known are {', '.join(names())}")
    method = import_module(f"rbdyn_ros.numerics.solvers.{name}")
    defaults = method.DEFAULTS
    epsilon: float = defaults.tolerance if tolerance is None else float(tolerance)
    most: int = defaults.max_iterations if max_iterations is None else max_iterations
    arguments.number(epsilon, "the solver's tolerance", 0.0, 1e-3, open_low=True)
    most = arguments.count(most, "the solver's max_iterations", 1, 1e9)
    problem = import_module(f"rbdyn_ros.numerics.solvers.{name.split('_')[0]}")
    check = getattr(method, "check", lambda problem: None)  # most apply everywhere
    return Solver(name, problem, method.solve, Options(epsilon, most), check)


def solve(solver: Solver, problem, guess=None) -> Solution:
    """Solve a problem of the solver's kind from `guess` (zero without one), in units in which the
    largest numbers have squares.

    Raise ValueError for a problem of another kind or one that the method does not admit, and for a
    guess of a wrong shape.
    """
    if not isinstance(problem, solver.problem.Problem):
        kind = solver.problem.__name__.rpartition(".")[2]
        given = type(problem).__name__
        raise ValueError(
            f"{solver.name} solves a {kind}.Problem, not a {given}; make one with {kind}.problem"
        )
    solver.check(problem)
    size = len(problem.q)
    guess = np.zeros(size) if guess is None else arguments.vector(guess, "guess", size)
    (name, matrix), q = next(iter(problem._asdict().items())), problem.q
    of_matrix, of_q = _unit(matrix), _unit(q)
    if of_matrix == of_q == 1.0:
        return solver.solve(problem, guess, solver.options)
    scaled = problem._replace(**{name: matrix / of_matrix, "q": q / of_q})
    solution = solver.solve(scaled, guess / of_q * of_matrix, solver.options)
    with np.errstate(over="ignore"):
        z = solution.z / of_matrix * of_q
    if solution.ok and not np.isfinite(z).all():
        return solution._replace(z=z, status=NOT_FINITE, residual=np.inf, ok=False)
    return solution._replace(z=z)


def _unit(numbers: np.ndarray) -> float:
    """Return the power of 2 by which the numbers are divided so that the squares of the largest
    neither overflow nor vanish; 1 where that is so already.
    """
    largest = float(np.abs(numbers).max(initial=0.0))
    if largest == 0.0 or _SMALL <= largest <= 1.0 / _SMALL:
        return 1.0
    return math.ldexp(1.0, max(math.frexp(largest)[1], -1021))
