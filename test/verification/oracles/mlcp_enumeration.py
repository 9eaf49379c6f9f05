"""Mixed complementarity by trying all supports of its inequalities, the equations always among
them.

It is the reference for mlcp_lemke, and works where the equations' own block is singular.
"""

from rbdyn_ros.kernel import kernel

from . import lcp_enumeration, mlcp
from .lcp_enumeration import DEFAULTS  # noqa: F401, read by `oracle`


def check(problem: mlcp.Problem) -> None:
    """Raise ValueError for a problem that would take too long."""
    lcp_enumeration.require_few(len(problem.q) - problem.equations, "inequalities", "mlcp")


@kernel
def solve(problem, guess, options):
    """Return the Solution by enumeration; `guess` is not used.

    The status is EXHAUSTED if no support solves the problem.
    """
    M, q, m = problem.M, problem.q, problem.equations
    z, tried, failure = lcp_enumeration.try_supports(M, q, m, options)
    return mlcp.finish(problem, z, tried, options.tolerance, failure)
