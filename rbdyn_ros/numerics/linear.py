"""Dense linear algebra inside kernels: systems in memory that the caller owns, and an inverse."""

import numpy as np

from rbdyn_ros.kernel import hot, inlined, kernel


@inlined
def swap_pivot(A, k):
    """Swap row k with the row of the largest entry of column k from row k on, from column k on.

    Return where that row was.
    """
    pivot, n = k, A.shape[0]
    for i in range(k + 1, n):
        if abs(A[i, k]) > abs(A[pivot, k]):
            pivot = i
    if pivot != k:
        for j in range(k, n):
            A[k, j], A[pivot, j] = A[pivot, j], A[k, j]
    return pivot


@inlined
def eliminate(A, b, k):
    """Subtract multiples of row k from the rows below it, so that their column k would be zero."""
    n = A.shape[0]
    for i in range(k + 1, n):
        f = A[i, k] / A[k, k]
        for j in range(k + 1, n):
            A[i, j] -= f * A[k, j]
        b[i] -= f * b[k]


@inlined
def substitute_back(A, b, n):
    """Set the first n of b to the solution of the first n rows, zero below the diagonal."""
    for i in range(n - 1, -1, -1):
        for k in range(i + 1, n):
            b[i] -= A[i, k] * b[k]
        b[i] /= A[i, i]


@inlined
def _solve(A, b):
    """Set b := A^-1 b for A (n, n), b (n,) or (n, m), both overwritten, by Gauss with partial
    pivoting.
    """
    n = A.shape[0]
    for k in range(n):
        pivot = swap_pivot(A, k)
        upper = 1.0 * b[k]  # a copy, of a row of b, too
        b[k], b[pivot] = b[pivot], upper
        eliminate(A, b, k)
    substitute_back(A, b, n)


@hot
def solve_in_place(A, b):
    """Set b := A^-1 b for A (n, n), b (n,), both overwritten; inf or nan if singular."""
    _solve(A, b)


# The flags as a dict: a set has another order in every process, and the kernel would not be found
# in the cache.
@kernel(fastmath={"contract": True, "reassoc": True})
def multiply(A, x, y):
    """Set y := A x for A (m, n); sums may be reordered, so that they use the vector unit."""
    for i in range(A.shape[0]):
        total = 0.0
        for j in range(A.shape[1]):
            total += A[i, j] * x[j]
        y[i] = total


@kernel
def solution(A, b):
    """Return A^-1 b, b (n,) or (n, m); nan if A is singular or not finite.

    LAPACK's would take five seconds to compile.
    """
    x = b.copy()
    _solve(A.copy(), x)
    return x if np.isfinite(x).all() else np.full_like(b, np.nan)


@kernel
def inverse(A):
    """Return A^-1 by LAPACK; nan where it would raise, that is if A is singular or not finite."""
    try:
        return np.linalg.inv(A)
    except Exception:
        return np.full_like(A, np.nan)
