"""The law of an impact: the impulses of all that touch (doc/nonsmooth.md, M.20 to M.26).

    K_mu  in  P  _|_  u+ + (s e u_N- + mu |u_T+|) e_N  in  K_mu*                  Newton

Newton's law with friction can gain energy (Kane's paradox). s = 1 where it does not; else s is the
largest share of the restitution with which the energy does not grow. s = 0 never gains:
P.u+ <= 0, so that T+ - T- = P.u+ - P.W P/2 <= 0. Poisson's law follows the impulses of s = 0 by
others of at least s e times their size; Stronge's is that of one contact (`restitution`).

`slow` is the velocity of parting below which a contact stays closed.
"""

from math import inf

from rbdyn_ros.bodies.contact import active_pairs as contacts
from rbdyn_ros.bodies.contact import friction, restitution, sweeps
from rbdyn_ros.bodies.contact.sweeps import ROUND_OFF, STALLED, SWEEPS, TOLERANCE
from rbdyn_ros.geometry import vec
from rbdyn_ros.kernel import inlined, part
from rbdyn_ros.numerics.solvers import fc3d

APPROACHING = 1e-9  # [SPEED] a normal velocity that counts as an impact
LAW_FAILED, MEET_FAILED = 6, 7  # why there are no impulses by Stronge's law


@inlined
def rebound(m, k, share, slow):
    """Return a share of e u_N- of contact k, 0 where that is too slow to part."""
    back = share * contacts.rebound(m, k)
    return back if back < 0.0 and -back >= slow else 0.0


@part
def has_rebound(m, slow):
    """Return whether restitution lets any of the contacts part, by Poisson's law one that is
    compressed, too.
    """
    by_impulses = contacts.law(m) == restitution.POISSON and slow < inf
    for at in range(contacts.count(m)):
        k = contacts.member(m, at)
        if rebound(m, k, 1.0, slow) < 0.0 or by_impulses and contacts.restitution(m, k) > 0.0:
            return True
    return False


@part
def has_approach(m, slow):
    """Return whether any of the contacts approaches faster than `slow`, in an impact."""
    slow = max(slow, APPROACHING * contacts.speed(m))
    for at in range(contacts.count(m)):
        if contacts.velocity_before(m, contacts.member(m, at))[0] <= -slow:
            return True
    return False


@part
def impulses(m, share, slow):
    """Find the impulses by Newton's law with a share of the restitution; return whether they were
    found.
    """
    for at in range(contacts.count(m)):
        k = contacts.member(m, at)
        contacts.put_impulse(m, k, (0.0, 0.0, 0.0))
        contacts.require(m, k, contacts.velocity_before(m, k), rebound(m, k, share, slow))
    return friction.solve_impact(m)


@inlined
def least_impulse(m, k, share, slow):
    """Return the least normal impulse of contact k in its restitution, 0 where it parts too
    slowly.
    """
    p = share * contacts.restitution(m, k) * contacts.saved_impulse(m, k)[0]
    return p if contacts.own_block(m, k)[0][0] * p >= slow else 0.0


@part
def restore(m, k, W, u, old, how):
    """Return the impulse of contact k in its restitution, with that of the compression, and
    whether it is one.
    """
    P = contacts.saved_impulse(m, k)
    if W[0][0] == 0.0:  # held by joints
        return P, True
    p, free = least_impulse(m, k, how[0], how[1]), vec.sub(u, vec.matvec(W, vec.sub(old, P)))
    # what the compression leaves of the normal velocity is round-off of its impulse
    noise = ROUND_OFF * vec.trace(W) * vec.size(P)
    free = (free[0] + noise, free[1], free[2])
    mu = contacts.friction(m, k)
    new, found = restitution.at_least(W, free, mu, p, vec.sub(old, P))
    return vec.add(P, new), found


sweep_restoring = sweeps.of(friction, restore, "_restore")


@part
def expand(m, share, slow):
    """Find the sum of the saved impulses and those of the restitution, at least `share` e times
    their normal ones, by sweeps of Gauss and Seidel; return whether they were found.
    """
    for at in range(contacts.count(m)):
        k = contacts.member(m, at)
        P = contacts.saved_impulse(m, k)
        more = least_impulse(m, k, share, slow) / max(P[0], 1e-300)
        contacts.put_impulse(m, k, vec.axpy(more, P, P))
    friction.begin_sweeps(m)
    moved, size, lawful = 0.0, 0.0, True
    for _ in range(SWEEPS):
        moved, size, lawful, _ = sweep_restoring(m, 0.0, (share, slow))
        if not moved > TOLERANCE * contacts.speed(m) + ROUND_OFF * size:
            break
    return lawful and moved <= STALLED * size


@part
def work(m):
    """Return (energy that the impulses give, size of what they exchange): sum of P.(u- + u+)/2,
    without the work of a prescribed velocity.
    """
    friction.respond_to_all(m)
    gained, size = 0.0, 0.0
    for at in range(contacts.count(m)):
        k = contacts.member(m, at)
        P = contacts.impulse(m, k)
        before, after = (
            vec.dot(P, contacts.velocity_before(m, k)),
            vec.dot(P, contacts.velocity(m, k)),
        )
        gained += 0.5 * (before + after)
        size += abs(before) + abs(after)
    return gained, size


@part
def collide_each(m, slow):
    """Give the contacts that approach the impulse of a collision of their own, by Stronge's law;
    return whether they were found, and none has changed the velocity of another.
    """
    for at in range(contacts.count(m)):
        contacts.put_impulse(m, contacts.member(m, at), (0.0, 0.0, 0.0))
    for at in range(contacts.count(m)):
        k = contacts.member(m, at)
        u = contacts.velocity_before(m, k)
        if u[0] >= -APPROACHING * contacts.speed(m):
            continue
        W, e = contacts.own_block(m, k), rebound(m, k, 1.0, slow) / u[0]
        P, found = restitution.collide(W, u, contacts.friction(m, k), e)
        if not found:
            contacts.fail(m, LAW_FAILED, k)
            return False
        contacts.put_impulse(m, k, P)
    friction.respond_to_all(m)
    for at in range(contacts.count(m)):
        k = contacts.member(m, at)
        own = vec.matvec(contacts.own_block(m, k), contacts.impulse(m, k))
        u = vec.add(contacts.velocity_before(m, k), own)
        other = vec.sub(contacts.velocity(m, k), u)
        if vec.size(other) > ROUND_OFF * (contacts.speed(m) + vec.size(own) + vec.size(u)):
            contacts.fail(m, MEET_FAILED, k)
            return False
    return True


@part
def find_impulses(m, energy, slow):
    """Find the impulses by the law of the model; return whether they were found.

    `energy` is the kinetic one before [J].
    """
    law = contacts.law(m)
    is_energetic = law == restitution.ENERGETIC or law == restitution.ENERGETIC_ALONE
    if not has_rebound(m, slow):
        # Stronge's law with e = 0 is another one than Newton's where the sliding changes its
        # direction; it fails where several contacts meet, which have Newton's: `test_impact_laws`
        if is_energetic and has_approach(m, slow):
            friction.couple_impact(m)
            if collide_each(m, slow):
                return True
            contacts.forget_failure(m)
        return impulses(m, 0.0, slow)
    has_phases = is_energetic or law == restitution.POISSON
    if has_phases:
        friction.couple_impact(m)
    if is_energetic:
        if collide_each(m, slow):
            return True
        if law == restitution.ENERGETIC:
            return False
        contacts.forget_failure(m)
    if has_phases:
        if not impulses(m, 0.0, slow):
            return False
        for at in range(contacts.count(m)):
            contacts.save_impulse(m, contacts.member(m, at))
    low, high, share = 0.0, 1.0, 1.0
    for k in range(fc3d.HALVINGS + 1):
        stalls = contacts.stalls(m)
        solved = expand(m, share, slow) if has_phases else impulses(m, share, slow)
        # what is found only nearly is next to what is not: less of the restitution is found
        solved = solved and (share == 0.0 or contacts.stalls(m) == stalls)
        gained, size = work(m)
        gains = gained > fc3d.CONSERVED * (energy + size)
        refused = not solved or gains and law != restitution.NEWTON
        low, high, share, found = fc3d.narrow(low, high, share, 1.0, refused)
        if found or solved and k == fc3d.HALVINGS:
            contacts.forget_failure(m)
            return True
        share = low if k == fc3d.HALVINGS - 1 else share
    return False
