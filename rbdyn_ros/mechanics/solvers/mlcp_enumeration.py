"""Mixed complementarity by trying all supports of its inequalities, the equations always among
them.

The judge of mlcp_lemke, and what is left where the equations' own block is singular.
"""

import numpy as np

from rbdyn_ros.kernel import kernel
from rbdyn_ros.mechanics.solvers import lcp, lcp_enumeration, mlcp
from rbdyn_ros.mechanics.solvers.solution import EXHAUSTED, STALLED, Options

DEFAULTS = Options(tolerance=1e-10, max_iterations=2**20)


def check(problem: mlcp.Problem) -> None:
    """ValueError for a problem that would take too long."""
    inequalities, largest = len(problem.q) - problem.equations, lcp_enumeration.LARGEST
    if inequalities > largest:
        raise ValueError(
            f"mlcp_enumeration takes at most {largest} inequalities, not {inequalities}; take "
            "mlcp_lemke"
        )


@kernel
def solve(problem, guess, options):
    """The Solution by enumeration; `guess` is not used.

    EXHAUSTED if no support solves the problem.
    """
    M, q, m = problem.M, problem.q, problem.equations
    best, least = np.zeros_like(q), np.inf
    support = np.ones(len(q), np.bool_)
    tried, all_of_them = 0, 2 ** (len(q) - m)
    while tried < min(all_of_them, options.max_iterations) and not least <= options.tolerance:
        for i in range(m, len(q)):
            support[i] = (tried >> (i - m)) & 1
        tried += 1
        z = lcp.on_support(M, q, support)
        residual = mlcp.error(problem, z)
        if residual < least:
            best, least = z, residual
    return mlcp.finished(
        problem, best, tried, options.tolerance, EXHAUSTED if tried == all_of_them else STALLED
    )
