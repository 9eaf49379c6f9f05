"""Impacts at the node: all that touch jump together, with Newton's restitution and Coulomb's
friction (doc/nonsmooth.md, M.20, M.21).

    M (v+ - v-) = A^T nu + D^T P,   A v+ = 0
    K_mu  in  P  _|_  u+ + (s e u_N- + mu |u_T+|) e_N  in  K_mu*

Newton's law with friction can gain energy (Kane's paradox). s = 1 where it does not; else s is the
largest share of the restitution with which the kinetic energy does not grow. s = 0 never gains:
P.u+ <= 0, so that T+ - T- = P.u+ - P.W P/2 <= 0.
"""

from rbdyn_ros.geometry import vec
from rbdyn_ros.kernel import part
from rbdyn_ros.mechanics import arena, coupled, friction, velocity
from rbdyn_ros.mechanics import columns as c
from rbdyn_ros.mechanics.arena import get, put
from rbdyn_ros.mechanics.pairs import aim, any_gap, push
from rbdyn_ros.mechanics.pairs import velocity as pair_velocity
from rbdyn_ros.solvers import fc3d

TOUCHING = 1e-9  # [m] a gap that counts as closed
APPROACHING = 1e-9  # [m/s] a normal velocity that counts as an impact
RESTING = 0.005  # [1/s] times the step: a velocity below which a contact stays closed
TOLERANCE = 1e-14  # [m/s]


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
    if n > 0 and len(arena.blocks(m)) > 0:
        coupled.couple(m, 0.0, True)
    return n


@part
def strike(m, h, restitution):
    """Let everything that touches at the node jump; pairs that do not part are closed then.
    Whether impulses were found.

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
    if hit and not exchange(m, before, h, restitution):
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
    if len(arena.blocks(m)) > 0:
        return coupled.solve(m, TOLERANCE) < friction.FAILED
    return friction.solve(m, TOLERANCE) < friction.FAILED


@part
def exchange(m, before, h, restitution):
    """Find the impulses LA; whether they were found."""
    low, high, share = 0.0, restitution, restitution
    for _ in range(fc3d.HALVINGS):
        if not impulses(m, h, share):
            return False
        after = velocity.node_velocities(m, True)
        gains = after > before * (1.0 + fc3d.CONSERVED) and arena.clock(m)[c.MAY_GAIN] == 0.0
        low, high, share, found = fc3d.narrow(low, high, share, restitution, gains)
        if found:
            return True
    return impulses(m, h, low)


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
    bodies, pairs, integers, active = (
        arena.bodies(m),
        arena.pairs(m),
        arena.pair_integers(m),
        arena.active(m),
    )
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
        for i in range(len(bodies)):
            rate = vec.scale(0.5, get(bodies, i, c.U_W))
            put(bodies, i, c.V_1, rate)
            put(bodies, i, c.V_2, rate)
            put(bodies, i, c.V_3, rate)


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
