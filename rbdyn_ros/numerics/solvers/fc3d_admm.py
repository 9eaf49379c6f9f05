"""Friction by the alternating direction method of multipliers, for large and hyperstatic stacks.

For a given s, W r + q + s e_N with r in K_mu is a cone programme. With z in K_mu a copy of r, y
the scaled multiplier and rho > 0 the penalty (S.21):

    r := (W + rho)^-1 (rho (z - y) - q - s),   z := proj_K(r + y),   y := y + r - z,
    s := mu |u_T|  with  u + s = -rho y.

s comes from the multiplier: taken from W z + q the iteration diverges. rho follows the ratio of
the primal residual r - z to the dual one, the change of z. Over-relaxation was tried: it saves a
third of the iterations of the easy problems and triples those of the hard ones. Sources: Boyd et
al., Found. Trends Mach. Learn. 3 (2011); Acary, Bremond, Huber, On solving contact problems with
Coulomb friction (2018).
"""

import numpy as np

from rbdyn_ros.geometry import vec
from rbdyn_ros.kernel import kernel
from rbdyn_ros.numerics import linear
from rbdyn_ros.numerics.solvers import fc3d
from rbdyn_ros.numerics.solvers.solution import Options

DEFAULTS = Options(tolerance=1e-8, max_iterations=10000)

_CHECK = 10  # iterations between two evaluations of the residuals
_UNBALANCED = 1.7  # factor from which rho follows
_LARGEST_CHANGE = 10.0  # of rho at once
_LARGEST_PENALTY = 1e6  # rho stays within this factor of W's mean diagonal


@kernel
def resolvent(W, rho):
    """Return (W + rho)^-1."""
    A = W.copy()
    for k in range(len(A)):
        A[k, k] += rho
    return np.ascontiguousarray(linear.inverse(A))


@kernel
def start(u, mu, rho):
    """Return y = -(u + mu |u_T| e_N) / rho."""
    y = -u / rho
    for i in range(len(mu)):
        y[3 * i] -= mu[i] * fc3d.tangential(fc3d.part(u, i)) / rho
    return y


@kernel
def iterate_once(problem, inverse, rho, r, z, y, b):
    """Iterate once (S.21), r, z, y in place; b (3n,) is work space."""
    for i in range(len(problem.mu)):
        for k in range(3 * i, 3 * i + 3):
            b[k] = rho * (z[k] - y[k]) - problem.q[k]
        b[3 * i] -= problem.mu[i] * rho * fc3d.tangential(fc3d.part(y, i))
    linear.multiply(inverse, b, r)
    for i in range(len(problem.mu)):
        lifted = vec.add(fc3d.part(r, i), fc3d.part(y, i))
        new = fc3d.project(lifted, problem.mu[i])
        fc3d.put(z, i, new)
        fc3d.put(y, i, vec.sub(lifted, new))


@kernel
def imbalance(r, z, old):
    """Return sqrt(|r - z| / |z - z_old|), primal to dual residual, kept within 1/10 to 10: the
    factor by which rho should grow.
    """
    primal = dual = 0.0
    for k in range(len(r)):
        primal += (r[k] - z[k]) ** 2
        dual += (z[k] - old[k]) ** 2
    if primal == 0.0 and dual == 0.0:
        return 1.0
    return min(max((primal / dual) ** 0.25, 1.0 / _LARGEST_CHANGE), _LARGEST_CHANGE)


@kernel
def iterate(problem, z, u, tolerance, max_iterations):
    """Iterate from z in K_mu, in place, and return (iterations, residual); u (3n,) is work
    space.
    """
    W, mu = problem.W, problem.mu
    w, size = fc3d.scales(problem)
    fc3d.velocities(problem, z, u)
    residual = fc3d.error_at(z, u, mu, w, size)
    rho, inverse = w, resolvent(W, w)
    y, r, b, old = start(u, mu, rho), np.empty_like(z), np.empty_like(z), np.empty_like(z)
    done = 0
    while done < max_iterations and residual > tolerance:
        old[:] = z
        iterate_once(problem, inverse, rho, r, z, y, b)
        done += 1
        if done % _CHECK == 0 or done == max_iterations:
            fc3d.velocities(problem, z, u)
            residual = fc3d.error_at(z, u, mu, w, size)
            change = imbalance(r, z, old)
            if max(change, 1.0 / change) > _UNBALANCED:
                change = min(max(rho * change, w / _LARGEST_PENALTY), w * _LARGEST_PENALTY) / rho
                rho *= change
                y /= change
                inverse = resolvent(W, rho)
    return done, residual


@kernel
def solve(problem, guess, options):
    """Return the Solution from `guess` (3n,), projected on the cones."""
    z = guess.copy()
    for i in range(len(problem.mu)):
        fc3d.put(z, i, fc3d.project(fc3d.part(z, i), problem.mu[i]))
    done, _ = iterate(problem, z, np.empty_like(z), options.tolerance, options.max_iterations)
    return fc3d.finish(problem, z, done, options.tolerance)
