"""Lagrangian systems in R^n: M(q) dv/dt = F(t, q, v), v = dq/dt; nonlinear, and linear with constant matrices."""

from typing import Callable

import numpy as np

from rbdyn_ros.systems.arguments import matrix
from rbdyn_ros.systems.mechanical import Mechanical, differentiated


def nonlinear(
    degrees: int, mass: Callable, force: Callable, stiffness: Callable | None = None, damping: Callable | None = None
) -> Mechanical:
    """M(q) dv/dt = F(t, q, v): mass(q) -> (n, n) [kg], force(t, q, v) -> (n,) [N] with the quadratic terms on this side.

    stiffness and damping are dF/dq and dF/dv (n, n), functions of (t, q, v); without them, finite differences.
    """
    identity, none = np.eye(degrees), (np.empty(0), np.empty((0, degrees)))
    return Mechanical(
        degrees,
        mass,
        force,
        stiffness or (lambda t, q, v: differentiated(lambda x: force(t, x, v), q, degrees)),
        damping or (lambda t, q, v: differentiated(lambda x: force(t, q, x), v, degrees)),
        lambda q: identity,
        lambda q, w: q + w,
        lambda q: none,
    )


def linear(M, C=None, K=None, force: Callable | None = None) -> Mechanical:
    """M dv/dt + C v + K q = F(t): M, C, K (n, n) constant (C, K zero where left out), force(t) -> (n,) [N]   (N.2).

    ValueError names a matrix that is not (n, n), not finite, or an M that is not positive definite.
    """
    M = matrix(M, "M")
    n = len(M)
    C, K = (np.zeros((n, n)) if A is None else matrix(A, name, n) for A, name in ((C, "C"), (K, "K")))
    if np.linalg.eigvalsh(0.5 * (M + M.T)).min() <= 0.0:
        raise ValueError("M is not positive definite; every direction needs a mass > 0")
    external = force or (lambda t: np.zeros(n))
    return nonlinear(n, lambda q: M, lambda t, q, v: external(t) - C @ v - K @ q, lambda t, q, v: -K, lambda t, q, v: -C)
