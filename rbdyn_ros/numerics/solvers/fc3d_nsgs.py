"""Friction, contact after contact: nonsmooth Gauss-Seidel with the exact local solver.

Sweep i = 1..n: with u = W r + q, contact i sees q_i' = u_i - W_ii r_i and takes its exact impulse
(S.15 to S.17); u is updated by the columns of what has changed, so that an open contact costs
nothing and the residual is free. Source: Jean, The non-smooth contact dynamics method, Comput.
Methods Appl. Mech. Eng. 177 (1999).
"""

import numpy as np

from rbdyn_ros.geometry import vec
from rbdyn_ros.kernel import kernel
from rbdyn_ros.numerics.solvers import fc3d, fc3d_one_contact
from rbdyn_ros.numerics.solvers.solution import Options

DEFAULTS = Options(tolerance=1e-8, max_iterations=10000)


@kernel
def sweep(W, mu, r, u):
    """Sweep once over the contacts; r and u = W r + q (3n,) are updated in place, nothing is
    allocated.
    """
    for i in range(len(mu)):
        W_ii, old = fc3d.block(W, i), fc3d.part(r, i)
        q_i = vec.sub(fc3d.part(u, i), vec.matvec(W_ii, old))
        new = fc3d_one_contact.contact(W_ii, q_i, mu[i], old, fc3d_one_contact.FLAT).r
        d = vec.sub(new, old)
        if vec.size(d) > 0.0:
            fc3d.put(r, i, new)
            for k in range(len(u)):
                u[k] += W[k, 3 * i] * d[0] + W[k, 3 * i + 1] * d[1] + W[k, 3 * i + 2] * d[2]


@kernel
def sweeps(problem, r, u, tolerance, max_iterations):
    """Sweep until the error is below the tolerance and return (sweeps done, residual); r in place,
    u (3n,) is work space.

    The sweeps end early where an impulse is no longer finite.
    """
    w, size = fc3d.scales(problem)
    fc3d.velocities(problem, r, u)
    residual = fc3d.error_at(r, u, problem.mu, w, size)
    done = 0
    while done < max_iterations and residual > tolerance:
        sweep(problem.W, problem.mu, r, u)
        done += 1
        residual = fc3d.error_at(r, u, problem.mu, w, size)
    return done, residual


@kernel
def solve(problem, guess, options):
    """Return the Solution by sweeps from `guess` (3n,)."""
    r = guess.copy()
    done, _ = sweeps(problem, r, np.empty_like(r), options.tolerance, options.max_iterations)
    return fc3d.finish(problem, r, done, options.tolerance)
