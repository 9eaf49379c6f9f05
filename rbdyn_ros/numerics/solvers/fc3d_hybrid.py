"""Friction by a sequence of methods: Gauss-Seidel to find what sticks and slides, Newton to
finish, ADMM and sweeps as fallbacks.

20 sweeps settle most problems or bring Newton close. Where Newton fails, it starts again from
ADMM's result, which hyperstatic stacks of unlike masses need, then from zero; at last
Gauss-Seidel has as many sweeps as are allowed, from the best so far, which is returned if it stays
the best. `iterations` counts all of them. Counts are passed as np.int64: for a literal, Numba
would compile the callee once more.
"""

import numpy as np

from rbdyn_ros.kernel import kernel
from rbdyn_ros.numerics.solvers import fc3d, fc3d_admm, fc3d_newton, fc3d_nsgs
from rbdyn_ros.numerics.solvers.solution import Options

DEFAULTS = Options(tolerance=1e-8, max_iterations=10000)

SWEEPS = 20  # before the first Newton
NEWTON_STEPS = 30  # at a time
ADMM_ITERATIONS = 500  # before the second Newton


@kernel
def iterate(problem, r, u, tolerance, max_iterations):
    """Run the whole sequence from r, in place, and return (iterations, residual); u (3n,) is work
    space.
    """
    done, residual = fc3d_nsgs.sweeps(problem, r, u, tolerance, min(SWEEPS, max_iterations))
    if residual <= tolerance or len(problem.mu) == 1:
        return done, residual
    best, least = r.copy(), residual
    for attempt in range(3):
        if attempt == 1:
            steps, residual = fc3d_admm.iterate(
                problem, r, u, tolerance, np.int64(ADMM_ITERATIONS)
            )
            done += steps
        elif attempt == 2:
            r[:] = 0.0
        steps, residual = fc3d_newton.iterate(problem, r, u, tolerance, np.int64(NEWTON_STEPS))
        done += steps
        if residual <= tolerance:
            return done, residual
        if residual < least:
            best[:] = r
            least = residual
    r[:] = best
    steps, residual = fc3d_nsgs.sweeps(problem, r, u, tolerance, max_iterations)
    if not residual <= least:
        r[:] = best
    return done + steps, min(residual, least)


@kernel
def solve(problem, guess, options):
    """Return the Solution from `guess` (3n,)."""
    r = guess.copy()
    done, _ = iterate(problem, r, np.empty_like(r), options.tolerance, options.max_iterations)
    return fc3d.finish(problem, r, done, options.tolerance)
