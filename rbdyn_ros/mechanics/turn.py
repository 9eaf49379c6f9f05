"""The relative rotation of one body within a step, and 3x3 matrices as tuples (doc/nonsmooth.md,
M.1 to M.4).

A body turns by F(v) = (w, v), w = sqrt(1 - |v|^2), a unit quaternion in its own axes: three
unknowns, no row for the norm. With the kinetic energy of the midpoint in quaternions, T = (2/h^2)
(v.Jv + gamma (1 - w)^2), the angular momenta at both ends are

    (2/h) (w J v + v x J v + gamma (1 - w) v)    at the start,
    (2/h) (w J v - v x J v + gamma (1 - w) v)    at the end
"""

import numpy as np

from rbdyn_ros.geometry import vec
from rbdyn_ros.kernel import inlined


@inlined
def product(A, B):
    """A B."""
    return (
        vec.transposed_matvec(B, A[0]),
        vec.transposed_matvec(B, A[1]),
        vec.transposed_matvec(B, A[2]),
    )


@inlined
def product_transposed(A, B):
    """A B^T."""
    return vec.matvec(B, A[0]), vec.matvec(B, A[1]), vec.matvec(B, A[2])


@inlined
def scaled_columns(A, d):
    """A diag(d)."""
    return vec.times(A[0], d), vec.times(A[1], d), vec.times(A[2], d)


@inlined
def inverse(A):
    """A^-1 by cofactors; inf or nan if A is singular."""
    a, b, c = vec.cross(A[1], A[2]), vec.cross(A[2], A[0]), vec.cross(A[0], A[1])
    s = 1.0 / vec.dot(A[0], a)
    return vec.transposed((vec.scale(s, a), vec.scale(s, b), vec.scale(s, c)))


@inlined
def cosine(v):
    """w of F(v); nan where |v| > 1, a turn of more than half a revolution."""
    return np.sqrt(1.0 - vec.dot(v, v))


@inlined
def momentum(f, J, gamma, v, w):
    """(a, c): f (w J v + gamma (1 - w) v) and f v x J v; a + c at the start, a - c at the end
    (M.3).
    """
    Jv = vec.times(J, v)
    a = vec.axpy(w, Jv, vec.scale(gamma * (1.0 - w), v))
    return vec.scale(f, a), vec.scale(f, vec.cross(v, Jv))


@inlined
def momentum_gradient(f, J, gamma, v, w):
    """d(a + c)/dv = f [w J - J v v^T/w + v^ J - (J v)^ + gamma ((1 - w) 1 + v v^T/w)]   (M.4)."""
    x, y, z = v
    a, b, c = vec.times(J, v)
    u = vec.scale(1.0 / w, v)
    p, q, r = gamma * x - a, gamma * y - b, gamma * z - c
    g = gamma * (1.0 - w)
    return (
        (
            f * (w * J[0] + p * u[0] + g),
            f * (c - z * J[1] + p * u[1]),
            f * (y * J[2] - b + p * u[2]),
        ),
        (
            f * (z * J[0] - c + q * u[0]),
            f * (w * J[1] + q * u[1] + g),
            f * (a - x * J[2] + q * u[2]),
        ),
        (
            f * (b - y * J[0] + r * u[0]),
            f * (x * J[1] - a + r * u[1]),
            f * (w * J[2] + r * u[2] + g),
        ),
    )


@inlined
def rotate(v, w, p):
    """F(v) p."""
    t = vec.cross(v, p)
    return vec.axpy(2.0, vec.axpy(w, t, vec.cross(v, t)), p)


@inlined
def rotate_gradient(v, w, p):
    """d(F(v) p)/dv = 2 [-w p^ - (v x p) v^T/w + (v.p) 1 + v p^T - 2 p v^T]."""
    t, s, u = vec.cross(v, p), vec.dot(v, p), vec.scale(-1.0 / w, v)
    a = vec.axpy(t[0], u, vec.axpy(v[0], p, vec.scale(-2.0 * p[0], v)))
    b = vec.axpy(t[1], u, vec.axpy(v[1], p, vec.scale(-2.0 * p[1], v)))
    c = vec.axpy(t[2], u, vec.axpy(v[2], p, vec.scale(-2.0 * p[2], v)))
    return (
        (2.0 * (a[0] + s), 2.0 * (a[1] + w * p[2]), 2.0 * (a[2] - w * p[1])),
        (2.0 * (b[0] - w * p[2]), 2.0 * (b[1] + s), 2.0 * (b[2] + w * p[0])),
        (2.0 * (c[0] + w * p[1]), 2.0 * (c[1] - w * p[0]), 2.0 * (c[2] + s)),
    )
