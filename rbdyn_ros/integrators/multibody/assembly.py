"""The matrices of one configuration: mass, rows, contact directions, and their gradients.

N = 7n coordinates x = (r, q) of each body, M = n + m rows: (|q_i|^2 - 1)/2 first, then the joints (doc/nonsmooth.md, C.10).
"""

from rbdyn_ros.bodies import quaternion_body as body
from rbdyn_ros.constraints import rows as row
from rbdyn_ros.constraints.rows import WORLD, change, place, vector
from rbdyn_ros.geometry import vec
from rbdyn_ros.kernel import inlined, kernel


@kernel
def accumulate(out, i, r, Q):
    """out[7i : 7i + 7] += (r, Q), for a body."""
    if i != WORLD:
        k = 7 * i
        for j in range(3):
            out[k + j] += r[j]
        for j in range(4):
            out[k + 3 + j] += Q[j]


@kernel
def unit(j):
    """(dr, dQ): the j-th of the seven coordinate directions of a body."""
    r = (1.0 if j == 0 else 0.0, 1.0 if j == 1 else 0.0, 1.0 if j == 2 else 0.0)
    return r, (1.0 if j == 3 else 0.0, 1.0 if j == 4 else 0.0, 1.0 if j == 5 else 0.0, 1.0 if j == 6 else 0.0)


@kernel
def fill_rows(rows, q, A):
    """A (M, N) := dPhi/dx at q (n, 7)."""
    n = len(q)
    A[:] = 0.0
    for i in range(n):
        A[i, 7 * i + 3 : 7 * i + 7] = q[i, 3:]
    for i in range(len(rows.kind)):
        on_a, on_b = row.gradient(rows, i, q)
        accumulate(A[n + i], rows.a[i], on_a[0], on_a[1])
        accumulate(A[n + i], rows.b[i], on_b[0], on_b[1])


@kernel
def fill_values(rows, q, phi):
    """phi (M,) := Phi at q (n, 7)."""
    n = len(q)
    for i in range(n):
        Q = place(q, i)[1]
        phi[i] = 0.5 * (body.dot(Q, Q) - 1.0)
    for i in range(len(rows.kind)):
        phi[n + i] = row.value(rows, i, q)


@kernel
def add_curvature(rows, q, weight, H):
    """H (N, N) += sum_i weight_i d2 Phi_i/dx2: the gradient of A^T weight."""
    n = len(q)
    still = change(q, WORLD)
    for i in range(n):
        for j in range(7 * i + 3, 7 * i + 7):
            H[j, j] += weight[i]
    for i in range(len(rows.kind)):
        for side in range(2):
            moved = rows.a[i] if side == 0 else rows.b[i]
            if moved == WORLD:
                continue
            for j in range(7):
                d = unit(j)
                on_a, on_b = row.gradient_rate(rows, i, q, d if side == 0 else still, d if side == 1 else still)
                s, column = weight[n + i], H[:, 7 * moved + j]
                accumulate(column, rows.a[i], vec.scale(s, on_a[0]), body.scaled(s, on_a[1]))
                accumulate(column, rows.b[i], vec.scale(s, on_b[0]), body.scaled(s, on_b[1]))


@kernel
def fill_row_rates(rows, q, rate, V):
    """V (M, N) := d(A v)/dx for v = rate (n, 7): row i is the Hessian of Phi_i times v."""
    n = len(q)
    V[:] = 0.0
    for i in range(n):
        V[i, 7 * i + 3 : 7 * i + 7] = rate[i, 3:]
    for i in range(len(rows.kind)):
        a, b = rows.a[i], rows.b[i]
        on_a, on_b = row.gradient_rate(rows, i, q, change(rate, a), change(rate, b))
        accumulate(V[n + i], a, on_a[0], on_a[1])
        accumulate(V[n + i], b, on_b[0], on_b[1])


@kernel
def fill_mass(bodies, gamma, q, mass):
    """mass (N, N) := M at q (n, 7)."""
    mass[:] = 0.0
    for i in range(len(q)):
        k, J, Q = 7 * i, vector(bodies.inertia, i), place(q, i)[1]
        for j in range(7):
            r, d = unit(j)
            accumulate(mass[:, k + j], i, vec.scale(bodies.mass[i], r), body.momentum(J, gamma[i], Q, d))


@kernel
def fill_directions(pairs, w, q, D):
    """D (3 count, N) := T_i C(x; c_i) of the active contacts: u = D dx/dt."""
    for at in range(w.count[0]):
        i = w.active[at]
        a, b = pairs.a[i], pairs.b[i]
        for j in range(3):
            f = vector(w.frame[i], j)
            D[3 * at + j] = 0.0
            accumulate(D[3 * at + j], a, f, body.point_force(place(q, a)[1], vector(w.on_a, i), f))
            back = vec.scale(-1.0, f)
            accumulate(D[3 * at + j], b, back, body.point_force(place(q, b)[1], vector(w.on_b, i), back))


@kernel
def impulse(w, at):
    """T^T P of the contact `at`: its half-step impulse on a [N s, world]."""
    i = w.active[at]
    n, s, t = vector(w.frame[i], 0), vector(w.frame[i], 1), vector(w.frame[i], 2)
    return vec.axpy(w.P[3 * at], n, vec.axpy(w.P[3 * at + 1], s, vec.scale(w.P[3 * at + 2], t)))


@inlined
def touched(pairs, w, i, side):
    """(body, touching point on it, sign of its velocity in u) of contact i; side 0 is a, 1 is b."""
    return (pairs.a[i], vector(w.on_a, i), 1.0) if side == 0 else (pairs.b[i], vector(w.on_b, i), -1.0)


@kernel
def add_contact_curvature(pairs, w, q, H):
    """H (N, N) += d(D^T P)/dx = sum K(q; c, T^T P) of the active contacts."""
    for at in range(w.count[0]):
        i, f = w.active[at], impulse(w, at)
        for side in range(2):
            moved, c, s = touched(pairs, w, i, side)
            if moved != WORLD:
                for j in range(3, 7):
                    d = unit(j)
                    K = body.point_force_gradient(place(q, moved)[1], c, vec.scale(s, f), d[1])
                    accumulate(H[:, 7 * moved + j], moved, (0.0, 0.0, 0.0), K)


@kernel
def fill_displacements(pairs, w, q, at, G):
    """G (3, N) := T d(r_a - r_b)/dx of the contact `at`, exact also where |q| is not 1."""
    i = w.active[at]
    G[:] = 0.0
    for side in range(2):
        moved, c, s = touched(pairs, w, i, side)
        if moved != WORLD:
            for j in range(7):
                r, d = unit(j)
                shift = vec.scale(s, vec.add(r, body.turned_gradient(place(q, moved)[1], c, d)))
                for k in range(3):
                    G[k, 7 * moved + j] = vec.dot(vector(w.frame[i], k), shift)


@kernel
def fill_velocity_gradient(pairs, w, q, rate, at, G):
    """G (3, N) := d(D dx/dt)/dx of the contact `at`."""
    i = w.active[at]
    G[:] = 0.0
    for side in range(2):
        moved, c, s = touched(pairs, w, i, side)
        if moved != WORLD:
            for j in range(3, 7):
                d = unit(j)
                change_of_u = body.point_velocity_gradient(place(q, moved)[1], c, change(rate, moved)[1], d[1])
                for k in range(3):
                    G[k, 7 * moved + j] = s * vec.dot(vector(w.frame[i], k), change_of_u)


@kernel
def separation(pairs, w, q, i):
    """r_a - r_b of contact i: the two touching points, moved with their bodies [m, world]."""
    A, B = place(q, pairs.a[i]), place(q, pairs.b[i])
    on_a = vec.add(A[0], body.turned(A[1], vector(w.on_a, i)))
    return vec.sub(on_a, vec.add(B[0], body.turned(B[1], vector(w.on_b, i))))
