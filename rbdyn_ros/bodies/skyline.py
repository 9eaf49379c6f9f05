"""A symmetric matrix of all bodies within its envelope, 6 rows each, and its Cholesky factors
(doc/nonsmooth.md, M.19).

Row i is kept from its first column on that is not zero; without a reordering a stack of n boxes
costs n times one box.
"""

from math import sqrt

import numpy as np

from rbdyn_ros.bodies import arena
from rbdyn_ros.bodies import columns as c
from rbdyn_ros.kernel import inlined, part

NARROW = 13  # numbers in a row, in the mean, up to which bodies touch the next ones alone


def plan(bodies: int, sides: list[tuple[int, int]]) -> tuple[int, np.ndarray]:
    """Return (numbers, envelope (6n, 2)) for bodies that touch each other as `sides` [(a, b)]
    says.
    """
    first = np.arange(bodies)
    for a, b in sides:
        if a != c.WORLD and b != c.WORLD:
            first[max(a, b)] = min(first[max(a, b)], a, b)
    envelope, size = np.zeros((6 * bodies, 2), np.int64), 0
    for i in range(6 * bodies):
        envelope[i] = 6 * first[i // 6], size - 6 * first[i // 6]
        size += i + 1 - 6 * first[i // 6]
    return size, envelope


@inlined
def is_narrow(m):
    """Return whether the rows of the matrix are short: then its factorizations cost little."""
    low, n = arena.envelope(m), len(arena.right_side(m))
    return low[n - 1, 1] + n <= NARROW * n


@part
def factor_and_solve(m):
    """Factor the matrix as L L^T, with 1/L_ii on the diagonal, and solve for `right_side`."""
    A, low, y = arena.skyline(m), arena.envelope(m), arena.right_side(m)
    for i in range(len(y)):
        first, row = low[i, 0], low[i, 1]
        t, d = y[i], A[row + i]
        for j in range(first, i):
            other = low[j, 1]
            s = A[row + j]
            for k in range(max(first, low[j, 0]), j):
                s -= A[row + k] * A[other + k]
            s *= A[other + j]
            A[row + j] = s
            d -= s * s
            t -= s * y[j]
        d = 1.0 / sqrt(d)
        A[row + i] = d
        y[i] = t * d
    substitute(m)


@part
def solve_again(m):
    """Solve for another right side with the factors of the matrix."""
    A, low, y = arena.skyline(m), arena.envelope(m), arena.right_side(m)
    for i in range(len(y)):
        row, t = low[i, 1], y[i]
        for j in range(low[i, 0], i):
            t -= A[row + j] * y[j]
        y[i] = t * A[row + i]
    substitute(m)


@part
def substitute(m):
    """Substitute from the last row back, the second half of the solution."""
    A, low, y = arena.skyline(m), arena.envelope(m), arena.right_side(m)
    for i in range(len(y) - 1, -1, -1):
        row = low[i, 1]
        t = y[i] * A[row + i]
        y[i] = t
        for j in range(low[i, 0], i):
            y[j] -= A[row + j] * t
