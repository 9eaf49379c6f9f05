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

# of a cosine: a smaller change is found to round-off by one step of Newton's method
SMALL = 1e-8
ZERO = (0.0, 0.0, 0.0), (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)


@inlined
def add(A, B):
    """Return A + B."""
    return vec.add(A[0], B[0]), vec.add(A[1], B[1]), vec.add(A[2], B[2])


@inlined
def product(A, B):
    """Return the product A B."""
    return (
        vec.transposed_matvec(B, A[0]),
        vec.transposed_matvec(B, A[1]),
        vec.transposed_matvec(B, A[2]),
    )


@inlined
def product_transposed(A, B):
    """Return the product A B^T."""
    return vec.matvec(B, A[0]), vec.matvec(B, A[1]), vec.matvec(B, A[2])


@inlined
def scale_columns(A, d):
    """Return A diag(d)."""
    return vec.times(A[0], d), vec.times(A[1], d), vec.times(A[2], d)


@inlined
def product_with_cross(A, r):
    """Return A r^, where r^ x = r x x."""
    return vec.cross(A[0], r), vec.cross(A[1], r), vec.cross(A[2], r)


@inlined
def scale(s, A):
    """Return s A."""
    return vec.scale(s, A[0]), vec.scale(s, A[1]), vec.scale(s, A[2])


@inlined
def adjugate(A):
    """Return (adj A, det A), A^-1 = adj A/det A. A product with adj A need not wait for the
    division.
    """
    a, b, c = vec.cross(A[1], A[2]), vec.cross(A[2], A[0]), vec.cross(A[0], A[1])
    return vec.transpose((a, b, c)), vec.dot(A[0], a)


@inlined
def cosine(v):
    """Return w of F(v), nan where |v| > 1, a turn of more than half a revolution."""
    return np.sqrt(((1.0 - v[0] * v[0]) - v[1] * v[1]) - v[2] * v[2])


@inlined
def next_cosine(v, w):
    """Return `cosine` of a v that is close to that of w: a step of Newton's method for the root,
    whose division does not depend on v.
    """
    change = (((1.0 - w * w) - v[0] * v[0]) - v[1] * v[1]) - v[2] * v[2]
    return w + (0.5 / w) * change


@inlined
def close_cosine(v, w):
    """Return `cosine` of any v, without the root where w is so close to it that one step of
    Newton's method finds it; also where w is 0 or nan.
    """
    near = next_cosine(v, w)
    return near if abs(near - w) < SMALL else cosine(v)


@inlined
def momentum(f, J, gamma, v, w, drag):
    """Return (a, c): f (w J v + gamma (1 - w) v + drag v) and f v x J v; a + c at the start, a - c
    at the end, where the drag has the other sign (M.3). `drag` is d h/2 of a torque -d w.
    """
    Jv = vec.times(J, v)
    a = vec.axpy(w, Jv, vec.scale(gamma * (1.0 - w) + drag, v))
    return vec.scale(f, a), vec.scale(f, vec.cross(v, Jv))


@inlined
def sideways(f, J, v):
    """Return c of `momentum`."""
    return vec.scale(f, vec.cross(v, vec.times(J, v)))


@inlined
def change(v, w, o):
    """Return the change of v of a small turn o [rad, body] after F(v): (w o + v x o)/2; w changes
    by -v.o/2.
    """
    return vec.axpy(0.5 * w, o, vec.cross(vec.scale(0.5, v), o))


@inlined
def momentum_gradient(f, J, gamma, v, w, drag):
    """Return d(a + c) by such a turn: f/2 [C (w 1 + v^) + (gamma v - J v) v^T] with C = w J + v^ J
    - (J v)^ + (gamma (1 - w) + drag) 1   (M.4).
    """
    x, y, z = v
    a, b, c = vec.times(J, v)
    g = gamma * (1.0 - w) + drag
    p, f = vec.axpy(gamma, v, (-a, -b, -c)), 0.5 * f
    return (
        gradient_row(f, (w * J[0] + g, c - z * J[1], y * J[2] - b), p[0], v, w),
        gradient_row(f, (z * J[0] - c, w * J[1] + g, a - x * J[2]), p[1], v, w),
        gradient_row(f, (b - y * J[0], x * J[1] - a, w * J[2] + g), p[2], v, w),
    )


@inlined
def gradient_row(f, C, p, v, w):
    """Return f (w C + C x v + p v), a row of `momentum_gradient`."""
    return vec.scale(f, vec.axpy(w, C, vec.axpy(p, v, vec.cross(C, v))))
