"""Friction by the alternating direction method of multipliers, for large and hyperstatic stacks.

For a given s, W r + q + s e_N with r in K_mu is a cone programme. With z in K_mu a copy of r, y the scaled multiplier and
rho > 0 the penalty (S.21):

    r := (W + rho)^-1 (rho (z - y) - q - s),    z := proj_K(x r + (1 - x) z + y),    y := y + x r + (1 - x) z_old - z,
    s := mu |u_T|   with   u + s = -rho y.

s comes from the multiplier: taken from W z + q the iteration diverges. x = 1.6 over-relaxes; rho follows the ratio of
primal to dual residual. Sources: Boyd et al., Found. Trends Mach. Learn. 3 (2011); Acary, Bremond, Huber, On solving
contact problems with Coulomb friction (2018).
"""

import numpy as np

from rbdyn_ros.geometry import vec
from rbdyn_ros.kernel import kernel
from rbdyn_ros.numerics import linear
from rbdyn_ros.solvers import fc3d
from rbdyn_ros.solvers.solution import Options

DEFAULTS = Options(tolerance=1e-8, max_iterations=10000)

_RELAXATION = 1.6
_CHECK = 10  # iterations between two looks at the residuals
_UNBALANCED = 3.0  # ratio of the residuals from which rho follows
_LARGEST_CHANGE = 10.0  # of rho at once


@kernel
def resolvent(W, rho):
    """(W + rho)^-1."""
    A = W.copy()
    for k in range(len(A)):
        A[k, k] += rho
    return linear.inverse(A)


@kernel
def iterate(problem, z, u, tolerance, max_iterations):
    """(iterations, residual): from z in K_mu, in place; u (3n,) is work space."""
    W, q, mu = problem.W, problem.q, problem.mu
    w, size = fc3d.scales(problem)
    fc3d.velocities(problem, z, u)
    residual = fc3d.error_at(z, u, mu, w, size)
    rho, n = w, len(mu)
    inverse = resolvent(W, rho)
    y, b, r = -u / rho, np.empty_like(q), np.empty_like(q)
    for i in range(n):
        y[3 * i] -= mu[i] * (u[3 * i + 1] ** 2 + u[3 * i + 2] ** 2) ** 0.5 / rho
    primal = dual = 0.0
    done = 0
    while done < max_iterations and residual > tolerance:
        for i in range(n):
            for k in range(3 * i, 3 * i + 3):
                b[k] = rho * (z[k] - y[k]) - q[k]
            b[3 * i] -= mu[i] * rho * (y[3 * i + 1] ** 2 + y[3 * i + 2] ** 2) ** 0.5
        linear.multiply(inverse, b, r)
        primal = dual = 0.0
        for i in range(n):
            old = fc3d.part(z, i)
            relaxed = vec.axpy(_RELAXATION, fc3d.part(r, i), vec.scale(1.0 - _RELAXATION, old))
            lifted = vec.add(relaxed, fc3d.part(y, i))
            new = fc3d.projected(lifted, mu[i])
            fc3d.put(z, i, new)
            fc3d.put(y, i, vec.sub(lifted, new))
            primal = max(primal, vec.size(vec.sub(fc3d.part(r, i), new)))
            dual = max(dual, vec.size(vec.sub(new, old)))
        done += 1
        if done % _CHECK == 0 or done == max_iterations:
            fc3d.velocities(problem, z, u)
            residual = fc3d.error_at(z, u, mu, w, size)
            ratio = (primal / dual) if dual > 0.0 else _LARGEST_CHANGE
            if max(ratio, 1.0 / ratio) > _UNBALANCED:
                change = min(max(ratio**0.5, 1.0 / _LARGEST_CHANGE), _LARGEST_CHANGE)
                rho *= change
                y /= change
                inverse = resolvent(W, rho)
    return done, residual


@kernel
def solve(problem, guess, options):
    """The Solution from `guess` (3n,), projected on the cones."""
    z = guess.copy()
    for i in range(len(problem.mu)):
        fc3d.put(z, i, fc3d.projected(fc3d.part(z, i), problem.mu[i]))
    done, _ = iterate(problem, z, np.empty_like(z), options.tolerance, options.max_iterations)
    return fc3d.finished(problem, z, done, options.tolerance)
