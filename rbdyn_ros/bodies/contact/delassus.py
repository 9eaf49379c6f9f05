"""The impulses of a few contacts by Newton's method on their Delassus matrix, where sweeps and the
augmented Lagrangian find none (doc/nonsmooth.md, M.19a).

    u = W r + q,    F = r - proj_K(r - (u + mu |u_T| e_N)/w) = 0                  (M.19a)

Both of these find impulses at a given slip mu |u_T|, or at given impulses of the other contacts,
one after the other. Where the normal velocity of a contact depends strongly on its friction, or on
the other contacts, that ends slowly or never. Newton's method has the derivatives of all at once.

`dense` of the arena holds for n contacts the rows of W and of dF/dr, from row 6n on vectors.
"""

import numpy as np

from rbdyn_ros.bodies import arena
from rbdyn_ros.bodies import columns as c
from rbdyn_ros.bodies.arena import set_vector, vector_of
from rbdyn_ros.bodies.contact.lagrangian import is_excessive
from rbdyn_ros.bodies.contact.pairs import velocity
from rbdyn_ros.bodies.contact.sweeps import FEW, ROUND_OFF
from rbdyn_ros.bodies.velocity import respond_to_changes, respond_to_unit
from rbdyn_ros.geometry import vec
from rbdyn_ros.kernel import part
from rbdyn_ros.numerics import linear
from rbdyn_ros.numerics.solvers import fc3d
from rbdyn_ros.numerics.solvers.fc3d_one_contact import SLIDE, STICK, TAKE_OFF

STEPS, HALVINGS = 60, 6  # of Newton's method, at a time, and of one of them
STIFF = 3.0  # mean of the diagonal of W over w
SHIFT = 1e-10  # of dF/dr: redundant contacts leave it regular
REFINEMENTS = 3  # times that it goes on from what round-off of W has left of the velocities
INSIDE = 1.0 - 1e-9  # of mu: less friction sticks
R, U, F, CHANGE, SCALE, MU = (np.int64(k) for k in range(1, 7))  # vectors after q


def rows(pairs: int) -> int:
    """Return how many rows of the arena so many pairs need."""
    return 6 * min(pairs, FEW) + int(MU) + 1 if pairs > 1 else 0


@part
def couple(m, h):
    """Set W, w and mu of the active pairs with the joints reacting, in a step of h or, h = 0, at
    the node.
    """
    pairs, active, dense = arena.pairs(m), arena.active(m), arena.dense(m)
    n = arena.counters(m)[c.ACTIVE]
    for at in range(n):
        trace = 0.0
        for j in range(3):
            respond_to_unit(m, active[at], j, h)
            for other in range(n):
                fc3d.put(dense[6 * n + CHANGE], other, velocity(m, active[other]))
            for k in range(3 * n):
                dense[k, 3 * at + j] = dense[6 * n + CHANGE, k]
            trace += dense[3 * at + j, 3 * at + j]
        dense[6 * n + SCALE, at] = trace / STIFF if trace > 0.0 else 1.0  # held by joints
        dense[6 * n + MU, at] = pairs[active[at]].mu


@part
def linearize(dense, n):
    """Set u, -F and dF/dr of n contacts at r; return |F|^2."""
    o, square = 6 * n, 0.0
    for k in range(3 * n):
        total = dense[o, k]
        for j in range(3 * n):
            total += dense[k, j] * dense[o + R, j]
        dense[o + U, k] = total
    for i in range(n):
        r, u, w, mu = (
            vec.three(dense[o + R], 3 * i),
            vec.three(dense[o + U], 3 * i),
            dense[o + SCALE, i],
            dense[o + MU, i],
        )
        slip = fc3d.tangential(u)
        x = vec.axpy(-1.0 / w, (u[0] + mu * slip, u[1], u[2]), r)
        left, G = vec.sub(fc3d.project(x, mu), r), fc3d.projection_gradient(x, mu)
        fc3d.put(dense[o + F], i, left)
        square += vec.dot(left, left)
        s = mu / slip if slip > 0.0 else 0.0
        for k in range(3):
            g, row = G[k], 3 * (n + i) + k
            a, b = g[1] + s * u[1] * g[0], g[2] + s * u[2] * g[0]
            for j in range(3 * n):
                by = g[0] * dense[3 * i, j] + a * dense[3 * i + 1, j] + b * dense[3 * i + 2, j]
                dense[row, j] = by / w
            for j in range(3):
                dense[row, 3 * i + j] -= g[j]
            dense[row, 3 * i + k] += 1.0 + SHIFT
    return square


@part
def descend(dense, n):
    """Take Newton's steps from r, each halved until |F| falls or it is too short."""
    o, left = 6 * n, linearize(dense, n)
    for _ in range(STEPS):
        linear.solve_in_place(dense[3 * n : o, : 3 * n], dense[o + F, : 3 * n])
        for k in range(3 * n):
            dense[o + CHANGE, k] = dense[o + F, k]
        before, share, added = left, 1.0, 1.0
        for _ in range(HALVINGS):
            for k in range(3 * n):
                dense[o + R, k] += added * dense[o + CHANGE, k]
            left = linearize(dense, n)
            if left < before:
                break
            share *= 0.5
            added = -share


@part
def solve(m, tolerance, h, near):
    """Find `impulse` of the active pairs from the present ones, in a step of h or, h = 0, at the
    node; `u` holds at `impulse_0`. Return whether they obey the law, at the velocities that bodies
    and joints have with them, up to the tolerance or `near` [m/s]; they stay as they were if not.
    """
    pairs, active, dense = arena.pairs(m), arena.active(m), arena.dense(m)
    n = arena.counters(m)[c.ACTIVE]
    o = 6 * n
    couple(m, h)
    for i in range(n):
        set_vector(pairs[active[i]].kept_2, vector_of(pairs[active[i]].impulse))
    for turn in range(REFINEMENTS + 1):
        respond_to_changes(m, h)
        left, size = 0.0, 0.0
        for i in range(n):
            pair, w = pairs[active[i]], dense[o + SCALE, i]
            r, u = vector_of(pair.impulse), vec.add(vector_of(pair.u), velocity(m, active[i]))
            left += vec.size(fc3d.natural(r, u, pair.mu, w))
            size += w * vec.size(r)
            fc3d.put(dense[o + R], i, r)
            fc3d.put(dense[o], i, u)
            sticks = fc3d.tangential(r) < INSIDE * pair.mu * r[0]
            pair.status = TAKE_OFF if r[0] == 0.0 else (STICK if sticks else SLIDE)
        is_found = left <= max(tolerance + ROUND_OFF * size, near)
        if is_found and turn > 0 and not is_excessive(m, h):
            return True
        if turn == REFINEMENTS:
            break
        for k in range(3 * n):
            for j in range(3 * n):
                dense[o, k] -= dense[k, j] * dense[o + R, j]
        descend(dense, n)
        for i in range(n):  # at -F, the projection
            r = vec.add(vec.three(dense[o + R], 3 * i), vec.three(dense[o + F], 3 * i))
            set_vector(pairs[active[i]].impulse, r)
    for i in range(n):
        set_vector(pairs[active[i]].impulse, vector_of(pairs[active[i]].kept_2))
    respond_to_changes(m, h)
    return False
