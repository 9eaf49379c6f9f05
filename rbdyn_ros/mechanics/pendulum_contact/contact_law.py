"""The contacts of one step against each other: their Delassus matrix and their impulses by
Gauss-Seidel.

Contact a, b, ... of the active ones; W_ab = T_a D_a M^-1 D_b^T T_b^T. Sweeps of the exact
one-contact law (doc/nonsmooth.md, S.15 to S.17) solve u = W P + q with (P.2). Most often one is
closed.

A tip that sticks while the cart leans on a rail end couples both so strongly that thousands of
sweeps would be needed. Every few sweeps the linear equations of what sticks, slides and is open
are solved instead; the next sweep checks the result as any other. In a corner of the rails such a
tip is held by more rows than there are motions, which contradict each other by the step's
curvature. The sweeps then add the same inner stress again and again, until friction gives way or a
contact opens; `advance_to_cone` goes there at once.
"""

import sys

import numpy as np

from rbdyn_ros.geometry import vec
from rbdyn_ros.kernel import inlined, part
from rbdyn_ros.mechanics.contact import sweeps
from rbdyn_ros.mechanics.pendulum import rod_on_cart
from rbdyn_ros.mechanics.pendulum_contact import active_contacts, contact_state
from rbdyn_ros.mechanics.pendulum_contact.active_contacts import block
from rbdyn_ros.mechanics.pendulum_contact.contact_state import (
    frame,
    on_world_axes,
    put,
    vector,
)
from rbdyn_ros.mechanics.solvers import fc3d_one_contact
from rbdyn_ros.numerics import linear

SWEEPS = 2000
TOLERANCE = 1e-13  # of the impulses, relative
ACTIVE_SET_EVERY = 20  # sweeps between two solutions of the linear equations
_FARTHEST = 1e4  # of the impulses: a stress that no cone limits before has no limit
_STALLED = 1e-11  # [m/s] of W_NN dP: at the edge of its cone a stress comes and goes by round-off
_CONTRADICTS = 1e-3  # of a velocity: what dependent rows may leave of it
_LEAVES = 1e-9  # [m/s] along a rod on a fixed cart: its contact cannot follow
_ROUND = 1.0 + 1e-9  # of mu, for impulses on the edge of their cones


@part
def couple(system, c, R):
    """Write W of the active contacts at R, and R."""
    count = c.count[0]
    c.fixed[0] = 1 if system.cart_free == 0.0 else 0
    for k in range(3):
        put(c.attitude, k, R[k])
    for b in range(count):
        S, sigma = frame(c, c.active[b]), c.rho[c.active[b]]
        for k in range(3):
            dw, dx = rod_on_cart.impulse_response(system, R, S[k], sigma)
            for a in range(count):
                i = c.active[a]
                u = vec.matvec(frame(c, i), rod_on_cart.point_velocity(R, dw, dx, c.rho[i]))
                c.W[3 * a, 3 * b + k], c.W[3 * a + 1, 3 * b + k], c.W[3 * a + 2, 3 * b + k] = u


@inlined
def rows(c, i):
    """Return how many components of u are zero at contact i: 3 sticking, 1 sliding, 0 open."""
    if c.status[i] == fc3d_one_contact.STICK and c.law[i, 0] > 0.0:
        return 3
    return 1 if c.P[i, 0] > 0.0 else 0


@inlined
def direction(c, i, k):
    """Return the k-th direction of the impulse at contact i [contact frame]: an axis, or n +
    (P_T/P_N) t where it slides.
    """
    if c.status[i] == fc3d_one_contact.STICK:
        return 1.0 * (k == 0), 1.0 * (k == 1), 1.0 * (k == 2)
    return 1.0, c.P[i, 1] / c.P[i, 0], c.P[i, 2] / c.P[i, 0]


@inlined
def along_rows(c, i, first):
    """Return the impulse of contact i whose parts along its rows are z, from the `first` one
    on.
    """
    P = (0.0, 0.0, 0.0)
    for k in range(rows(c, i)):
        P = vec.axpy(c.z[first + k], direction(c, i, k), P)
    return P


@part
def couple_rows(system, c, R):
    """Write A, the velocities of the rows of the active contacts by impulses along them at R, and
    return the number of rows.
    """
    n = 0
    for b in range(c.count[0]):
        j = c.active[b]
        for l in range(rows(c, j)):
            f, row = on_world_axes(c, j, direction(c, j, l)), 0
            dw, dx = rod_on_cart.impulse_response(system, R, f, c.rho[j])
            for a in range(c.count[0]):
                i = c.active[a]
                v = vec.matvec(frame(c, i), rod_on_cart.point_velocity(R, dw, dx, c.rho[i]))
                for k in range(rows(c, i)):
                    c.A[row, n] = v[k]
                    row += 1
            n += 1
    return n


@part
def active_velocity(c):
    """Set z := -u of the rows of all contacts at P and return its size."""
    row, size, count = 0, 0.0, c.count[0]
    for a in range(count):
        u = active_contacts.velocity_of(c, c.active[a], vector(c.q, c.active[a]))
        for k in range(rows(c, c.active[a])):
            c.z[row] = -u[k]
            row += 1
            size += abs(u[k])
    return size


@part
def solve_active_set(c):
    """Set P to what gives all contacts the velocities of their kinds, sliding directions as they
    are, and return whether the cones allow it.

    Rows that depend on each other (two points of the rod that stick) leave a stress free, which
    stays as it is; where they contradict each other there is no such P.
    """
    n, count = 0, c.count[0]
    for b in range(count):
        for l in range(rows(c, c.active[b])):
            e, row = direction(c, c.active[b], l), 0
            for a in range(count):
                u = vec.matvec(block(c, a, b), e)
                for k in range(rows(c, c.active[a])):
                    c.A[row, n] = u[k]
                    row += 1
            n += 1
    before = active_velocity(c)
    is_full = linear.solve_consistent(c.A[:n, :n], c.z[:n]) == n
    column = 0
    for b in range(count):
        i = c.active[b]
        change = along_rows(c, i, column)
        column += rows(c, i)
        put(c.more, i, change)
        if not fc3d_one_contact.is_inside(vec.add(vector(c.P, i), change), c.law[i, 0] * _ROUND):
            return False
    add_more(c, 1.0)
    if is_full or active_velocity(c) <= _CONTRADICTS * before:
        return True
    add_more(c, -1.0)
    return False


@inlined
def add_more(c, factor):
    """Set P := P + factor `more`."""
    for b in range(c.count[0]):
        i = c.active[b]
        put(c.P, i, vec.axpy(factor, vector(c.more, i), vector(c.P, i)))


@part
def reach(mu, P, d):
    """Return the largest s for which K_mu holds P + s d, P in it: |P_T + s d_T| = mu (P_N + s
    d_N); inf if there is none.
    """
    mu *= _ROUND
    a = d[1] * d[1] + d[2] * d[2] - (mu * d[0]) ** 2
    b = P[1] * d[1] + P[2] * d[2] - mu * mu * P[0] * d[0]
    c = min(P[1] * P[1] + P[2] * P[2] - (mu * P[0]) ** 2, 0.0)
    root = max(b * b - a * c, 0.0) ** 0.5
    most = -max(P[0], 0.0) / d[0] if d[0] < 0.0 else np.inf
    if b > 0.0:
        return min(-c / (b + root), most)
    return min((root - b) / a, most) if a > 0.0 else most


@part
def advance_to_cone(c, farthest):
    """Set P := P + s dP, dP the change of the last sweep, with the largest s that the cones allow,
    if it is below `farthest`.
    """
    s, count = farthest, c.count[0]
    for a in range(count):
        i = c.active[a]
        s = min(s, reach(c.law[i, 0], vector(c.P, i), vector(c.dP, i)))
    for a in range(count):
        i = c.active[a]
        if s < farthest:
            put(c.P, i, vec.axpy(s, vector(c.dP, i), vector(c.P, i)))


@part
def sticking_impulse_on_fixed_cart(W, q, mu, moving):
    """Return (r, whether K_mu holds it) with u = 0 except for the part of q that no impulse
    changes; `moving` is the obstacle's velocity, with whose part along the rod nothing can stick.

    The joint does not move, so the contact point does not move along the rod: l^T W = 0, W n = 0.
    That row is left out and r is the smallest impulse, W r = l (l.q) - q, n.r = 0; along n the
    joint and the contact press each other, which moves nothing.
    """
    a, b, c = W
    n = fc3d_one_contact.largest_cross(a, b, c)
    l = fc3d_one_contact.largest_cross((a[0], b[0], c[0]), (a[1], b[1], c[1]), (a[2], b[2], c[2]))
    if abs(vec.dot(l, moving)) > _LEAVES:
        return n, False
    t = a[0] + b[1] + c[2]
    shifted = (vec.axpy(t * l[0], n, a), vec.axpy(t * l[1], n, b), vec.axpy(t * l[2], n, c))
    r = vec.solve(shifted, vec.axpy(-vec.dot(l, q), l, q))
    return fc3d_one_contact.into_cone(vec.scale(-1.0, r), n, mu)


@inlined
def velocity_of(c, i):
    """Return u of contact i."""
    return active_contacts.velocity_of(c, i, vector(c.q, i))


@inlined
def respond_to(c, at, h, change):
    """Store the change of an impulse; velocities are computed where they are read."""
    put(c.dP, c.active[at], change)


@inlined
def solve_one(c, i, W, u, old, how):
    """Return the impulse of contact i by its law, and whether there is one; one that has to
    rebound may not keep a q_N that no impulse changes.
    """
    mu, q = c.law[i, 0], vec.sub(u, vec.matvec(W, old))
    if c.fixed[0] == 1 and q[0] < 0.0 and (c.rebound[i] == 0.0 or c.law[i, 1] == 0.0):
        r, sticks = sticking_impulse_on_fixed_cart(W, q, mu, vector(c.moving, i))
        if sticks:
            c.status[i] = fc3d_one_contact.STICK
            return r, True
    found = fc3d_one_contact.contact(W, q, mu, old)
    c.status[i] = found.kind
    if found.kind == fc3d_one_contact.NONE:
        contact_state.record_failure(c, contact_state.NO_LAW, i)
    return found.r, found.kind != fc3d_one_contact.NONE


sweep = sweeps.of(active_contacts, sys.modules[__name__], solve_one)


@part
def sweep_again(c):
    """Sweep until P changes no more and return (0, size of P as velocities), or (inf, 1) where
    there is no P.
    """
    moved = size = 0.0
    for k in range(SWEEPS):
        moved, size, lawful, _ = sweep(c, False, 0.0, ())
        if not lawful:
            return np.inf, 1.0
        if not moved > TOLERANCE * size:
            return 0.0, size
        if k % ACTIVE_SET_EVERY == ACTIVE_SET_EVERY - 1 and not solve_active_set(c):
            advance_to_cone(c, _FARTHEST * size / moved)
    # once more from zero and without these two, which can cycle about a free inner stress
    for a in range(c.count[0]):
        put(c.P, c.active[a], (0.0, 0.0, 0.0))
    for _ in range(SWEEPS):
        if not moved > _STALLED:
            return 0.0, size
        moved, size, lawful, _ = sweep(c, False, 0.0, ())
        if not lawful:
            return np.inf, 1.0
    contact_state.record_failure(c, contact_state.NO_SWEEPS, c.count[0])
    return np.inf, 1.0


@part
def solve(c):
    """Find P of the active contacts at their q and return (change in the first sweep, size of P)
    as velocities, the change inf where there is none.
    """
    first, size, lawful, _ = sweep(c, False, 0.0, ())
    if not lawful:
        return np.inf, 1.0
    if c.count[0] == 1 or not first > TOLERANCE * size:
        return first, size
    more, wound = sweep_again(c)
    # where the impulses grew, `first` is not small against what they were
    return first + more, min(size, wound)


@inlined
def solve_impact(c):
    """Find the impulses of an impact at their q and return whether they were found."""
    return solve(c)[0] < np.inf


@inlined
def couple_impact(c):
    """Do nothing, because W is that of all contacts."""


@inlined
def respond_to_all(c):
    """Do nothing, because velocities are computed where they are read."""


@part
def begin_sweeps(c):
    """Set q := u-, to which the impulses add."""
    for a in range(c.count[0]):
        put(c.q, c.active[a], vector(c.before, c.active[a]))
