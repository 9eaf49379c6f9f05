"""The impulses of a few contacts at the node, by sweeps on their Delassus matrix.

    u = q + W r,   W = D (M^-1 - M^-1 A^T (A M^-1 A^T)^-1 A M^-1) D^T   with the joints reacting

W is kept in the part `saved` of the arena from one solution to the next: with the W of an earlier
step the velocities after the impulses, which are computed anew, give the rest to solve for.
"""

import sys

from rbdyn_ros.bodies import arena
from rbdyn_ros.bodies import columns as c
from rbdyn_ros.bodies.arena import set_matrix, set_vector, vector_of
from rbdyn_ros.bodies.contact import friction, sweeps
from rbdyn_ros.bodies.contact.pairs import velocity as pair_velocity
from rbdyn_ros.bodies.velocity import respond_to_unit
from rbdyn_ros.geometry import vec
from rbdyn_ros.kernel import inlined, part

SWEEPS = 60  # of W that is kept: where it serves, a few are enough


def size(pairs: int) -> int:
    """Return how many numbers the matrix of so many pairs needs in the arena."""
    n = min(pairs, sweeps.FEW)
    return 1 + n + 9 * n * n


@part
def forget(m):
    """Mark the matrix as unknown."""
    if len(arena.saved(m)) > 0:
        arena.saved(m)[0] = 0.0


@inlined
def is_known(m):
    """Return whether there is a matrix of the active pairs."""
    W, active, n = arena.saved(m), arena.active(m), arena.counters(m)[c.ACTIVE]
    same = W[0] == n
    for at in range(n):
        same = same and W[1 + at] == active[at]
    return same


@inlined
def block(W, n, at, other):
    """Return the 3x3 block of W from an impulse of active pair `at` to the velocity of `other`."""
    o = 1 + n + 9 * (n * at + other)
    return (
        (W[o], W[o + 3], W[o + 6]),
        (W[o + 1], W[o + 4], W[o + 7]),
        (W[o + 2], W[o + 5], W[o + 8]),
    )


@part
def couple(m):
    """Set W of the active pairs (after `velocity.prepare_node`)."""
    pairs, active, W = arena.pairs(m), arena.active(m), arena.saved(m)
    n = arena.counters(m)[c.ACTIVE]
    W[0] = n
    for at in range(n):
        W[1 + at] = active[at]
        for j in range(3):
            respond_to_unit(m, active[at], j, 0.0)
            for other in range(n):
                u = pair_velocity(m, active[other])
                o = 1 + n + 9 * (n * at + other) + 3 * j
                W[o], W[o + 1], W[o + 2] = u
    for at in range(n):
        set_matrix(pairs[active[at]].W, block(W, n, at, at))


@inlined
def velocity_of(m, k):
    """Return u of pair k, within a sweep."""
    return vec.add(vector_of(arena.pairs(m)[k].u), vector_of(arena.pairs(m)[k].z))


@inlined
def respond_to(m, at, h, change):
    """Add the effect of a change of the impulse of active pair `at` to the velocities."""
    W, active, n = arena.saved(m), arena.active(m), arena.counters(m)[c.ACTIVE]
    for other in range(n):
        du = vec.matvec(block(W, n, at, other), change)
        z = arena.pairs(m)[active[other]].z
        set_vector(z, vec.add(vector_of(z), du))


sweep = sweeps.of(sys.modules[__name__], friction.solve_one)


@part
def solve(m, tolerance, gain):
    """Find the `impulse` of the active pairs, whose velocities at the present ones are `u`, by
    sweeps until one changes them by less than the tolerance [m/s], or `gain` times as much as the
    first one.

    Return whether they were found; the impulses stay as they were if not.
    """
    pairs, active, W = arena.pairs(m), arena.active(m), arena.saved(m)
    n, first = arena.counters(m)[c.ACTIVE], 0.0
    for at in range(n):
        k = active[at]
        set_matrix(pairs[k].W, block(W, n, at, at))
        set_vector(pairs[k].impulse_0, vector_of(pairs[k].impulse))
        set_vector(pairs[k].z, (0.0, 0.0, 0.0))
    for k in range(SWEEPS):
        moved, total, lawful, _ = sweep(m, 0.0, (0.0, False))
        arena.counters(m)[c.SWEEPS] += 1
        if k == 0:
            first = moved
        if not moved < friction.FAILED:
            break
        if lawful and moved <= max(tolerance + sweeps.ROUND_OFF * total, gain * first):
            return True
    for at in range(n):
        set_vector(pairs[active[at]].impulse, vector_of(pairs[active[at]].impulse_0))
    return False
