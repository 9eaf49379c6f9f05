"""The linear complementarity problem and its error (doc/nonsmooth.md, S.1 to S.3).

w = M z + q,    0 <= z  _|_  w >= 0                                                           (S.1)
"""

from typing import NamedTuple

import numpy as np

from rbdyn_ros.kernel import kernel
from rbdyn_ros.numerics import arguments, linear
from rbdyn_ros.numerics.solvers.solution import assess
from rbdyn_ros.types import Array


class Problem(NamedTuple):
    """A linear complementarity problem, made by `problem`, which checks it."""

    M: Array  # (n, n)
    q: Array  # (n,)


def problem(M, q) -> Problem:
    """Return the problem of M (n, n), q (n,). Raise ValueError naming what does not fit."""
    M = arguments.square(M, "M")
    return Problem(M, arguments.vector(q, "q", len(M)))


@kernel
def scales(M, q):
    """Return (s, size): largest |M_ij|, |q|; 1 in place of what is zero."""
    s, square = 0.0, 0.0
    for i in range(len(q)):
        square += q[i] * q[i]
        for j in range(len(q)):
            s = max(s, abs(M[i, j]))
    return (s if s > 0.0 else 1.0), (square**0.5 if square > 0.0 else 1.0)


@kernel
def error(problem, z):
    """Return how far z (n,) is from solving the problem: |min(w, s z)| / |q|, s the largest entry
    of M [-] (S.3).
    """
    return mixed_error(problem.M, problem.q, 0, z)


@kernel
def mixed_error(M, q, equations, z):
    """Return the error of z (n,) where the first rows are equations, w = 0 with z free,

    |(w_equations, min(w, s z))| / |q| [-].                                               (S.6)
    """
    w = np.empty_like(q)
    linear.multiply(M, z, w)
    s, size = scales(M, q)
    square = 0.0
    for i in range(len(q)):
        miss = w[i] + q[i]
        if i >= equations:
            miss = min(miss, s * z[i])
        square += miss * miss
    return square**0.5 / size


@kernel
def finish(problem, z, iterations, tolerance, failure):
    """Return the Solution for z with its true residual, and with the status `failure` where that
    exceeds the tolerance.
    """
    return assess(z, error(problem, z), iterations, tolerance, failure)


@kernel
def on_support(M, q, support):
    """Return z with M_aa z_a = -q_a on the support a (n,) and 0 elsewhere; nan if M_aa is
    singular.
    """
    a = np.flatnonzero(support)
    A, b = np.empty((len(a), len(a))), np.empty(len(a))
    for i in range(len(a)):
        b[i] = -q[a[i]]
        for j in range(len(a)):
            A[i, j] = M[a[i], a[j]]
    z = np.zeros_like(q)
    z[a] = linear.solution(A, b)
    return z
