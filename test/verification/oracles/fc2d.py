"""Contacts with Coulomb friction in the plane: the problem, its error, and the same problem in
space (doc/nonsmooth.md, S.8).

n contacts, each with a frame (normal, tangent): u = W r + q (2n,), and (S.10) with |r_T| <= mu
r_N.
"""

from typing import NamedTuple

import numpy as np

from rbdyn_ros.numerics import arguments
from rbdyn_ros.numerics.solvers import fc3d
from rbdyn_ros.types import Array


class Problem(NamedTuple):
    """n planar contacts as matrices, made by `problem`, which checks them."""

    W: Array  # (2n, 2n) Delassus matrix [1/kg]
    q: Array  # (2n,) velocity without contact impulses [m/s]
    mu: Array  # (n,) friction coefficients [-]


def problem(W, q, mu) -> Problem:
    """Return the problem of W (2n, 2n), q (2n,), mu (n,) or one number for all. Raise ValueError
    naming what does not fit.
    """
    W = arguments.square(W, "W", block=2)
    return Problem(
        W, arguments.vector(q, "q", len(W)), arguments.coefficients(mu, "mu", len(W) // 2)
    )


def in_space(problem: Problem) -> fc3d.Problem:
    """Return the same contacts in space, with a second tangent that nothing moves: its solutions
    have r_T2 = 0.

    The second tangents get W_T2T2 = mean diagonal of W, uncoupled, and q_T2 = 0. A sliding r_T2 =
    -c u_T2 = -c W_T2T2 r_T2, c >= 0, vanishes, and so does a sticking one. Every solver of fc3d
    thus solves planar problems.
    """
    n = len(problem.mu)
    plane = in_plane(n)
    W, q = np.zeros((3 * n, 3 * n)), np.zeros(3 * n)
    W[np.ix_(plane, plane)], q[plane] = problem.W, problem.q
    trace = np.trace(problem.W)
    W[2::3, 2::3] = np.eye(n) * (trace / (2 * n) if trace > 0.0 else 1.0)
    return fc3d.Problem(W, q, problem.mu)


def in_plane(n: int) -> Array:
    """Return the places of the 2n planar components among the 3n in space."""
    return np.delete(np.arange(3 * n), np.s_[2::3])


def error(problem: Problem, r: Array) -> float:
    """Return how far r (2n,) is from solving the problem: the `fc3d.error` of the one `in_space`
    [-].
    """
    lifted = np.zeros(3 * len(problem.mu))
    lifted[in_plane(len(problem.mu))] = r
    return fc3d.error(in_space(problem), lifted)
