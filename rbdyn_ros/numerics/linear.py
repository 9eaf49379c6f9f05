"""Small dense linear systems inside kernels, in memory that the caller owns."""

from rbdyn_ros.kernel import kernel


@kernel
def solve_in_place(A, b):
    """b := A^-1 b for A (n, n), b (n,), both overwritten; Gauss with partial pivoting, inf or nan if singular."""
    n = b.shape[0]
    for k in range(n):
        pivot = k
        for i in range(k + 1, n):
            if abs(A[i, k]) > abs(A[pivot, k]):
                pivot = i
        if pivot != k:
            for j in range(k, n):
                A[k, j], A[pivot, j] = A[pivot, j], A[k, j]
            b[k], b[pivot] = b[pivot], b[k]
        for i in range(k + 1, n):
            f = A[i, k] / A[k, k]
            for j in range(k + 1, n):
                A[i, j] -= f * A[k, j]
            b[i] -= f * b[k]
    for i in range(n - 1, -1, -1):
        for j in range(i + 1, n):
            b[i] -= A[i, j] * b[j]
        b[i] /= A[i, i]
