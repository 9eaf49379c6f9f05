"""Mixed complementarity: the equations are eliminated, the rest is solved by Lemke's method.

With M = [[A, C], [D, B]], q = (a, b), z = (u, v):  u = -A^-1 (C v + a), and v solves the linear
complementarity problem of the Schur complement,

    w = (B - D A^-1 C) v + b - D A^-1 a.                                                      (S.7)

The status is SINGULAR for a singular A; mlcp_enumeration does not need A^-1.
"""

import numpy as np

from rbdyn_ros.kernel import kernel
from rbdyn_ros.numerics import linear
from rbdyn_ros.numerics.solvers import lcp, lcp_lemke
from rbdyn_ros.numerics.solvers.solution import SINGULAR, Options

from . import mlcp

DEFAULTS = Options(tolerance=1e-10, max_iterations=10000)


@kernel
def solve(problem, guess, options):
    """Return the Solution by Schur complement and pivots; `guess` is not used."""
    M, q, m = problem.M, problem.q, problem.equations
    z = np.zeros_like(q)
    if m == 0:
        alone = lcp_lemke.solve(lcp.Problem(M, q), guess, options)
        return mlcp.finish(problem, alone.z, alone.iterations, options.tolerance, alone.status)
    A_inverse = np.ascontiguousarray(linear.inverse(M[:m, :m].copy()))
    if not np.isfinite(A_inverse).all():
        return mlcp.finish(problem, z, 0, options.tolerance, SINGULAR)
    AC, Aa = A_inverse @ M[:m, m:].copy(), A_inverse @ q[:m]
    D = M[m:, :m].copy()
    schur = lcp.Problem(M[m:, m:] - D @ AC, q[m:] - D @ Aa)
    inner = lcp_lemke.solve(schur, guess, options)
    z[m:] = inner.z
    z[:m] = -Aa - AC @ inner.z
    return mlcp.finish(problem, z, inner.iterations, options.tolerance, inner.status)
