"""First-order systems with inputs and outputs, y and lambda closed by 0 <= y _|_ lambda >= 0 or y = 0.

    M dx/dt = f(t, x) + r,     y = h(t, x, lambda),     r = g(t, x, lambda)                                  (N.8)
"""

from typing import Callable, NamedTuple

import numpy as np

from rbdyn_ros.systems import laws
from rbdyn_ros.systems.arguments import matrix
from rbdyn_ros.types import Array


class FirstOrder(NamedTuple):
    """The functions of (N.8) with their gradients, all of (t, x, lambda) but f."""

    M: Array  # (n, n)
    f: Callable  # (t, x) -> (n,)
    A: Callable  # df/dx (n, n)
    h: Callable  # -> y (m,)
    C: Callable  # dh/dx (m, n)
    D: Callable  # dh/dlambda (m, m)
    g: Callable  # -> r (n,)
    K: Callable  # dg/dx (n, n)
    B: Callable  # dg/dlambda (n, m)
    laws: tuple  # of (rows, law): Complementarity or Equality


def linear(A, B, C, D=None, b=None, e=None, M=None, law: tuple = laws.Complementarity()) -> FirstOrder:
    """M dx/dt = A x + b(t) + B lambda, y = C x + D lambda + e(t)   (N.9).

    A (n, n), B (n, m), C (m, n), D (m, m) zero where left out; b and e functions of time; ValueError names a wrong shape.
    """
    A = matrix(A, "A")
    n, m = len(A), np.atleast_2d(np.asarray(C, float)).shape[0]
    B, C = matrix(B, "B", n, m), matrix(C, "C", m, n)
    D = np.zeros((m, m)) if D is None else matrix(D, "D", m)
    M = np.eye(n) if M is None else matrix(M, "M", n)
    b, e, K = b or (lambda t: np.zeros(n)), e or (lambda t: np.zeros(m)), np.zeros((n, n))
    return FirstOrder(
        M,
        lambda t, x: A @ x + b(t),
        lambda t, x: A,
        lambda t, x, s: C @ x + D @ s + e(t),
        lambda t, x, s: C,
        lambda t, x, s: D,
        lambda t, x, s: B @ s,
        lambda t, x, s: K,
        lambda t, x, s: B,
        ((m, law),),
    )


def relative_degrees(A, B, C, D) -> list:
    """For each row j: how often y_j must be differentiated until lambda_j appears; None if it never does   (N.10).

    0 where D_jj is not zero, else the least r with C_j A^(r-1) B^j not zero.
    """
    A, B, C, D = (np.atleast_2d(np.asarray(X, float)) for X in (A, B, C, D))
    found = []
    for j in range(len(C)):
        degree, row = (0 if D[j, j] else None), C[j]
        for r in range(1, len(A) + 1):
            if degree is None and abs(row @ B[:, j]) > 1e-13 * np.linalg.norm(row) * np.linalg.norm(B[:, j]):
                degree = r
            row = row @ A
        found.append(degree)
    return found
