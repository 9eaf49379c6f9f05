"""Impacts at the node: all that touch jump together, with restitution and Coulomb's friction
(doc/nonsmooth.md, M.20 to M.26).

    M (v+ - v-) = A^T nu + D^T P,   A v+ = 0
    K_mu  in  P  _|_  u+ + (s e u_N- + mu |u_T+|) e_N  in  K_mu*                  Newton

Newton's law with friction can gain energy (Kane's paradox). s = 1 where it does not; else s is the
largest share of the restitution with which the kinetic energy does not grow. s = 0 never gains:
P.u+ <= 0, so that T+ - T- = P.u+ - P.W P/2 <= 0. Poisson's law follows the impulses of s = 0 by
others of at least s e times their size; Stronge's is that of one contact (`restitution`).
"""

from rbdyn_ros.geometry import vec
from rbdyn_ros.kernel import inlined, part
from rbdyn_ros.mechanics import arena, smooth, velocity
from rbdyn_ros.mechanics import columns as c
from rbdyn_ros.mechanics.arena import get, get9, put
from rbdyn_ros.mechanics.contact import friction, restitution
from rbdyn_ros.mechanics.contact.pairs import accelerate, aim, any_gap, push
from rbdyn_ros.mechanics.contact.pairs import velocity as pair_velocity
from rbdyn_ros.mechanics.solvers import fc3d

TOUCHING = 1e-9  # [m] a gap that counts as closed
APPROACHING = 1e-9  # [m/s] a normal velocity that counts as an impact
RESTING = 0.005  # [1/s] times the step: a velocity below which a contact stays closed
TOLERANCE = 1e-14  # [m/s]
ALONE = 1e-12  # of a velocity: what another contact may change of it in an impact of its own
LAW_FAILED, MEET_FAILED = 6, 7


@part
def gather(m, share, touching):
    """The closed pairs become the active ones, with those that touch if asked for: how many; their
    frames and velocities.

    Closed pairs begin with a share of their last impulses; at rest half of them is the part of the
    node's before an instant.
    """
    pairs, integers, active = arena.pairs(m), arena.pair_integers(m), arena.active(m)
    n = 0
    for k in range(len(pairs)):
        if integers[k, c.CLOSED] != 0 or touching and any_gap(m, k, c.X, c.R) <= TOUCHING:
            active[n] = k
            n += 1
            aim(m, k)
            put(pairs, k, c.LA, vec.scale(share, get(pairs, k, c.LA)))
    arena.counters(m)[c.ACTIVE] = n
    velocity.node_velocities(m, share > 0.0)
    for at in range(n):
        u = pair_velocity(m, active[at])
        put(pairs, active[at], c.U, u)
        put(pairs, active[at], c.BEFORE, u)
    return n


@part
def strike(m, h, share):
    """Let everything that touches at the node jump, with a share of its restitution; pairs that do
    not part are closed then. Whether impulses were found.

    First the closed contacts get the part of the node's reactions that has acted before the
    impact.
    """
    pairs, active, hit = arena.pairs(m), arena.active(m), False
    velocity.prepare_node(m)
    if gather(m, 0.5, False) > 0:
        if not solve(m):
            return False
        push_all(m)
    before = velocity.node_velocities(m, False)
    for at in range(gather(m, 0.0, True)):
        hit = hit or pairs[active[at], c.BEFORE] < -APPROACHING
    if hit and not exchange(m, before, h, share):
        return False
    velocity.node_velocities(m, hit)
    finish(m, h, hit)
    return True


@part
def push_all(m):
    """Add the impulses of the active pairs to the momenta and to the sums."""
    active = arena.active(m)
    for at in range(arena.counters(m)[c.ACTIVE]):
        push(m, active[at], get(arena.pairs(m), active[at], c.LA), c.P, c.L)
        add_up(arena.pairs(m), active[at])


@part
def observe(m):
    """U_X, U_W: the velocities of the node as output, joints and closed contacts obeyed (M.14).
    Whether impulses were found.
    """
    pairs = arena.pairs(m)
    for k in range(len(pairs)):
        put(pairs, k, c.KEEP, get(pairs, k, c.LA))
    velocity.prepare_node(m)
    n = gather(m, 0.5, False)
    solved = n == 0 or solve(m)
    if n > 0:
        velocity.node_velocities(m, True)
    for k in range(len(pairs)):
        put(pairs, k, c.LA, get(pairs, k, c.KEEP))
    return solved


@part
def solve(m):
    """The impulses LA of the active pairs at the node; whether they were found."""
    return friction.solve(m, TOLERANCE, 0.0, True) < friction.FAILED


@part
def exchange(m, before, h, full):
    """Find the impulses LA by the law of the model; whether they were found."""
    law, pairs, active = arena.clock(m)[c.LAW], arena.pairs(m), arena.active(m)
    if len(arena.blocks(m)) > 0 and (law == restitution.ENERGETIC or law == restitution.POISSON):
        friction.couple_all(m, 0.0, True)
    if law == restitution.ENERGETIC and full > 0.0 and rebounds(m, h):
        return collide_alone(m, h)
    has_phases = law == restitution.POISSON and full > 0.0
    if has_phases:
        if not impulses(m, h, 0.0):
            return False
        for at in range(arena.counters(m)[c.ACTIVE]):
            put(pairs, active[at], c.KEEP, get(pairs, active[at], c.LA))
    low, high, share = 0.0, full, full
    for _ in range(fc3d.HALVINGS):
        done = expand(m, h, share) if has_phases else impulses(m, h, share)
        if not done and not has_phases:
            return False
        velocity.node_velocities(m, True)
        gained, size = work(m)
        gains = gained > fc3d.CONSERVED * (before + size) and law != restitution.NEWTON
        low, high, share, found = fc3d.narrow(low, high, share, full, gains or not done)
        if found:
            return True
    return expand(m, h, low) if has_phases else impulses(m, h, low)


@part
def work(m):
    """(energy that the impulses LA give, size of what they exchange) where U_X, U_W are the
    velocities after them: sum of P.(u- + u+)/2, what bodies with a prescribed velocity do left
    out.
    """
    pairs, active, gained, size = arena.pairs(m), arena.active(m), 0.0, 0.0
    for at in range(arena.counters(m)[c.ACTIVE]):
        k = active[at]
        P, u = get(pairs, k, c.LA), get(pairs, k, c.BEFORE)
        gained += 0.5 * vec.dot(P, vec.add(u, pair_velocity(m, k)))
        size += abs(vec.dot(P, u))
    return gained, size


@part
def expand(m, h, share):
    """LA := KEEP and the impulses of the restitution, at least `share` e times its normal ones, by
    sweeps of Gauss and Seidel; whether they were found.
    """
    pairs, active, count = arena.pairs(m), arena.active(m), arena.counters(m)
    n, coupling, moved, size = count[c.ACTIVE], len(arena.blocks(m)) > 0, 0.0, 0.0
    for at in range(n):
        k = active[at]
        P = get(pairs, k, c.KEEP)
        put(pairs, k, c.LA, vec.axpy(least(pairs, k, h, share) / max(P[0], 1e-300), P, P))
    velocity.node_velocities(m, True)
    for at in range(n):
        put(pairs, active[at], c.U, pair_velocity(m, active[at]))
        put(pairs, active[at], c.L_B, get(pairs, active[at], c.LA))
    if coupling:  # then U_X, U_W are what has changed since
        smooth.clear(m, c.U_X, c.U_W)
    lawful = True
    for _ in range(friction.SWEEPS):
        moved, size, lawful = 0.0, 1e-300, True
        for at in range(n):
            k = active[at]
            W, old = get9(pairs, k, c.W_OWN), vec.sub(get(pairs, k, c.LA), get(pairs, k, c.KEEP))
            u = pair_velocity(m, k)
            if coupling:
                u = vec.add(u, get(pairs, k, c.U))
            q, p = vec.sub(u, vec.matvec(W, old)), least(pairs, k, h, share)
            new, found = restitution.at_least(W, q, pairs[k, c.MU], p, old)
            lawful = lawful and found
            d = vec.sub(new, old)
            arena.add(pairs, k, c.LA, d)
            moved += W[0][0] * vec.size(d)
            size += W[0][0] * vec.size(get(pairs, k, c.LA))
            if coupling:
                friction.respond_to_changes(m, 0.0, True)
            else:
                accelerate(m, k, d)
        if not moved < friction.FAILED or moved <= TOLERANCE + friction.ROUND_OFF * size:
            break
    return lawful and moved <= friction.STALLED * size


@inlined
def least(pairs, k, h, share):
    """The least normal impulse of pair k in its restitution; 0 where it would part too slowly."""
    p = share * pairs[k, c.E] * pairs[k, c.KEEP]
    return p if pairs[k, c.W_OWN] * p >= RESTING * h else 0.0


@part
def rebounds(m, h):
    """Whether restitution lets any of the active pairs part."""
    pairs, active = arena.pairs(m), arena.active(m)
    for at in range(arena.counters(m)[c.ACTIVE]):
        if -pairs[active[at], c.E] * pairs[active[at], c.BEFORE] >= RESTING * h:
            return True
    return False


@part
def collide_alone(m, h):
    """LA of the pairs that approach, each in a collision of its own; whether they were found, and
    none has changed the velocity of another.
    """
    pairs, active, count = arena.pairs(m), arena.active(m), arena.counters(m)
    n = count[c.ACTIVE]
    for at in range(n):
        put(pairs, active[at], c.LA, (0.0, 0.0, 0.0))
    for at in range(n):
        k = active[at]
        u = get(pairs, k, c.BEFORE)
        if u[0] >= -APPROACHING:
            continue
        e = pairs[k, c.E] if -pairs[k, c.E] * u[0] >= RESTING * h else 0.0
        P, found = restitution.collide(get9(pairs, k, c.W_OWN), u, pairs[k, c.MU], e)
        if not found:
            count[c.FAILURE], count[c.WHERE] = LAW_FAILED, k
            return False
        put(pairs, k, c.LA, P)
    velocity.node_velocities(m, True)
    for at in range(n):
        k = active[at]
        own = vec.matvec(get9(pairs, k, c.W_OWN), get(pairs, k, c.LA))
        u = vec.add(get(pairs, k, c.BEFORE), own)
        other = vec.sub(pair_velocity(m, k), u)
        if vec.size(other) > ALONE * (1.0 + vec.size(own) + vec.size(u)):
            count[c.FAILURE], count[c.WHERE] = MEET_FAILED, k
            return False
    return True


@part
def impulses(m, h, share):
    """LA of the active pairs for a share of their restitution; whether they were found."""
    pairs, integers, active = arena.pairs(m), arena.pair_integers(m), arena.active(m)
    for at in range(arena.counters(m)[c.ACTIVE]):
        k = active[at]
        u = get(pairs, k, c.BEFORE)
        back = share * pairs[k, c.E] * min(u[0], 0.0)
        if integers[k, c.CLOSED] != 0 or -back < RESTING * h:
            back = 0.0
        put(pairs, k, c.LA, (0.0, 0.0, 0.0))
        put(pairs, k, c.U, (u[0] + back, u[1], u[2]))
    return solve(m)


@part
def finish(m, h, hit):
    """Close what does not part, write impacts down, let the rates of turning follow the jump."""
    pairs, integers, active = arena.pairs(m), arena.pair_integers(m), arena.active(m)
    push_all(m)
    for at in range(arena.counters(m)[c.ACTIVE]):
        k = active[at]
        after, before = pair_velocity(m, k)[0], pairs[k, c.BEFORE]
        if hit:
            if before < -APPROACHING and pairs[k, c.LA] > 0.0:
                record(m, k, before, after)
        integers[k, c.CLOSED] = 1 if after < RESTING * h else 0
        put(pairs, k, c.LA, (0.0, 0.0, 0.0))
        if integers[k, c.CLOSED] == 0 or hit:
            pairs[k, c.U_P] = pairs[k, c.U_P + 1] = 0.0
    if hit:
        follow_rates(m)


@part
def follow_rates(m):
    """Let the rates of turning, from which steps guess, be those of U_W."""
    bodies = arena.bodies(m)
    for i in range(len(bodies)):
        smooth.put_rates(bodies, i, vec.scale(0.5, get(bodies, i, c.U_W)))


@part
def add_up(pairs, k):
    """Add the impulse of pair k to its sums."""
    impulse = get(pairs, k, c.LA)
    pairs[k, c.TOTAL] += impulse[0]
    force = vec.transposed_matvec(arena.get9(pairs, k, c.FRAME), impulse)
    arena.add(pairs, k, c.TOTAL + 1, force)


@part
def record(m, k, before, after):
    """Write an impact down; it is counted also where the table is full."""
    table, count, pairs = arena.impacts(m), arena.counters(m), arena.pairs(m)
    e = count[c.IMPACTS]
    if e < len(table):
        table[e, 0], table[e, 1] = arena.clock(m)[c.TIME], k
        put(table, e, 2, get(pairs, k, c.LA))
        table[e, 5], table[e, 6] = before, after
    count[c.IMPACTS] = e + 1
