"""One step of a model, and whole runs of them in one kernel (doc/nonsmooth.md, M.14 to M.22).

`step` is the physics: free motion under the impulses of what touches, up to the first impact, and
on from there. Below are its parts in that order, then the runs, which repeat a step that fails in
halves.
"""

import numpy as np

from rbdyn_ros.bodies import arena, joint_blocks, smooth, springs, turn, velocity
from rbdyn_ros.bodies import columns as c
from rbdyn_ros.bodies.arena import (
    AT_IMPACT,
    AT_START,
    NOT_SAVED,
    copy_state,
    get,
    put,
    set_vector,
    vector_of,
)
from rbdyn_ros.bodies.contact import friction
from rbdyn_ros.bodies.contact import impact as collision
from rbdyn_ros.bodies.contact.pairs import TOUCHING, push, release, set_mean_velocities, smallest
from rbdyn_ros.geometry import vec
from rbdyn_ros.kernel import inlined, part
from rbdyn_ros.numerics import bracket

CLOSED = 1e-14  # [LENGTH] the gap at which a part of a step ends
ROUNDS = 50  # between bodies and impulses
ROUND_OFF = 4e-15  # of the places, per step: least tolerance of a contact's velocity
LINEAR = 30.0  # tolerances: a change of the impulses that moves the bodies linearly
# [LENGTH] of a change of one contact whose W has the joints in it: as far as that is exact, O(h w)
SHORT = 5e-12
# of the step: shorter parts are not taken, for round-off of places over their length is a velocity
SHORTEST = 1e-8
LEAST_PIECE = 2.0**-12  # of a step that fails
FARTHEST = 0.1  # [radii] along a rim, in one step, if it is not the least piece
ROUNDS_FAILED, IMPACT_FAILED = 4, 5
OBSERVE = np.int64(-1)


@part
def step(m, h):
    """Take one step; return whether it was solved. The last of too many impacts within a step is
    without restitution, so that a bouncing ball comes to rest.
    """
    left, most, saved = h, int(arena.clock(m)[c.MAX_IMPACTS]), NOT_SAVED
    for impacts in range(2 * most + 1):
        start_part(m, left)
        is_last = impacts == 2 * most
        if not attempt(m, left, h, 1.0) or is_last and not hold_rest(m, left, h):
            return undo(m, saved)
        if is_last or smallest(m, c.X_1, c.R_1) >= 0.0:
            output(m, left, h)
            return True
        if saved == NOT_SAVED:
            saved = AT_IMPACT
            copy_state(m, saved, True)
        tau = find_impact(m, left, h)
        if tau < 0.0:
            return undo(m, saved)
        if tau > 0.0:
            output(m, tau, h)
        has_restitution = impacts < most - 1 and (tau > 0.0 or impacts == 0)
        if not impact(m, h, has_restitution):
            return undo(m, saved)
        left -= tau
        if left <= 0.0:
            return True
    return True


@part
def attempt(m, h, full, scale):
    """Attempt a part h of a step `full` from the node, its turns guessed as `scale` times those of
    the last attempt; return whether it was solved.
    """
    free_motion(m, h, scale)
    if what_touches(m) == 0:
        return move(m, h)
    return impulses(m, h, full) and is_travel_short(m, h)


@part
def start_part(m, h):
    """Guess the turns of a part h of a step, and keep what is constant in it."""
    smooth.guess(m, h)
    joint_blocks.node_gradients(m)
    springs.keep_impulses(m)


@part
def free_motion(m, h, scale):
    """Set P_1, L_1 to the momenta of a part h without the node's reactions: loads, springs and
    dampers have acted; and scale the guess of its turns.
    """
    bodies = arena.bodies(m)
    smooth.load(m, h, c.B_X, c.B_W)
    springs.damp(m, h, c.B_X, c.B_W)
    smooth.set_masses(m, h)
    if scale != 1.0:
        for i in range(len(bodies)):
            if bodies[i, c.TURNS] != 0.0:
                put(bodies, i, c.V, vec.scale(scale, get(bodies, i, c.V)))
    smooth.start(m)


@part
def what_touches(m):
    """Make the closed contacts the active set; return how many they are."""
    return friction.update_active_set(m)


@part
def move(m, h):
    """Move bodies and joints by the momenta P_1, L_1; return whether they were found."""
    done = smooth.move(m, h)
    arena.counters(m)[c.ITERATIONS] += max(done, 0)
    return done >= 0


@part
def impulses(m, h, full):
    """Alternate between the bodies' motion and the impulses of the active set until they agree;
    return whether they do.
    """
    pairs, active, count = arena.pairs(m), arena.active(m), arena.counters(m)
    n, joined = count[c.ACTIVE], len(arena.blocks(m)) > 0
    unit = arena.clock(m)[c.LENGTH]
    tolerance = ROUND_OFF * n * (unit + vec.size(get(arena.bodies(m), 0, c.X))) / h
    change = friction.FAILED
    for k in range(ROUNDS):
        if k > 0:
            smooth.start(m)
        for at in range(n):
            push(m, active[at], vector_of(pairs[active[at]].impulse), c.P_1, c.L_1)
        if not move(m, h):
            return False
        count[c.ROUNDS] += 1
        set_mean_velocities(m, h, full)
        stalls = count[c.STALLS]
        change = friction.solve(m, tolerance, h)
        if change == friction.FAILED:
            return False
        if change == 0.0:  # of the impulses: nothing moves
            return True
        # the law of contacts that contradict each other is not met more exactly in more rounds:
        # `test_askew_stack_of_listed_faces_rests`
        stalled = k > 1 and count[c.STALLS] > stalls
        count[c.STALLED] = count[c.STALLS] > stalls
        is_exact = joined and n == 1 and change * tolerance * h <= SHORT * unit
        if change <= (1.0 if joined else LINEAR) or stalled or is_exact:
            move_linearly(m, h)
            return True
    # where more contacts stick than there are motions the rounds go on in their inner stress
    if change < 1e6:
        move_linearly(m, h)
        count[c.STALLS] += 1
        return True
    count[c.FAILURE], count[c.WHERE] = ROUNDS_FAILED, active[0]
    return False


@part
def impact(m, h, has_restitution):
    """Let all that touches at the node collide; return whether impulses were found."""
    if not collision.collide(m, h, has_restitution):
        return False
    collision.note_slack(m)
    return True


@part
def output(m, h, full):
    """Make the part that was solved the node: sum up its impulses, open contacts that parted."""
    bodies, pairs = arena.bodies(m), arena.pairs(m)
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
        s, t, u, v = pairs[k].u_last[0], pairs[k].u_last[1], pairs[k].u_now[0], pairs[k].u_now[1]
        s, t = (u, v) if s == 0.0 and t == 0.0 else (s, t)  # a first one acts after its node only
        s, t = s + u, t + v
        collision.add_up(m, k, (0.0, 0.5 * s, 0.5 * t))
        pairs[k].u_last[0], pairs[k].u_last[1] = pairs[k].u_now[0], pairs[k].u_now[1]
        if not pairs[k].impulse[0] > 0.0 and pairs[k].gap_1 > TOUCHING * unit:
            release(m, k)


@part
def move_linearly(m, h):
    """Move bodies and joints linearly by the last small change of the impulses, from
    `impulse_0` to `impulse`.

    What that leaves of the equation of the turn goes into the momentum (M.11).
    """
    bodies, blocks = arena.bodies(m), arena.blocks(m)
    joined = len(blocks) > 0
    if joined:
        if arena.counters(m)[c.RESPONDED] == 0:
            velocity.respond_to_changes(m, h)
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


@inlined
def is_travel_short(m, h):
    """Return whether the points of contact have gone little way along rims in a part h of a step,
    or it is too short to be divided.
    """
    clock = arena.clock(m)
    return clock[c.TRAVEL] <= FARTHEST or h <= LEAST_PIECE * clock[c.STEP]


@part
def find_impact(m, left, full):
    """Find and solve the part of a step at whose end the first gap is just closed, and nothing
    overlaps; return its length, 0 if it is too short to be taken, -1 if it failed.
    """
    allowed, at = CLOSED * arena.clock(m)[c.LENGTH], left
    wanted = 0.5 * allowed  # the gap that is looked for
    start, end = max(smallest(m, c.X, c.R), 0.0), smallest(m, c.X_1, c.R_1)
    b = bracket.between(0.0, left, start, end - wanted)
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
        # round-off hides the gap that is looked for where bodies are far from the origin
        if narrow or 0.0 <= g <= allowed:
            return finish_part(m, tau, left, full)
        b = bracket.narrow(b, tau, g - wanted)
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
def hold_rest(m, left, full):
    """Solve what is left of a step as one part, at whose end nothing overlaps that was open: it
    obeys the law of contacts that stay, unless no impulses hold it. Return whether it was solved.

    A ball that bounces ever faster would have impacts without end in it:
    `test_what_falls_after_too_many_impacts_of_a_step_does_not_overlap_at_its_end`.
    """
    for _ in range(len(arena.pairs(m)) + 1):
        found = collision.hold_overlaps(m)
        if found == 0:
            collision.end_hold(m, 1)
            return True
        if found < 0 or not attempt(m, left, full, 1.0):
            break
    collision.end_hold(m, 0)
    undo(m, NOT_SAVED)
    return attempt(m, left, full, 1.0)


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
        set_vector(pairs[k].impulse, (0.0, 0.0, 0.0))
        pairs[k].clearance = pairs[k].up_to_date = 0.0
    for j in range(len(blocks)):
        put(blocks, j, c.LAM, (0.0, 0.0, 0.0))
    return False


@part
def step_without_pairs(m, h):
    """Take one step of a model that has no contact pairs; return whether it was solved."""
    smooth.guess(m, h)
    joint_blocks.node_gradients(m)
    smooth.load(m, h, c.P_1, c.L_1)
    springs.damp(m, h, c.P_1, c.L_1)
    smooth.set_masses(m, h)
    if not move(m, h):
        return undo(m, NOT_SAVED)
    smooth.commit(m, h, True)
    springs.update(m, h)
    arena.clock(m)[c.TIME] += h
    return True


@part
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
            collision.note_gaps(m)
        return 1 if collision.observe(m) else 0
    if arena.clock(m)[c.STARTED] == 0.0:
        if not impact(m, h, True):
            return 0
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
        # a step fails where a point of contact goes far along a rim: `test_thrown_shapes`
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
