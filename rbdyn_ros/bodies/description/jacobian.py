"""C, dC/dt, J and dJ/dt of all rows for the velocities v = (r' [world], w [body]): dC/dt = J v
(C.4).

J_r = dC/dr,   J_w = L(q) dC/dq / 2,   dJ_w/dt = (L(q') dC/dq + L(q) d/dt dC/dq) / 2,
q' = L^T(q) w / 2
"""

import numpy as np

from rbdyn_ros.bodies.description import quaternion_body as body
from rbdyn_ros.bodies.description import rows as row
from rbdyn_ros.geometry import vec
from rbdyn_ros.kernel import inlined, kernel, part


@kernel
def values(rows, q):
    """Return C (m,) at q (n, 7)."""
    C = -rows.c
    for i in range(len(rows.kind)):
        C[rows.of[i]] += row.value(rows, i, q)
    return C


@kernel
def track(rows, q):
    """Set the last angles of the rows to those at q (n, 7), less than half a turn away."""
    for i in range(len(rows.kind)):
        if rows.kind[i] == row.ANGLE:
            rows.angle[i] = row.angle(rows, i, q)


@kernel
def rates(q, v):
    """Return dx/dt (n, 7) for v (n, 6) at q (n, 7)."""
    d = np.empty_like(q)
    for i in range(len(q)):
        Q = row.place(q, i)[1]
        d[i, 0], d[i, 1], d[i, 2] = v[i, 0], v[i, 1], v[i, 2]
        d[i, 3], d[i, 4], d[i, 5], d[i, 6] = body.scale(
            0.5, body.LT(Q, (v[i, 3], v[i, 4], v[i, 5]))
        )
    return d


@part
def add(J, i, side, numbers):
    """Add the numbers, 6 or 7 of them, to J_i,side, unless the side is the world."""
    if side != row.WORLD:
        for k in range(len(numbers)):
            J[i, len(numbers) * side + k] += numbers[k]


@kernel
def gradients(rows, q):
    """Return dC/dx (m, 7n) by the coordinates q (n, 7), also where |Q| is not 1 (C.2)."""
    G = np.zeros((len(rows.c), 7 * len(q)))
    for i in range(len(rows.kind)):
        on_a, on_b = row.gradient(rows, i, q)
        add(G, rows.of[i], rows.a[i], on_a[0] + on_a[1])
        add(G, rows.of[i], rows.b[i], on_b[0] + on_b[1])
    return G


@inlined
def term(rows, i, q):
    """Return what term i of a row adds to J at body a and at body b, six numbers each."""
    on_a, on_b = row.gradient(rows, i, q)
    A, B = row.place(q, rows.a[i]), row.place(q, rows.b[i])
    by_a = on_a[0] + vec.scale(0.5, body.L(A[1], on_a[1]))
    return by_a, on_b[0] + vec.scale(0.5, body.L(B[1], on_b[1]))


@kernel
def jacobian(rows, q):
    """Return J (m, 6n) at q (n, 7)."""
    J = np.zeros((len(rows.c), 6 * len(q)))
    for i in range(len(rows.kind)):
        by_a, by_b = term(rows, i, q)
        add(J, rows.of[i], rows.a[i], by_a)
        add(J, rows.of[i], rows.b[i], by_b)
    return J


@kernel
def jacobian_rate(rows, q, v):
    """Return dJ/dt (m, 6n) at q (n, 7), v (n, 6)."""
    J, d = np.zeros((len(rows.c), 6 * len(q))), rates(q, v)
    for i in range(len(rows.kind)):
        a, b = rows.a[i], rows.b[i]
        A, B, dA, dB = row.place(q, a), row.place(q, b), row.change(d, a), row.change(d, b)
        on_a, on_b = row.gradient(rows, i, q)
        rate_a, rate_b = row.gradient_rate(rows, i, q, dA, dB)
        twice_a = vec.add(body.L(dA[1], on_a[1]), body.L(A[1], rate_a[1]))
        twice_b = vec.add(body.L(dB[1], on_b[1]), body.L(B[1], rate_b[1]))
        add(J, rows.of[i], a, rate_a[0] + vec.scale(0.5, twice_a))
        add(J, rows.of[i], b, rate_b[0] + vec.scale(0.5, twice_b))
    return J
