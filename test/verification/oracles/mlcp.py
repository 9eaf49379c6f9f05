"""The mixed linear complementarity problem and its error.

w = M z + q,   w_i = 0, z_i free for i < equations,   0 <= z_i _|_ w_i >= 0  for the others   (S.5)
"""

from typing import NamedTuple

from rbdyn_ros.kernel import kernel
from rbdyn_ros.numerics import arguments
from rbdyn_ros.numerics.solvers import lcp
from rbdyn_ros.numerics.solvers.solution import assess
from rbdyn_ros.types import Array


class Problem(NamedTuple):
    """A mixed linear complementarity problem, made by `problem`, which checks it."""

    M: Array  # (n, n)
    q: Array  # (n,)
    equations: int  # the first rows, whose z is free


def problem(M, q, equations: int) -> Problem:
    """Return the problem of M (n, n), q (n,) with 0 <= equations <= n. Raise ValueError naming
    what does not fit.
    """
    M = arguments.square(M, "M")
    equations = arguments.count(equations, "equations", 0, len(M))
    return Problem(M, arguments.vector(q, "q", len(M)), equations)


@kernel
def error(problem, z):
    """Return how far z (n,) is from solving the problem: |(w_equations, min(w, s z))| / |q| [-]
    (S.6).
    """
    return lcp.mixed_error(problem.M, problem.q, problem.equations, z)


@kernel
def finish(problem, z, iterations, tolerance, failure):
    """Return the Solution for z with its true residual, and with the status `failure` where that
    exceeds the tolerance.
    """
    return assess(z, error(problem, z), iterations, tolerance, failure)
