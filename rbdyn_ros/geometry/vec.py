"""Vectors and 3x3 matrices as tuples of floats: LLVM keeps them in registers, nothing is
allocated.

A vector is (a1, a2, a3); a matrix is its three rows. The steppers are written with these
functions.
"""

from rbdyn_ros.kernel import inlined


@inlined
def three(a, k):
    """Return three numbers of an array, from place k on, as a vector."""
    return (a[k], a[k + 1], a[k + 2])


@inlined
def add(a, b):
    """Return a + b."""
    return (a[0] + b[0], a[1] + b[1], a[2] + b[2])


@inlined
def sub(a, b):
    """Return a - b."""
    return (a[0] - b[0], a[1] - b[1], a[2] - b[2])


@inlined
def scale(s, a):
    """Return s a."""
    return (s * a[0], s * a[1], s * a[2])


@inlined
def axpy(s, a, b):
    """Return s a + b."""
    return (s * a[0] + b[0], s * a[1] + b[1], s * a[2] + b[2])


@inlined
def times(a, b):
    """Return diag(a) b, component by component."""
    return (a[0] * b[0], a[1] * b[1], a[2] * b[2])


@inlined
def divide(a, b):
    """Return diag(b)^-1 a, component by component."""
    return (a[0] / b[0], a[1] / b[1], a[2] / b[2])


@inlined
def dot(a, b):
    """Return a . b."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@inlined
def trace(A):
    """Return the trace of a matrix A."""
    return A[0][0] + A[1][1] + A[2][2]


@inlined
def cross(a, b):
    """Return a x b."""
    return (
        a[1] * b[2] - a[2] * b[1],
        a[2] * b[0] - a[0] * b[2],
        a[0] * b[1] - a[1] * b[0],
    )


@inlined
def norm(a):
    """Return |a|."""
    return dot(a, a) ** 0.5


@inlined
def unit(a, instead):
    """Return a / |a|, or `instead` where a is zero."""
    length = norm(a)
    return scale(1.0 / length, a) if length > 0.0 else instead


@inlined
def size(a):
    """Return |a1| + |a2| + |a3|: a norm without a root, which is nan where a number is."""
    return abs(a[0]) + abs(a[1]) + abs(a[2])


@inlined
def matvec(A, b):
    """Return A b."""
    return (dot(A[0], b), dot(A[1], b), dot(A[2], b))


@inlined
def transposed_matvec(A, b):
    """Return A^T b."""
    return axpy(b[0], A[0], axpy(b[1], A[1], scale(b[2], A[2])))


@inlined
def solve(A, b):
    """Return A^-1 b by cofactors; inf or nan if A is singular.

    The rows are A1, A2, A3; A^-1 = [A2 x A3, A3 x A1, A1 x A2] / (A1 . A2 x A3).
    """
    B1, B2, B3 = cross(A[1], A[2]), cross(A[2], A[0]), cross(A[0], A[1])
    return scale(1.0 / dot(A[0], B1), axpy(b[0], B1, axpy(b[1], B2, scale(b[2], B3))))


@inlined
def transpose(A):
    """Return A^T."""
    return (A[0][0], A[1][0], A[2][0]), (A[0][1], A[1][1], A[2][1]), (A[0][2], A[1][2], A[2][2])


@inlined
def frame(n):
    """Return the contact frame, rows n, t1, t2, right-handed; for n = e3 the tangents are e1, e2.

    Source: Duff and others, "Building an orthonormal basis, revisited" (2017): no branch but the
    sign, no cancellation.
    """
    sign = 1.0 if n[2] >= 0.0 else -1.0
    a = -1.0 / (sign + n[2])
    b = n[0] * n[1] * a
    t1 = (1.0 + sign * n[0] * n[0] * a, sign * b, -sign * n[0])
    t2 = (b, sign + n[1] * n[1] * a, -n[1])
    return n, t1, t2


@inlined
def turn_frame(T, n):
    """Return the rows of the contact frame T turned the shortest way to the normal n."""
    sum_n = add(T[0], n)
    share = -1.0 / (1.0 + dot(T[0], n))
    t1 = axpy(share * dot(T[1], n), sum_n, T[1])
    return n, t1, axpy(share * dot(T[2], n), sum_n, T[2])
