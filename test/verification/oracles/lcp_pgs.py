"""Linear complementarity by projected Gauss-Seidel: z_i := max(0, z_i - w_i / M_ii), row after
row.

It converges for a symmetric positive semidefinite M with a positive diagonal, slowly where M is
ill conditioned, but no degeneracy stops it. Source: Cryer, SIAM J. Control 9 (1971) 385.
"""

import numpy as np

from rbdyn_ros.kernel import kernel
from rbdyn_ros.numerics.solvers import lcp
from rbdyn_ros.numerics.solvers.solution import SINGULAR, STALLED, Options

DEFAULTS = Options(tolerance=1e-10, max_iterations=100000)

_CHECK = 8  # sweeps between two evaluations of the error


@kernel
def sweep(M, q, z):
    """Sweep once over the rows, z (n,) in place."""
    for i in range(len(q)):
        w = q[i]
        for j in range(len(q)):
            w += M[i, j] * z[j]
        z[i] = max(0.0, z[i] - w / M[i, i])


@kernel
def solve(problem, guess, options):
    """Return the Solution by sweeps from max(0, guess).

    The status is SINGULAR at once where a diagonal entry is not positive.
    """
    M, q = problem.M, problem.q
    z = np.maximum(guess, 0.0)
    for i in range(len(q)):
        if not M[i, i] > 0.0:
            return lcp.finish(problem, z, 0, options.tolerance, SINGULAR)
    done = 0
    while done < options.max_iterations:
        if done % _CHECK == 0 and not lcp.error(problem, z) > options.tolerance:
            break
        sweep(M, q, z)
        done += 1
    return lcp.finish(problem, z, done, options.tolerance, STALLED)
