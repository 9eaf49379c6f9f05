"""Impacts at the node: all contacts that touch collide together, with restitution and Coulomb's
friction (doc/nonsmooth.md, M.20 to M.26).

    M (v+ - v-) = A^T nu + D^T P,   A v+ = 0

The impulses P obey the law of the model (`exchange`).
"""

import numpy as np

from rbdyn_ros.bodies import arena, smooth, velocity
from rbdyn_ros.bodies import columns as c
from rbdyn_ros.bodies.arena import get, matrix_of, put, set_vector, vector_of
from rbdyn_ros.bodies.contact import exchange, friction
from rbdyn_ros.bodies.contact.pairs import TOUCHING, any_gap, hold, push, release, update_contact
from rbdyn_ros.bodies.contact.pairs import velocity as pair_velocity
from rbdyn_ros.geometry import vec
from rbdyn_ros.kernel import inlined, part

# [SPEED^2/LENGTH] times the step: a velocity below which a contact stays closed
RESTING = 0.005


@inlined
def resting(m, h):
    """Return the velocity below which a contact stays closed in steps of h [m/s]."""
    clock = arena.clock(m)
    return RESTING * h * clock[c.SPEED] * (clock[c.SPEED] / clock[c.LENGTH])


@inlined
def share_before(m):
    """Return the share of the last impulses that the node's part before the instant has at rest:
    half of them, but all of those of the first step, which only act after its node.
    """
    clock = arena.clock(m)
    return 1.0 if clock[c.TIME] <= clock[c.STEP] else 0.5


@part
def activate(m, share, touching):
    """Make the closed pairs the active ones, with those that touch if asked for; set their frames
    and velocities, and return how many they are. Those that have left the extent of what they
    touched are opened, as the next step would.

    Closed pairs begin with a share of their last impulses.
    """
    pairs, integers, active = arena.pairs(m), arena.pair_integers(m), arena.active(m)
    n, near = 0, TOUCHING * arena.clock(m)[c.LENGTH]
    for k in range(len(pairs)):
        is_held = integers[k, c.CLOSED] != 0 and integers[k, c.KIND] > c.BALLS
        if is_held and not hold(m, k):
            release(m, k)
            is_held = False
        if integers[k, c.CLOSED] != 0 or touching and any_gap(m, k, c.X, c.R) <= near:
            active[n] = k
            n += 1
            if not is_held:
                update_contact(m, k)
            set_vector(pairs[k].impulse, vec.scale(share, vector_of(pairs[k].impulse)))
    arena.counters(m)[c.ACTIVE] = n
    velocity.node_velocities(m, share > 0.0)
    for at in range(n):
        u = pair_velocity(m, active[at])
        set_vector(pairs[active[at]].u, u)
        set_vector(pairs[active[at]].u_before, u)
    return n


@part
def collide(m, h, has_restitution):
    """Let everything that touches at the node collide, with restitution or without;
    close the pairs that do not part. Return whether impulses were found.

    First the closed contacts get the part of the node's reactions that has acted before the
    impact.
    """
    pairs, active, hit = arena.pairs(m), arena.active(m), False
    speed = arena.clock(m)[c.SPEED]
    velocity.prepare_node(m)
    if activate(m, share_before(m), False) > 0:
        if not friction.solve_impact(m):
            return False
        velocity.node_velocities(m, True)
        push_all(m)
    before = velocity.node_velocities(m, False)
    for at in range(activate(m, 0.0, True)):
        hit = hit or pairs[active[at]].u_before[0] < -exchange.APPROACHING * speed
    slow = resting(m, h) if has_restitution else np.inf
    if hit and not exchange.find_impulses(m, before, slow):
        return False
    velocity.node_velocities(m, hit)
    close_contacts(m, h, hit)
    return True


@part
def note_slack(m):
    """Record in `slack` what open pairs overlap by while they part: round-off, or what a contact
    that persisted has left.
    """
    pairs, integers = arena.pairs(m), arena.pair_integers(m)
    for k in range(len(pairs)):
        if integers[k, c.CLOSED] == 0:
            pairs[k].slack = min(any_gap(m, k, c.X, c.R), 0.0)


@part
def note_gaps(m):
    """Record the gaps of all pairs at the node."""
    pairs = arena.pairs(m)
    for k in range(len(pairs)):
        pairs[k].gap = any_gap(m, k, c.X, c.R)


@part
def hold_overlaps(m):
    """Hold the open pairs that overlap at the end of a part; return how many, -1 if one that is
    held overlaps.
    """
    pairs, integers, found = arena.pairs(m), arena.pair_integers(m), 0
    for k in range(len(pairs)):
        if integers[k, c.CLOSED] != 1:
            g = any_gap(m, k, c.X_1, c.R_1) - pairs[k].slack
            if integers[k, c.CLOSED] == 0 and g < 0.0:
                integers[k, c.CLOSED] = c.HELD
                found += 1
            elif integers[k, c.CLOSED] == c.HELD and g < -TOUCHING * arena.clock(m)[c.LENGTH]:
                return -1
    return found


@part
def end_hold(m, closed):
    """Close the pairs that are held, or open them again."""
    integers = arena.pair_integers(m)
    for k in range(len(integers)):
        if integers[k, c.CLOSED] == c.HELD:
            integers[k, c.CLOSED] = closed
            arena.pairs(m)[k].slack = 0.0 if closed == 1 else arena.pairs(m)[k].slack


@part
def push_all(m):
    """Add the impulses of the active pairs to the momenta and to the sums. Their work is that at
    the mean of `u_before` and of the velocity U_X, U_W after them.
    """
    pairs, active = arena.pairs(m), arena.active(m)
    for at in range(arena.counters(m)[c.ACTIVE]):
        k = active[at]
        push(m, k, vector_of(pairs[k].impulse), c.P, c.L)
        u = vec.add(vector_of(pairs[k].u_before), pair_velocity(m, k))
        add_up(m, k, vec.scale(0.5, u))


@part
def observe(m):
    """Set U_X, U_W to the velocities of the node as output, joints and closed contacts obeyed
    (M.14), and `kept` to the impulses of the closed contacts that have acted by then; return
    whether these were found.
    """
    pairs, integers = arena.pairs(m), arena.pair_integers(m)
    for k in range(len(pairs)):
        set_vector(pairs[k].kept, vector_of(pairs[k].impulse))
    velocity.prepare_node(m)
    n = activate(m, share_before(m), False)
    solved = n == 0 or friction.solve_impact(m)
    if n > 0:
        velocity.node_velocities(m, True)
    arena.clock(m)[c.NODE_WORK] = work_of_drives(m)
    for k in range(len(pairs)):
        acted = (0.0, 0.0, 0.0)
        if integers[k, c.CLOSED] != 0:
            acted = vector_of(pairs[k].impulse)
            set_vector(pairs[k].impulse, vector_of(pairs[k].kept))
        set_vector(pairs[k].kept, acted)
    return solved


@part
def work_of_drives(m):
    """Return the work of prescribed velocities by the impulses of the active pairs [J]."""
    active, work = arena.active(m), 0.0
    for at in range(arena.counters(m)[c.ACTIVE]):
        work += work_of_drive(m, active[at])
    return work


@inlined
def work_of_drive(m, k):
    """Return the work of prescribed velocities by the impulse of pair k [J]."""
    bodies, integers, pair = arena.bodies(m), arena.pair_integers(m), arena.pairs(m)[k]
    impulse, work = vector_of(pair.impulse), 0.0
    for side in range(2):
        i, sign = integers[k, c.A + side], -1.0 if side == 0 else 1.0
        if i == c.WORLD:
            continue
        moves, turns = get(bodies, i, c.DRIVE), get(bodies, i, c.DRIVE_W)
        if vec.size(moves) + vec.size(turns) > 0.0:
            force = vec.transposed_matvec(matrix_of(pair.frame), impulse)
            torque = vec.transposed_matvec(matrix_of(pair.levers[side]), impulse)
            work += sign * (vec.dot(force, moves) + vec.dot(torque, turns))
    return work


@part
def close_contacts(m, h, hit):
    """Close what does not part, record impacts, let the rates of turning follow the jump."""
    pairs, integers, active = arena.pairs(m), arena.pair_integers(m), arena.active(m)
    slow, speed = resting(m, h), arena.clock(m)[c.SPEED]
    push_all(m)
    for at in range(arena.counters(m)[c.ACTIVE]):
        k = active[at]
        after, before = pair_velocity(m, k)[0], pairs[k].u_before[0]
        if hit:
            if before < -exchange.APPROACHING * speed and pairs[k].impulse[0] > 0.0:
                record(m, k, before, after)
        pairs[k].slack = pairs[k].slack if integers[k, c.CLOSED] != 0 else 0.0
        integers[k, c.CLOSED] = 1 if after < slow else 0
        set_vector(pairs[k].impulse, (0.0, 0.0, 0.0))
        if integers[k, c.CLOSED] == 0 or hit:
            pairs[k].u_last[0] = pairs[k].u_last[1] = 0.0
    if hit:
        follow_rates(m)


@part
def follow_rates(m):
    """Set the rates of turning, from which steps guess, to those of U_W."""
    bodies = arena.bodies(m)
    for i in range(len(bodies)):
        smooth.put_rates(bodies, i, vec.scale(0.5, get(bodies, i, c.U_W)))


@part
def add_up(m, k, u):
    """Add the impulse of pair k to its sums, and its work at the velocity u."""
    pairs = arena.pairs(m)
    impulse = vector_of(pairs[k].impulse)
    pairs[k].driven += work_of_drive(m, k)
    pairs[k].total[0] += impulse[0]
    pairs[k].work += vec.dot(impulse, u)
    force = vec.transposed_matvec(matrix_of(pairs[k].frame), impulse)
    for i in range(3):
        pairs[k].total[1 + i] += force[i]


@part
def record(m, k, before, after):
    """Record an impact; it is counted also where the table is full."""
    table, count, e = arena.impacts(m), arena.counters(m), arena.counters(m)[c.IMPACTS]
    if e < len(table):
        table[e, 0], table[e, 1] = arena.clock(m)[c.TIME], k
        put(table, e, 2, vector_of(arena.pairs(m)[k].impulse))
        table[e, 5], table[e, 6] = before, after
    count[c.IMPACTS] = e + 1
