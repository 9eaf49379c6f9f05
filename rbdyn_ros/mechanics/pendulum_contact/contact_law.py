"""The contacts of one step against each other: their Delassus matrix and their impulses by
Gauss-Seidel.

Contact a, b, ... of the active ones; W_ab = T_a D_a M^-1 D_b^T T_b^T. Sweeps of the exact
one-contact law (doc/nonsmooth.md, S.15 to S.17) solve u = W P + q with (P.2). Most often one is
closed.

A tip that sticks while the cart leans on a rail end couples both so strongly that thousands of
sweeps would be needed, and a tip between floor and sphere may have sweeps that go round in
circles. Every few sweeps Newton's method (S.19) starts from where they are; its result has to
pass the error function of the solvers. In a corner of the rails a tip that sticks is held by more
rows than there are motions, which contradict each other by the step's curvature. The sweeps then
add the same inner stress again and again, until friction gives way or a contact opens;
`advance_to_cone` goes there at once.
"""

import sys

import numpy as np

from rbdyn_ros.geometry import vec
from rbdyn_ros.kernel import inlined, part
from rbdyn_ros.mechanics.contact import sweeps
from rbdyn_ros.mechanics.pendulum import rod_on_cart
from rbdyn_ros.mechanics.pendulum_contact import active_contacts, contact_state
from rbdyn_ros.mechanics.pendulum_contact.contact_state import (
    frame,
    on_world_axes,
    put,
    vector,
)
from rbdyn_ros.mechanics.solvers import fc3d, fc3d_newton, fc3d_one_contact

SWEEPS = 2000
TOLERANCE = 1e-13  # of the impulses, relative
NEWTON_EVERY = 20  # sweeps
NEWTON_STEPS = 10  # at a time
# errors (S.14) up to which Newton's method goes on, and is believed
EXACT, ACCEPTED = 3e-15, 1e-12
_FARTHEST = 1e4  # of the impulses: a stress that no cone limits before has no limit
_LEAVES = 1e-9  # [m/s] along a rod on a fixed cart: its contact cannot follow
ROUND = 1.0 + 1e-9  # of mu, for impulses on the edge of their cones


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
def advance_to_cone(c, farthest):
    """Set P := P + s dP, dP the change of the last sweep, with the largest s that the cones allow,
    if it is below `farthest`.
    """
    s, count = farthest, c.count[0]
    for a in range(count):
        i = c.active[a]
        s = min(s, fc3d.reach(ROUND * c.law[i, 0], vector(c.P, i), vector(c.dP, i)))
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
def solve_by_newton(c):
    """Set P of the active contacts to what Newton's method finds from it, and return whether that
    obeys the law; where it does not, P stays.
    """
    count, n = c.count[0], 3 * c.count[0]
    rows, A = c.newton[:, :n], c.A[:n, :n]
    for a in range(count):
        i = c.active[a]
        fc3d.put(rows[0], a, vector(c.P, i))
        fc3d.put(rows[2], a, vector(c.q, i))
        rows[3, a] = c.law[i, 0]
    r, problem = rows[0], fc3d.Problem(c.W[:n, :n], rows[2], rows[3, :count])
    step = fc3d_newton.NewtonStep(
        rows[4], rows[5], rows[6], rows[7], A, rows[8, :count], c.pressed[:count]
    )
    if not fc3d_newton.descend(problem, r, rows[1], step, EXACT, NEWTON_STEPS)[1] <= ACCEPTED:
        return False
    for a in range(count):
        i, P = c.active[a], fc3d.part(r, a)
        put(c.P, i, P)
        c.status[i] = fc3d_newton.status(P, c.law[i, 0])
    return True


@part
def sweep_again(c):
    """Sweep until P changes no more, or Newton's method has found it, and return (0, size of P as
    velocities), or (inf, 1) where there is no P.
    """
    for k in range(SWEEPS):
        moved, size, lawful, _ = sweep(c, False, 0.0, ())
        if not lawful:
            return np.inf, 1.0
        if not moved > TOLERANCE * size:
            return 0.0, size
        if k % NEWTON_EVERY == NEWTON_EVERY - 1:
            if solve_by_newton(c):
                return 0.0, size
            advance_to_cone(c, _FARTHEST * size / moved)
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
