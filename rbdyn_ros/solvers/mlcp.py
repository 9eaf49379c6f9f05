"""The mixed linear complementarity problem and its error (doc/nonsmooth.md, S.5, S.6).

    w = M z + q,    w_i = 0, z_i free  for i < equations,    0 <= z_i  _|_  w_i >= 0  for the others         (S.5)
"""

from typing import NamedTuple

import numpy as np

from rbdyn_ros.kernel import kernel
from rbdyn_ros.numerics import linear
from rbdyn_ros.solvers import arguments, lcp
from rbdyn_ros.solvers.solution import NOT_FINITE, SOLVED, Solution
from rbdyn_ros.types import Array


class Problem(NamedTuple):
    """Make it with `problem`, which checks."""

    M: Array  # (n, n)
    q: Array  # (n,)
    equations: int  # the first rows, whose z is free


def problem(M, q, equations: int) -> Problem:
    """The problem of M (n, n), q (n,) with 0 <= equations <= n; ValueError names what does not fit."""
    M = arguments.square(M, "M")
    if equations != int(equations) or not 0 <= equations <= len(M):
        raise ValueError(f"equations is {equations}; it must be a whole number from 0 to {len(M)}, the rows of M")
    return Problem(M, arguments.vector(q, "q", len(M)), int(equations))


@kernel
def error(problem, z):
    """How far z (n,) is from solving the problem: |(w_equations, min(w, s z))| / |q| [-]   (S.6)."""
    M, q = problem.M, problem.q
    w = np.empty_like(q)
    linear.multiply(M, z, w)
    s, size = lcp.scales(M, q)
    square = 0.0
    for i in range(len(q)):
        miss = w[i] + q[i]
        if i >= problem.equations:
            miss = min(miss, s * z[i])
        square += miss * miss
    return square**0.5 / size


@kernel
def finished(problem, z, iterations, tolerance, failure):
    """The Solution for z: true residual, and the status `failure` where that exceeds the tolerance."""
    residual = error(problem, z)
    if residual <= tolerance:
        return Solution(z, SOLVED, residual, iterations, True)
    return Solution(z, failure if np.isfinite(residual) else NOT_FINITE, residual, iterations, False)
