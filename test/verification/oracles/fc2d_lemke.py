"""Planar friction as a linear complementarity problem: exact, no iteration but Lemke's pivots.

Split u_T = l - k into the speeds of sliding to either side; let x = mu r_N - r_T and y = mu r_N +
r_T = 2 mu r_N - x be what friction could still give. Then (S.8) reads

    0 <= r_N _|_ u_N >= 0,    0 <= x _|_ k = l - u_T >= 0,    0 <= l _|_ y >= 0,              (S.9)

linear in z = (r_N, x, l). Source: Klarbring, Comput. Methods Appl. Mech. Eng. 58
(1986) 185; Glocker, Dynamik von Starrkoerpersystemen mit Reibung und Stoessen (1995).
"""

import numpy as np

from rbdyn_ros.numerics.solvers import lcp, lcp_lemke
from rbdyn_ros.numerics.solvers.solution import Options, Solution, assess

from . import fc2d

DEFAULTS = Options(tolerance=1e-10, max_iterations=10000)


def solve(problem: fc2d.Problem, guess, options: Options) -> Solution:
    """Return the Solution by pivots; `guess` is not used."""
    inner = lcp_lemke.solve(as_lcp(problem), np.zeros(3 * len(problem.mu)), options)
    n = len(problem.mu)
    r = np.empty(2 * n)
    r[0::2] = inner.z[:n]
    r[1::2] = problem.mu * inner.z[:n] - inner.z[n : 2 * n]
    return assess(r, fc2d.error(problem, r), inner.iterations, options.tolerance, inner.status)


def as_lcp(problem: fc2d.Problem) -> lcp.Problem:
    """Return (S.9) as w = M z + q with z = (r_N, x, l), w = (u_N, k, y)."""
    W, q, mu = problem
    n = len(mu)
    NN, NT, TN, TT = W[0::2, 0::2], W[0::2, 1::2], W[1::2, 0::2], W[1::2, 1::2]
    zero, one = np.zeros((n, n)), np.eye(n)
    M = np.block(
        [
            [NN + NT * mu, -NT, zero],
            [-(TN + TT * mu), TT, one],
            [2.0 * mu * one, -one, zero],
        ]
    )
    return lcp.Problem(M, np.concatenate([q[0::2], -q[1::2], np.zeros(n)]))
