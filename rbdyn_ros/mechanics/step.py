"""Whole runs in one kernel: steps with persistent contacts, split at impacts, undone where they
fail (doc/nonsmooth.md, M.14 to M.22).

A step is tried with the contacts that are closed. Where an open gap is negative at its end, the
part that ends where the first gap closes is taken, everything that touches collides there, and the
rest of the step follows. The last of too many impacts within a step is without restitution, so
that a bouncing ball comes to rest.
"""

import numpy as np

from rbdyn_ros.geometry import vec
from rbdyn_ros.kernel import hot, inlined, part
from rbdyn_ros.mechanics import arena, joints, smooth, springs, turn, velocity
from rbdyn_ros.mechanics import columns as c
from rbdyn_ros.mechanics.arena import AT_IMPACT, AT_START, NOT_SAVED, copy_state, get, put
from rbdyn_ros.mechanics.contact import friction, impact
from rbdyn_ros.mechanics.contact.pairs import push, set_mean_velocities, smallest
from rbdyn_ros.numerics import bracket

CLOSED = 1e-14  # [LENGTH] the gap at which a part of a step ends
ROUNDS = 50  # between bodies and impulses
ROUND_OFF = 4e-15  # of the places, per step: least tolerance of a contact's velocity
LINEAR = 30.0  # tolerances: a change of the impulses that moves the bodies linearly
# [LENGTH] of a change of one contact whose W has the joints in it: as far as that is exact, O(h w)
SHORT = 5e-12
HOLDS = 4  # tries to hold what else would overlap
# of the step: shorter parts are not taken, for round-off of places over their length is a velocity
SHORTEST = 1e-8
LEAST_PIECE = 2.0**-12  # of a step that fails
FARTHEST = 0.1  # [radii] along a rim, in one step, if it is not the least piece
ROUNDS_FAILED, IMPACT_FAILED = 4, 5
OBSERVE = np.int64(-1)


@part
def move_linearly(m, h):
    """Move bodies and joints linearly by the last small change of the impulses, from L_B to LA.

    What that leaves of the equation of the turn goes into the momentum (M.11).
    """
    bodies, blocks = arena.bodies(m), arena.blocks(m)
    joined = len(blocks) > 0
    if joined:
        if arena.counters(m)[c.RESPONDED] == 0:
            friction.respond_to_changes(m, h)
        for j in range(len(blocks)):
            arena.add(blocks, j, c.LAM, get(blocks, j, c.D))
    for i in range(len(bodies)):
        u = get(bodies, i, c.U_X)
        arena.add(bodies, i, c.X_1, vec.scale(h, u))
        arena.add(bodies, i, c.P_1, vec.times(get(bodies, i, c.M), u))
        if bodies[i, c.TURNS] != 0.0:
            u, J, v = get(bodies, i, c.U_W), get(bodies, i, c.J), get(bodies, i, c.V)
            arena.add(bodies, i, c.L_1, get(bodies, i, c.D_W) if joined else vec.times(J, u))
            v = vec.axpy(0.5 * h, u, v)
            w = turn.cosine(v)
            put(bodies, i, c.V, v)
            smooth.finish(bodies, i, v, w)


@part
def advance_part(m, h, full):
    """Advance bodies, joints and closed contacts by h, a part of a step `full`; return whether it
    was solved.
    """
    pairs, active, count = arena.pairs(m), arena.active(m), arena.counters(m)
    smooth.start(m)
    n, joined = friction.collect(m), len(arena.blocks(m)) > 0
    if n == 0:
        done = smooth.move(m, h)
        count[c.ITERATIONS] += done
        return done >= 0
    unit = arena.clock(m)[c.LENGTH]
    tolerance = ROUND_OFF * n * (unit + vec.size(get(arena.bodies(m), 0, c.X))) / h
    change = friction.FAILED
    for k in range(ROUNDS):
        if k > 0:
            smooth.start(m)
        for at in range(n):
            push(m, active[at], get(pairs, active[at], c.LA), c.P_1, c.L_1)
        done = smooth.move(m, h)
        if done < 0:
            return False
        count[c.ITERATIONS] += done
        count[c.ROUNDS] += 1
        set_mean_velocities(m, h, full)
        stalls = count[c.STALLS]
        change = friction.solve(m, tolerance, h)
        if change == friction.FAILED:
            return False
        stalled = k > 1 and count[c.STALLS] > stalls
        is_exact = joined and n == 1 and change * tolerance * h <= SHORT * unit
        if change <= (1.0 if joined else LINEAR) or stalled or is_exact:
            move_linearly(m, h)
            return is_travel_short(m, h)
    # round-off of a hyperstatic model: 4e-9 m/s for each contact at 1 ms
    if change < 1e6:
        move_linearly(m, h)
        count[c.STALLS] += 1
        return is_travel_short(m, h)
    count[c.FAILURE], count[c.WHERE] = ROUNDS_FAILED, active[0]
    return False


@inlined
def is_travel_short(m, h):
    """Return whether the points of contact have gone little way along rims in a part h of a step,
    or it is too short to be divided.
    """
    clock = arena.clock(m)
    return clock[c.TRAVEL] <= FARTHEST or h <= LEAST_PIECE * clock[c.STEP]


@part
def attempt(m, h, full, scale):
    """Attempt a part h of a step from the node, its turns guessed as `scale` times those of the
    last attempt; return whether it was solved.
    """
    bodies = arena.bodies(m)
    smooth.load(m, h, c.B_X, c.B_W)
    springs.damp(m, h, c.B_X, c.B_W)
    smooth.set_masses(m, h)
    if scale != 1.0:
        for i in range(len(bodies)):
            if bodies[i, c.TURNS] != 0.0:
                put(bodies, i, c.V, vec.scale(scale, get(bodies, i, c.V)))
    return advance_part(m, h, full)


@part
def find_impact(m, left, full):
    """Find and solve the part of a step at whose end the first gap is just closed, and nothing
    overlaps; return its length, 0 if it is too short to be taken, -1 if it failed.
    """
    allowed, at = CLOSED * arena.clock(m)[c.LENGTH], left
    aim = 0.5 * allowed  # the gap that is looked for
    start, end = max(smallest(m, c.X, c.R), 0.0), smallest(m, c.X_1, c.R_1)
    b = bracket.between(0.0, left, start, end - aim)
    for k in range(bracket.TRIALS):
        if b.closed <= SHORTEST * full:
            return 0.0
        narrow = b.closed - b.open <= 1e-13 * full
        tau = b.open if narrow else bracket.trial(b, k)
        arena.counters(m)[c.TRIALS] += 1
        if not attempt(m, tau, full, tau / at):
            return -1.0
        at = tau
        g = smallest(m, c.X_1, c.R_1)
        if narrow or 0.0 <= g <= allowed:
            return finish_part(m, tau, left, full)
        b = bracket.narrow(b, tau, g - aim)
    arena.counters(m)[c.FAILURE], arena.counters(m)[c.WHERE] = IMPACT_FAILED, 0
    return -1.0


@part
def finish_part(m, tau, left, full):
    """Return the part tau of what is left of a step, which is solved; 0, or all that is left,
    where it or the rest would be too short; -1 if that failed.
    """
    if tau <= SHORTEST * full:
        return 0.0
    if left - tau > SHORTEST * full or tau == left:
        return tau
    return left if attempt(m, left, full, left / tau) else -1.0


@part
def take(m, h, full):
    """Make the part that was solved the node: sum up its impulses, open contacts that parted."""
    bodies, pairs, integers = arena.bodies(m), arena.pairs(m), arena.pair_integers(m)
    active = arena.active(m)
    unit = arena.clock(m)[c.LENGTH]
    for i in range(len(bodies)):
        moved = vec.size(vec.sub(get(bodies, i, c.X_1), get(bodies, i, c.X)))
        bodies[i, c.DRIFT] += moved + unit * vec.size(get(bodies, i, c.V))
    smooth.commit(m, h, h > 1e-3 * full)
    springs.update(m, h)
    arena.clock(m)[c.TIME] += h
    for at in range(arena.counters(m)[c.ACTIVE]):
        k = active[at]
        s, t = pairs[k, c.U_P] + pairs[k, c.U_N], pairs[k, c.U_P + 1] + pairs[k, c.U_N + 1]
        impact.add_up(pairs, k, (0.0, 0.5 * s, 0.5 * t))
        pairs[k, c.U_P], pairs[k, c.U_P + 1] = pairs[k, c.U_N], pairs[k, c.U_N + 1]
        if not pairs[k, c.LA] > 0.0 and pairs[k, c.GAP_1] > impact.TOUCHING * unit:
            integers[k, c.CLOSED] = 0
            put(pairs, k, c.LA, (0.0, 0.0, 0.0))
            pairs[k, c.U_P] = pairs[k, c.U_P + 1] = 0.0


@part
def hold_rest(m, left, full):
    """Solve what is left of a step as one part, at whose end nothing overlaps that was open: it
    obeys the law of contacts that stay, unless no impulses hold it. Return whether it was solved.
    """
    for _ in range(HOLDS):
        found = impact.hold(m)
        if found == 0:
            impact.end_hold(m, 1)
            return True
        if found < 0 or not attempt(m, left, full, 1.0):
            break
    impact.end_hold(m, 0)
    undo(m, NOT_SAVED)
    return attempt(m, left, full, 1.0)


@part
def step(m, h):
    """Take one step; return whether it was solved."""
    smooth.guess(m, h)
    joints.node_gradients(m)
    springs.keep_impulses(m)
    left, scale, last, saved = h, 1.0, int(arena.clock(m)[c.MAX_IMPACTS]), NOT_SAVED
    for parts in range(2 * last + 1):
        if not attempt(m, left, h, scale):
            return undo(m, saved)
        if parts == 2 * last and not hold_rest(m, left, h):
            return undo(m, saved)
        if parts == 2 * last or smallest(m, c.X_1, c.R_1) >= 0.0:
            take(m, left, h)
            return True
        if saved == NOT_SAVED:
            saved = AT_IMPACT
            copy_state(m, saved, True)
        tau = find_impact(m, left, h)
        if tau < 0.0:
            return undo(m, saved)
        if tau > 0.0:
            take(m, tau, h)
        stays = parts >= last - 1 or tau == 0.0 and parts > 0
        if not impact.strike(m, h, 0.0 if stays else 1.0):
            return undo(m, saved)
        impact.note_slack(m)
        left -= tau
        if left <= 0.0:
            return True
        smooth.guess(m, left)
        joints.node_gradients(m)
        springs.keep_impulses(m)
        scale = 1.0
    return True


@part
def undo(m, saved):
    """Go back to the start of the step, which was saved in one of the places unless it still is
    the node; reset the impulses there, which only were a guess. Return False.
    """
    if saved != NOT_SAVED:
        copy_state(m, saved, False)
        springs.update(m, 0.0)
    pairs, blocks = arena.pairs(m), arena.blocks(m)
    for k in range(len(pairs)):
        put(pairs, k, c.LA, (0.0, 0.0, 0.0))
        pairs[k, c.WAKE] = pairs[k, c.AIMED] = 0.0
    for j in range(len(blocks)):
        put(blocks, j, c.LAM, (0.0, 0.0, 0.0))
    return False


@part
def step_without_pairs(m, h):
    """Take one step of a model that has no contact pairs; return whether it was solved."""
    smooth.guess(m, h)
    joints.node_gradients(m)
    smooth.load(m, h, c.P_1, c.L_1)
    springs.damp(m, h, c.P_1, c.L_1)
    smooth.set_masses(m, h)
    done = smooth.move(m, h)
    if done < 0:
        return undo(m, NOT_SAVED)
    arena.counters(m)[c.ITERATIONS] += done
    smooth.commit(m, h, True)
    springs.update(m, h)
    arena.clock(m)[c.TIME] += h
    return True


@hot
def advance(m, h, n):
    """Take n steps of h of a model with contact pairs; return how many were taken. At a step that
    fails the state is that of its start. With n = OBSERVE return 1 if U_X, U_W are now the
    velocities of the node, else 0. One kernel does both, so that the solvers are compiled once.

    Before the first step what touches and does not part is closed, and what approaches there has
    its impact. A step that fails is tried in halves, down to LEAST_PIECE of it, and goes on in
    pieces that double; so is one in which a point of contact goes far along a rim.
    """
    if n == OBSERVE or arena.clock(m)[c.STARTED] == 0.0:
        springs.update(m, 0.0)
    if n == OBSERVE:
        if arena.clock(m)[c.STARTED] == 0.0:
            impact.note_gaps(m)
        return 1 if impact.observe(m) else 0
    if arena.clock(m)[c.STARTED] == 0.0:
        if not impact.strike(m, h, 1.0):
            return 0
        impact.note_slack(m)
        arena.clock(m)[c.STARTED] = 1.0
    taken, left, piece = 0, h, h
    arena.clock(m)[c.STEP] = h
    while taken < n:
        if step(m, piece):
            left -= piece
            piece = min(2.0 * piece, left)
            if left <= 0.0:
                taken, left, piece = taken + 1, h, h
            continue
        if piece == h:
            copy_state(m, AT_START, True)
        undo(m, NOT_SAVED)
        piece *= 0.5
        if piece < LEAST_PIECE * h:
            undo(m, AT_START)
            return taken
    return n


@part
def advance_without_pairs(m, h, n):
    """Do the same as `advance` for a model without contact pairs: a kernel of its own, which
    compiles in a quarter of the time.
    """
    if n == OBSERVE or arena.clock(m)[c.STARTED] == 0.0:
        springs.update(m, 0.0)
    if n == OBSERVE:
        velocity.prepare_node(m)
        velocity.node_velocities(m, False)
        return 1
    arena.clock(m)[c.STARTED] = 1.0
    for k in range(n):
        if not step_without_pairs(m, h):
            return k
    return n


@part
def advance_composed(m, weights, h, n):
    """Take n steps of h, each of stages h weights[i] one after the other; return how many were
    taken.

    For models without contact pairs: a symmetric composition raises the order of the symmetric
    step, but some of its stages go back in time. A step that fails in one of its stages is undone.
    """
    bodies = arena.bodies(m)
    arena.clock(m)[c.STARTED] = 1.0
    for k in range(n):
        copy_state(m, AT_START, True)
        end = arena.clock(m)[c.TIME] + h
        for stage in range(len(weights)):
            part = h * weights[stage]
            if not step_without_pairs(m, part):
                undo(m, AT_START)
                return k
            # stages differ in length: no rate but the last is a guess
            for i in range(len(bodies)):
                smooth.put_rates(bodies, i, get(bodies, i, c.V_1))
        arena.clock(m)[c.TIME] = end
    return n
