"""Four kinds of row make every joint: POINT, DOT, TURN and ANGLE, between body a and body b
(doc/nonsmooth.md, C.1 to C.6, C.16).

    POINT   C = (R_b n) . (x_a + R_a p - x_b) - c     a point of a stays in a plane that b carries
    DOT     C = (R_b n) . (R_a p) - c                 two directions keep their angle
    TURN    C = q_a . (q_b n) - c                     the axis of the turn from a to b is normal to
                                                      n, which b carries
    ANGLE   C = |n| phi - c                           the angle phi of a in b about n, which both
                                                      carry, from where R_a p is the first tangent
                                                      of n (`vec.frame`); over full turns

A row may have a second term, between two other bodies: C = C_1 + C_2 couples two joints.

POINT and DOT are one formula, u . w with u = R_b n, w = iota (x_a - x_b) + R_a p, iota = 1 or 0.
In coordinates x = (r, q)

    dC/dr_a =  iota u,   dC/dq_a = lever(q_a; p, u),
    dC/dr_b = -iota u,   dC/dq_b = lever(q_b; n, w)                                           (C.2)

for every q, unit or not: a quadratic form in each quaternion. With the tangents t_1, t_2 of n, the
values x, y of the DOT rows of t_1 and t_2, and phi = atan2(y, x), the gradient of ANGLE is that of
DOT with e = |n| (x t_2 - y t_1)/(x^2 + y^2) in the place of n (C.16). The world is body -1, at
rest in the origin.
"""

from collections.abc import Sequence
from math import atan2, floor, pi
from typing import Any, NamedTuple

import numpy as np

from rbdyn_ros.bodies.description import quaternion_body as body
from rbdyn_ros.geometry import vec
from rbdyn_ros.kernel import inlined
from rbdyn_ros.types import Array

POINT, DOT, TURN, ANGLE = range(4)
WORLD = -1
_REST = (0.0, 0.0, 0.0), (0.0, 0.0, 0.0, 0.0)
_ORIGIN = (0.0, 0.0, 0.0), (1.0, 0.0, 0.0, 0.0)


class ConstraintRows(NamedTuple):
    """m constraint rows between bodies, made by joints.py, of k terms: the first term of each row,
    then the second ones.
    """

    kind: Array  # (k,) POINT, DOT, TURN, ANGLE
    a: Array  # (k,) body, or WORLD
    b: Array  # (k,) another body, or WORLD
    p: Array  # (k, 3) point [m] or direction [-] in a
    n: Array  # (k, 3) direction in b [-], of a coupling times its factor
    c: Array  # (m,) [m], [rad] or [-]
    of: Array  # (k,) the row that each term is part of
    angle: Array  # (k,) [rad] the last one of kind ANGLE, to which the next is the nearest


INDEX, NUMBER, VECTOR = (np.int64, ()), (float, ()), (float, (3,))  # kinds of `as_columns`


def as_columns(
    items: Sequence[tuple[Any, ...]], *kinds: tuple[type, tuple[int, ...]]
) -> list[Array]:
    """Return one array for each place of the items; `kinds` are the type and the shape of each
    place.
    """
    columns = zip(*items) if items else [()] * len(kinds)
    return [
        np.array(column, dtype=kind).reshape(-1, *shape)
        for column, (kind, shape) in zip(columns, kinds, strict=True)
    ]


def require_bodies(called: str, a: int, b: int, bodies: int) -> None:
    """Raise ValueError unless a is one of the bodies, and b another one or the world."""
    if a not in range(bodies) or b not in range(-1, bodies) or a == b:
        raise ValueError(
            f"{called} is between bodies {a} and {b}; take two of 0 to {bodies - 1}, or {WORLD} "
            "(the world) second"
        )


@inlined
def vector(a, i):
    """Return row i of an (m, 3) array as a tuple."""
    return a[i, 0], a[i, 1], a[i, 2]


@inlined
def place(q, i):
    """Return (x, Q) of body i in q (n, 7), or of the world."""
    return _of_body(q, i, _ORIGIN)


@inlined
def change(d, i):
    """Return (dx, dQ) of body i in d (n, 7), zero for the world."""
    return _of_body(d, i, _REST)


@inlined
def _of_body(table, i, world):
    if i == WORLD:
        return world
    return vector(table, i), (table[i, 3], table[i, 4], table[i, 5], table[i, 6])


@inlined
def parts(rows, i, q):
    """Return (x, Q) of both bodies of row i at q (n, 7), its vector p in a and n in b."""
    return place(q, rows.a[i]), place(q, rows.b[i]), vector(rows.p, i), vector(rows.n, i)


@inlined
def arm(iota, p, A, B):
    """Return w = iota (x_a - x_b) + R_a p."""
    return vec.axpy(iota, vec.sub(A[0], B[0]), body.rotate(A[1], p))


@inlined
def value(rows, i, q):
    """Return term i of C + c at q (n, 7) (C.1)."""
    A, B, p, n = parts(rows, i, q)
    if rows.kind[i] == TURN:
        return body.dot(A[1], body.LT(B[1], n))
    if rows.kind[i] == ANGLE:
        return vec.norm(n) * angle(rows, i, q)
    k = 1.0 if rows.kind[i] == POINT else 0.0
    return vec.dot(body.rotate(B[1], n), arm(k, p, A, B))


@inlined
def angle(rows, i, q):
    """Return phi of a term of kind ANGLE at q (n, 7), next to its last one [rad]."""
    A, B, p, n = parts(rows, i, q)
    x, y, _, _ = tangents(A, B, p, n)
    found = atan2(y, x)
    return found + 2.0 * pi * floor((rows.angle[i] - found) / (2.0 * pi) + 0.5)


@inlined
def tangents(A, B, p, n):
    """Return (x, y, t_1, t_2): the tangents of n in b, and R_a p along them."""
    _, t_1, t_2 = vec.frame(vec.scale(1.0 / vec.norm(n), n))
    along = body.rotate(A[1], p)
    x, y = vec.dot(body.rotate(B[1], t_1), along), vec.dot(body.rotate(B[1], t_2), along)
    return x, y, t_1, t_2


@inlined
def angle_direction(A, B, p, n):
    """Return e, with which the gradient of ANGLE is that of DOT (C.16)."""
    x, y, t_1, t_2 = tangents(A, B, p, n)
    return vec.scale(vec.norm(n) / (x * x + y * y), vec.axpy(x, t_2, vec.scale(-y, t_1)))


@inlined
def angle_direction_rate(A, B, p, n, dA, dB):
    """Return the change of e by dA of body a and dB of body b."""
    x, y, t_1, t_2 = tangents(A, B, p, n)
    along, rate = body.rotate(A[1], p), body.rotate_gradient(A[1], p, dA[1])
    dx = vec.dot(body.rotate_gradient(B[1], t_1, dB[1]), along)
    dx += vec.dot(body.rotate(B[1], t_1), rate)
    dy = vec.dot(body.rotate_gradient(B[1], t_2, dB[1]), along)
    dy += vec.dot(body.rotate(B[1], t_2), rate)
    square = x * x + y * y
    shrinks = 2.0 * (x * dx + y * dy) / square
    along_2, along_1 = dx - shrinks * x, dy - shrinks * y
    e = vec.axpy(along_2, t_2, vec.scale(-along_1, t_1))
    return vec.scale(vec.norm(n) / square, e)


@inlined
def gradient(rows, i, q):
    """Return dC/dx of term i (C.2) as ((r_a, q_a), (r_b, q_b))."""
    A, B, p, n = parts(rows, i, q)
    if rows.kind[i] == TURN:
        return (_REST[0], body.LT(B[1], n)), (_REST[0], body.scale(-1.0, body.LT(A[1], n)))
    if rows.kind[i] == ANGLE:
        n = angle_direction(A, B, p, n)
    k = 1.0 if rows.kind[i] == POINT else 0.0
    u, w = body.rotate(B[1], n), arm(k, p, A, B)
    return (vec.scale(k, u), body.lever(A[1], p, u)), (vec.scale(-k, u), body.lever(B[1], n, w))


@inlined
def gradient_rate(rows, i, q, dA, dB):
    """Return the change of dC/dx by dA of body a and dB of body b (C.3), the Hessian of C times a
    direction, as in `gradient`.
    """
    A, B, p, n = parts(rows, i, q)
    if rows.kind[i] == TURN:
        return (_REST[0], body.LT(dB[1], n)), (_REST[0], body.scale(-1.0, body.LT(dA[1], n)))
    dn = _REST[0]
    if rows.kind[i] == ANGLE:
        dn = angle_direction_rate(A, B, p, n, dA, dB)
        n = angle_direction(A, B, p, n)
    k = 1.0 if rows.kind[i] == POINT else 0.0
    u, w = body.rotate(B[1], n), arm(k, p, A, B)
    du = vec.add(body.rotate_gradient(B[1], n, dB[1]), body.rotate(B[1], dn))
    dw = vec.axpy(k, vec.sub(dA[0], dB[0]), body.rotate_gradient(A[1], p, dA[1]))
    on_a = body.add(body.lever(A[1], p, du), body.lever(dA[1], p, u))
    on_b = body.add(body.lever(B[1], n, dw), body.lever(dB[1], n, w))
    on_b = body.add(on_b, body.lever(B[1], dn, w))
    return (vec.scale(k, du), on_a), (vec.scale(-k, du), on_b)
