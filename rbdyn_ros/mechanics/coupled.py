"""Contacts of bodies with joints: the joints couple them, so their Delassus matrix is computed
column by column and swept.
"""

from rbdyn_ros.geometry import vec
from rbdyn_ros.kernel import part
from rbdyn_ros.mechanics import arena, velocity
from rbdyn_ros.mechanics import columns as c
from rbdyn_ros.mechanics.arena import get, put
from rbdyn_ros.mechanics.friction import (
    ACCEPTED,
    FAILED,
    ROUND_OFF,
    STALLED,
    STALLING,
    SWEEPS,
    fail,
    solve_one,
)
from rbdyn_ros.mechanics.pairs import push
from rbdyn_ros.mechanics.pairs import velocity as pair_velocity

CHECKED = 200  # sweeps, after which they must have gained something
_UNIT = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))


@part
def couple(m, h, at_node):
    """W of the active pairs with the joints reacting: of a step of h, or of the node. Their own
    blocks become parts of it.
    """
    bodies, pairs, W, active = arena.bodies(m), arena.pairs(m), arena.delassus(m), arena.active(m)
    n = arena.counters(m)[c.ACTIVE]
    for b in range(n):
        for j in range(3):
            for i in range(len(bodies)):
                put(bodies, i, c.D_X, (0.0, 0.0, 0.0))
                put(bodies, i, c.D_W, (0.0, 0.0, 0.0))
            push(m, active[b], _UNIT[j], c.D_X, c.D_W)
            velocity.respond(m, h, at_node)
            for a in range(n):
                u = pair_velocity(m, active[a])
                for r in range(3):
                    W[(3 * a + r) * 3 * n + 3 * b + j] = u[r]
    for a in range(n):
        for r in range(3):
            for j in range(3):
                pairs[active[a], c.W_OWN + 3 * r + j] = W[(3 * a + r) * 3 * n + 3 * a + j]


@part
def add_response(m, a, d):
    """Add to U of the active pairs what the impulse d of the one at place a gives."""
    pairs, W, active = arena.pairs(m), arena.delassus(m), arena.active(m)
    n = arena.counters(m)[c.ACTIVE]
    for b in range(n):
        for r in range(3):
            o = (3 * b + r) * 3 * n + 3 * a
            pairs[active[b], c.U + r] += W[o] * d[0] + W[o + 1] * d[1] + W[o + 2] * d[2]


@part
def solve(m, tolerance):
    """As `friction.solve`, with W; U holds the velocities of the impulses that were found."""
    pairs, active, count = arena.pairs(m), arena.active(m), arena.counters(m)
    n, first, moved, size, farthest, where, lawful = count[c.ACTIVE], 0.0, 0.0, 0.0, 0.0, 0, True
    before = FAILED
    for sweep in range(SWEEPS):
        moved, size, farthest, lawful = 0.0, 1e-300, -1.0, True
        for a in range(n):
            k = active[a]
            old = get(pairs, k, c.LA)
            lawful = solve_one(pairs, k, get(pairs, k, c.U)) and lawful
            d = vec.sub(get(pairs, k, c.LA), old)
            by = pairs[k, c.W_OWN] * vec.size(d)
            moved += by
            size += pairs[k, c.W_OWN] * vec.size(get(pairs, k, c.LA))
            if by > farthest:
                farthest, where = by, k
            if by > 0.0:
                add_response(m, a, d)
        count[c.SWEEPS] += 1
        allowed = 0.3 * (tolerance + ROUND_OFF * size)
        if sweep == 0:
            first = 0.3 * moved / allowed
        if moved <= allowed and lawful:
            return first
        if not moved < FAILED:
            return fail(m, where)
        if sweep % CHECKED == CHECKED - 1:
            if STALLING * before < moved <= ACCEPTED:
                count[c.STALLS] += 1
                return first
            before = moved
    return first if moved <= STALLED * size and lawful else fail(m, where)
