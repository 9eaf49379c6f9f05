"""Linear complementarity by trying all 2^n supports: slow, exact, the reference for the others.

For each support a: z_a = -M_aa^-1 q_a, z = 0 elsewhere; the first whose error is within the
tolerance is the solution. A support whose M_aa is singular is skipped.
"""

import numpy as np

from rbdyn_ros.kernel import kernel
from rbdyn_ros.numerics.solvers import lcp
from rbdyn_ros.numerics.solvers.solution import EXHAUSTED, STALLED, Options

DEFAULTS = Options(tolerance=1e-10, max_iterations=2**20)

LARGEST = 20  # unknowns


def check(problem: lcp.Problem) -> None:
    """Raise ValueError for a problem that would take too long."""
    require_few(len(problem.q), "unknowns", "lcp")


def require_few(count: int, what: str, kind: str) -> None:
    """Raise ValueError for a count above LARGEST."""
    if count > LARGEST:
        raise ValueError(
            f"{kind}_enumeration takes at most {LARGEST} {what}, not {count}; take {kind}_lemke"
        )


@kernel
def try_supports(M, q, equations, options):
    """Solve on one support after the other, the equations always among them, until one is within
    the tolerance. Return (z, how many were tried, EXHAUSTED or STALLED).
    """
    best, least = np.zeros_like(q), np.inf
    support = np.ones(len(q), np.bool_)
    tried, supports = 0, 2 ** (len(q) - equations)
    while tried < min(supports, options.max_iterations) and not least <= options.tolerance:
        for i in range(equations, len(q)):
            support[i] = (tried >> (i - equations)) & 1
        tried += 1
        z = lcp.on_support(M, q, support)
        residual = lcp.mixed_error(M, q, equations, z)
        if residual < least:
            best, least = z, residual
    return best, tried, EXHAUSTED if tried == supports else STALLED


@kernel
def solve(problem, guess, options):
    """Return the Solution by enumeration; `guess` is not used.

    The status is EXHAUSTED if no support solves the problem.
    """
    z, tried, failure = try_supports(problem.M, problem.q, 0, options)
    return lcp.finish(problem, z, tried, options.tolerance, failure)
