"""The law of an impact: the impulses of all that touch (doc/nonsmooth.md, M.20 to M.26).

    K_mu  in  P  _|_  u+ + (s e u_N- + mu |u_T+|) e_N  in  K_mu*                  Newton

Newton's law with friction can gain energy (Kane's paradox). s = 1 where it does not; else s is the
largest share of the restitution with which the energy does not grow. s = 0 never gains:
P.u+ <= 0, so that T+ - T- = P.u+ - P.W P/2 <= 0. Poisson's law follows the impulses of s = 0 by
others of at least s e times their size; Stronge's is that of one contact (`restitution`).

`slow` is the velocity of parting below which a contact stays closed.
"""

from math import inf

from rbdyn_ros.bodies import arena
from rbdyn_ros.bodies import columns as c
from rbdyn_ros.bodies.arena import matrix_of, set_vector, vector_of
from rbdyn_ros.bodies.contact import friction, restitution, sweeps
from rbdyn_ros.bodies.contact.pairs import velocity
from rbdyn_ros.bodies.contact.sweeps import ROUND_OFF, STALLED, SWEEPS, TOLERANCE
from rbdyn_ros.geometry import vec
from rbdyn_ros.kernel import inlined, part
from rbdyn_ros.numerics.solvers import fc3d

APPROACHING = 1e-9  # [SPEED] a normal velocity that counts as an impact
LAW_FAILED, MEET_FAILED = 6, 7  # why there are no impulses by Stronge's law


@inlined
def rebound(m, k, share, slow):
    """Return a share of e u_N- of contact k, if it approaches and was open; 0 where that is too slow
    to part.
    """
    pair, is_open = arena.pairs(m)[k], arena.pair_integers(m)[k, c.CLOSED] == 0
    back = share * (pair.e * min(pair.u_before[0], 0.0) if is_open else 0.0)
    return back if back < 0.0 and -back >= slow else 0.0


@part
def has_rebound(m, slow):
    """Return whether restitution lets any of the contacts part, by Poisson's law one that is
    compressed, too.
    """
    by_impulses = arena.clock(m)[c.LAW] == restitution.POISSON and slow < inf
    for at in range(arena.counters(m)[c.ACTIVE]):
        k = arena.active(m)[at]
        if rebound(m, k, 1.0, slow) < 0.0 or by_impulses and arena.pairs(m)[k].e > 0.0:
            return True
    return False


@part
def has_approach(m, slow):
    """Return whether any of the contacts approaches faster than `slow`, in an impact."""
    slow = max(slow, APPROACHING * arena.clock(m)[c.SPEED])
    for at in range(arena.counters(m)[c.ACTIVE]):
        if arena.pairs(m)[arena.active(m)[at]].u_before[0] <= -slow:
            return True
    return False


@part
def impulses(m, share, slow):
    """Find the impulses by Newton's law with a share of the restitution; return whether they were
    found.
    """
    pairs, active = arena.pairs(m), arena.active(m)
    for at in range(arena.counters(m)[c.ACTIVE]):
        k = active[at]
        u = pairs[k].u_before
        set_vector(pairs[k].impulse, (0.0, 0.0, 0.0))
        set_vector(pairs[k].u, (u[0] + rebound(m, k, share, slow), u[1], u[2]))
    return friction.solve_impact(m)


@inlined
def least_impulse(m, k, share, slow):
    """Return the least normal impulse of contact k in its restitution, 0 where it parts too
    slowly.
    """
    pair = arena.pairs(m)[k]
    p = share * pair.e * pair.kept[0]
    return p if pair.W[0] * p >= slow else 0.0


@part
def restore(m, k, W, u, old, how):
    """Return the impulse of contact k in its restitution, with that of the compression, and
    whether it is one.
    """
    P, mu = vector_of(arena.pairs(m)[k].kept), arena.pairs(m)[k].mu
    if W[0][0] == 0.0:  # held by joints
        return P, True
    p, free = least_impulse(m, k, how[0], how[1]), vec.sub(u, vec.matvec(W, vec.sub(old, P)))
    # what the compression leaves of the normal velocity is round-off of its impulse
    noise = ROUND_OFF * vec.trace(W) * vec.size(P)
    free = (free[0] + noise, free[1], free[2])
    new, found = restitution.at_least(
        W, free, mu, p, vec.sub(old, P), friction.least_determinant(m)
    )
    return vec.add(P, new), found


sweep_restoring = sweeps.of(friction, restore, "_restore")


@part
def expand(m, share, slow):
    """Find the sum of the saved impulses and those of the restitution, at least `share` e times
    their normal ones, by sweeps of Gauss and Seidel; return whether they were found.
    """
    for at in range(arena.counters(m)[c.ACTIVE]):
        k = arena.active(m)[at]
        P = vector_of(arena.pairs(m)[k].kept)
        more = least_impulse(m, k, share, slow) / max(P[0], 1e-300)
        set_vector(arena.pairs(m)[k].impulse, vec.axpy(more, P, P))
    friction.begin_sweeps(m)
    moved, size, lawful = 0.0, 0.0, True
    for _ in range(SWEEPS):
        moved, size, lawful, _ = sweep_restoring(m, 0.0, (share, slow))
        if not moved > TOLERANCE * arena.clock(m)[c.SPEED] + ROUND_OFF * size:
            break
    return lawful and moved <= STALLED * size


@part
def work(m):
    """Return (energy that the impulses give, size of what they exchange): sum of P.(u- + u+)/2,
    without the work of a prescribed velocity.
    """
    friction.respond_to_all(m)
    gained, size = 0.0, 0.0
    for at in range(arena.counters(m)[c.ACTIVE]):
        k = arena.active(m)[at]
        P = vector_of(arena.pairs(m)[k].impulse)
        before = vec.dot(P, vector_of(arena.pairs(m)[k].u_before))
        after = vec.dot(P, velocity(m, k))
        gained += 0.5 * (before + after)
        size += abs(before) + abs(after)
    return gained, size


@inlined
def note_failure(m, kind, k):
    """Record why there are no impulses, and at which pair; kind 0: they were found after all."""
    arena.counters(m)[c.FAILURE], arena.counters(m)[c.WHERE] = kind, k


@part
def collide_each(m, slow):
    """Give the contacts that approach the impulse of a collision of their own, by Stronge's law;
    return whether they were found, and none has changed the velocity of another.
    """
    pairs, active, speed = arena.pairs(m), arena.active(m), arena.clock(m)[c.SPEED]
    n = arena.counters(m)[c.ACTIVE]
    for at in range(n):
        set_vector(pairs[active[at]].impulse, (0.0, 0.0, 0.0))
    for at in range(n):
        k = active[at]
        u = vector_of(pairs[k].u_before)
        if u[0] >= -APPROACHING * speed:
            continue
        P, found = restitution.collide(
            matrix_of(pairs[k].W), u, pairs[k].mu, rebound(m, k, 1.0, slow) / u[0]
        )
        if not found:
            note_failure(m, LAW_FAILED, k)
            return False
        set_vector(pairs[k].impulse, P)
    friction.respond_to_all(m)
    for at in range(n):
        k = active[at]
        own = vec.matvec(matrix_of(pairs[k].W), vector_of(pairs[k].impulse))
        u = vec.add(vector_of(pairs[k].u_before), own)
        other = vec.sub(velocity(m, k), u)
        if vec.size(other) > ROUND_OFF * (speed + vec.size(own) + vec.size(u)):
            note_failure(m, MEET_FAILED, k)
            return False
    return True


@part
def find_impulses(m, energy, slow):
    """Find the impulses by the law of the model; return whether they were found.

    `energy` is the kinetic one before [J].
    """
    law, count = arena.clock(m)[c.LAW], arena.counters(m)
    is_energetic = law == restitution.ENERGETIC or law == restitution.ENERGETIC_ALONE
    if not has_rebound(m, slow):
        # Stronge's law with e = 0 is another one than Newton's where the sliding changes its
        # direction; it fails where several contacts meet, which have Newton's: `test_impact_laws`
        if is_energetic and has_approach(m, slow):
            friction.couple_impact(m)
            if collide_each(m, slow):
                return True
            note_failure(m, 0, 0)
        return impulses(m, 0.0, slow)
    has_phases = is_energetic or law == restitution.POISSON
    if has_phases:
        friction.couple_impact(m)
    if is_energetic:
        if collide_each(m, slow):
            return True
        if law == restitution.ENERGETIC:
            return False
        note_failure(m, 0, 0)
    if has_phases:
        if not impulses(m, 0.0, slow):
            return False
        for at in range(count[c.ACTIVE]):
            pair = arena.pairs(m)[arena.active(m)[at]]
            set_vector(pair.kept, vector_of(pair.impulse))
    low, high, share = 0.0, 1.0, 1.0
    for k in range(fc3d.HALVINGS + 1):
        stalls = count[c.STALLS]
        solved = expand(m, share, slow) if has_phases else impulses(m, share, slow)
        # what is found only nearly is next to what is not: less of the restitution is found
        solved = solved and (share == 0.0 or count[c.STALLS] == stalls)
        gained, size = work(m)
        gains = gained > fc3d.CONSERVED * (energy + size)
        refused = not solved or gains and law != restitution.NEWTON
        low, high, share, found = fc3d.narrow(low, high, share, 1.0, refused)
        if found or solved and k == fc3d.HALVINGS:
            note_failure(m, 0, 0)
            return True
        share = low if k == fc3d.HALVINGS - 1 else share
    return False
