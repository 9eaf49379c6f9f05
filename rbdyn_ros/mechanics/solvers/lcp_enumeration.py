"""Linear complementarity by trying all 2^n supports: slow, exact, the judge of the others.

For each support a: z_a = -M_aa^-1 q_a, z = 0 elsewhere; the first whose error is within the
tolerance is the solution. A support whose M_aa is singular is passed over.
"""

import numpy as np

from rbdyn_ros.kernel import kernel
from rbdyn_ros.mechanics.solvers import lcp
from rbdyn_ros.mechanics.solvers.solution import EXHAUSTED, STALLED, Options

DEFAULTS = Options(tolerance=1e-10, max_iterations=2**20)

LARGEST = 20  # unknowns


def check(problem: lcp.Problem) -> None:
    """ValueError for a problem that would take too long."""
    if len(problem.q) > LARGEST:
        raise ValueError(
            f"lcp_enumeration takes at most {LARGEST} unknowns, not {len(problem.q)}; take "
            "lcp_lemke"
        )


@kernel
def solve(problem, guess, options):
    """The Solution by enumeration; `guess` is not used.

    EXHAUSTED if no support solves the problem.
    """
    M, q, n = problem.M, problem.q, len(problem.q)
    best, least = np.zeros_like(q), np.inf
    support = np.empty(n, np.bool_)
    tried = 0
    while tried < min(2**n, options.max_iterations) and not least <= options.tolerance:
        for i in range(n):
            support[i] = (tried >> i) & 1
        tried += 1
        z = lcp.on_support(M, q, support)
        residual = lcp.error(problem, z)
        if residual < least:
            best, least = z, residual
    return lcp.finished(
        problem, best, tried, options.tolerance, EXHAUSTED if tried == 2**n else STALLED
    )
