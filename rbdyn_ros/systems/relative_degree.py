"""How directly a multiplier acts on an output: the relative degree, and that of a first-order system at a state (N.10).

In u = A x + B lambda, y = C x + D lambda the multiplier lambda_j appears in the r-th derivative of y_j first: r = 0 where
D_jj is not zero, else the least r with C_j A^(r-1) B^j not zero. A step of y itself can enforce a law of degree 0 or 1;
at degree 2, mechanics, lambda is an impulse where y reaches zero; at 3 and more it is worse than that.
"""

import numpy as np

from rbdyn_ros.systems.first_order import FirstOrder
from rbdyn_ros.types import Array

_ZERO = 1e-13  # of the product of the norms
_NEARBY = 1e-3  # to where a gradient that happens to vanish at a state is looked at again


def relative_degrees(A, B, C, D) -> list:
    """For each row j: how often y_j must be differentiated until lambda_j appears; None if it never does   (N.10)."""
    A, B, C, D = (np.atleast_2d(np.asarray(X, float)) for X in (A, B, C, D))
    found = []
    for j in range(len(C)):
        found.append(_least(A, B[:, j : j + 1], C[j], D[j, j : j + 1]))
    return found


def reach(system: FirstOrder, t: float, x: Array, multiplier: Array) -> list:
    """For each row: how often y_j must be differentiated until some multiplier appears, near (t, x, lambda); None if none does.

    Some multiplier, not its own: rows may be closed by each other's. Where M is singular part of the dynamics is
    algebraic and a degree is not defined: then it is 0.
    """
    n = len(system.M)
    if np.linalg.matrix_rank(system.M) < n:
        return [0] * len(multiplier)
    found = [None] * len(multiplier)
    for shift in (0.0, _NEARBY):
        at = t, x + shift * (1.0 + np.abs(x)), multiplier + shift * (1.0 + np.abs(multiplier))
        A, B = np.linalg.solve(system.M, system.A(*at[:2]) + system.K(*at)), np.linalg.solve(system.M, system.B(*at))
        C, D = system.C(*at), system.D(*at)
        for j in range(len(found)):
            degree = _least(A, B, C[j], D[j])
            found[j] = degree if found[j] is None else min(found[j], n + 1 if degree is None else degree)
    return found


def _least(A: Array, B: Array, row: Array, direct: Array) -> int | None:
    """0 where `direct` is not zero, else the least r with row A^(r-1) B not zero; None beyond the size of A."""
    if direct.any():
        return 0
    size = np.linalg.norm(B)
    for r in range(1, len(A) + 1):
        if np.abs(row @ B).max(initial=0.0) > _ZERO * np.linalg.norm(row) * size:
            return r
        row = row @ A
    return None
