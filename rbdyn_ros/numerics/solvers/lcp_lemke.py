"""Linear complementarity by Lemke's pivots, ties broken lexicographically.

    w - M z - d z_0 = q,    d > 0                                                             (S.4)

z_0 enters and makes the basis feasible; then the complement of what has left enters, until z_0
leaves (solved) or nothing blocks (a ray). Among equal ratios the row least in the lexicographic
order of (right side, B^-1) leaves, so that no basis comes twice. The end's support is solved
afresh by LAPACK, which removes the pivots' round-off; where round-off has led to a wrong support,
the pivots run again with another covering vector d. For a positive semidefinite M a ray proves
that there is no solution. Sources: Lemke, Management Science 11 (1965) 681; Cottle, Pang, Stone,
The Linear Complementarity Problem, 4.4, 4.9.
"""

import numpy as np

from rbdyn_ros.kernel import kernel
from rbdyn_ros.numerics.solvers import lcp
from rbdyn_ros.numerics.solvers.solution import RAY, STALLED, Options

DEFAULTS = Options(tolerance=1e-10, max_iterations=10000)

_PIVOT = 1e-11  # a smaller pivot, relative to its column, is round-off
_TIE = 1e-12  # of the ratios' size
_COVERINGS = 8  # attempts with different d


@kernel
def covering(attempt, n):
    """Return d > 0: ones at first, then quasi-random numbers between 1 and 2."""
    d = np.ones(n)
    for i in range(n):
        d[i] += (attempt * (i + 1) * 0.6180339887498949) % 1.0
    return d


@kernel
def pivot(T, basis, row, column):
    """Bring `column` into the basis in `row`."""
    f = 1.0 / T[row, column]
    for j in range(T.shape[1]):
        T[row, j] *= f
    for i in range(T.shape[0]):
        f = T[i, column]
        if i != row and f != 0.0:
            for j in range(T.shape[1]):
                T[i, j] -= f * T[row, j]
    basis[row] = column


@kernel
def is_before(T, i, k, column):
    """Return whether row i leaves before row k: lexicographic order of (right side, w columns)
    over the pivot.
    """
    n, last = T.shape[0], T.shape[1] - 1
    p, s = T[i, column], T[k, column]
    for j in range(-1, n):
        at = last if j < 0 else j
        a, b = T[i, at] / p, T[k, at] / s
        if abs(a - b) > _TIE * max(abs(a), abs(b), 1e-3):
            return a < b
    return False


@kernel
def blocking_row(T, basis, column):
    """Return the row that leaves when `column` enters, z_0 first among equals; -1 on a ray."""
    n, last = T.shape[0], T.shape[1] - 1
    size = 0.0
    for i in range(n):
        size = max(size, abs(T[i, column]))
    row = -1
    for i in range(n):
        if T[i, column] > _PIVOT * size and (row < 0 or is_before(T, i, row, column)):
            row = i
    for i in range(n):
        if row >= 0 and basis[i] == 2 * n and T[i, column] > _PIVOT * size:
            a, b = T[i, last] / T[i, column], T[row, last] / T[row, column]
            if a - b <= _TIE * max(abs(a), abs(b), 1e-3):
                return i
    return row


@kernel
def pivots(M, q, d, basis, max_iterations):
    """Run the pivots once and return (their number, status); `basis` (n,) ends as the columns w
    0..n-1, z n..2n-1, z_0 2n.
    """
    n = len(q)
    s, size = lcp.scales(M, q)
    T = np.zeros((n, 2 * n + 2))
    for i in range(n):
        basis[i] = i
        T[i, i], T[i, 2 * n], T[i, 2 * n + 1] = 1.0, -d[i], q[i] / size
        for j in range(n):
            T[i, n + j] = -M[i, j] / s
    row = 0
    for i in range(1, n):
        if T[i, 2 * n + 1] / d[i] < T[row, 2 * n + 1] / d[row]:
            row = i
    if n == 0 or q[row] >= 0.0:
        return 0, RAY
    entering = row + n
    pivot(T, basis, row, 2 * n)
    for count in range(1, max_iterations):
        row = blocking_row(T, basis, entering)
        if row < 0:
            return count, RAY
        leaving = basis[row]
        pivot(T, basis, row, entering)
        if leaving == 2 * n:
            return count + 1, STALLED
        entering = leaving + n if leaving < n else leaving - n
    return max_iterations, STALLED


@kernel
def solve(problem, guess, options):
    """Return the Solution by pivots; `guess` is not used. Its status is RAY where the last run met
    one.
    """
    M, q, n = problem.M, problem.q, len(problem.q)
    best, least = np.zeros_like(q), np.inf
    basis, support = np.empty(n, np.int64), np.empty(n, np.bool_)
    done, status = 0, STALLED
    for attempt in range(_COVERINGS):
        count, status = pivots(M, q, covering(attempt, n), basis, options.max_iterations - done)
        done += count
        support[:] = False
        for i in range(n):
            if n <= basis[i] < 2 * n:
                support[basis[i] - n] = True
        z = np.maximum(lcp.on_support(M, q, support), 0.0)
        residual = lcp.error(problem, z)
        if residual < least:
            best, least = z, residual
        if least <= options.tolerance or done >= options.max_iterations:
            break
    return lcp.finish(problem, best, done, options.tolerance, status)
