"""Whole steps, for heaps: impacts do not split them (doc/nonsmooth.md, M.31, M.32).

All pairs that would overlap at the end of a step obey the law of contacts that stay. What arrives
is stopped there, and no overlap is left that would have to be given back as speed; its impact ends
at the end of the step, with restitution. Pairs are computed only if their bodies can have come
near each other: the list of those is made again when a body has moved as far as its margin allows.
"""

from rbdyn_ros.geometry import unit_quaternion, vec
from rbdyn_ros.kernel import inlined, part
from rbdyn_ros.mechanics import arena, smooth, springs, turn
from rbdyn_ros.mechanics import columns as c
from rbdyn_ros.mechanics.arena import get, get4, put, put9
from rbdyn_ros.mechanics.contact import active_pairs, friction, impact, slots
from rbdyn_ros.mechanics.contact.broad_phase import find_contacts
from rbdyn_ros.mechanics.contact.pairs import accelerate, any_gap, is_lasting, is_unjointed, push
from rbdyn_ros.mechanics.contact.pairs import velocity as pair_velocity
from rbdyn_ros.mechanics.smooth import way

# passes, and the first one with velocities of contacts that are linear in the impulses
PASSES, LINEAR = 15, 10
WOUND = 10.0  # of the sum of all momenta: larger impulses are a stress that sweeps have wound up
REPEATED = 2  # passes at most follow one that leaves no overlap, but pushes what parts
SHIFTS, SHIFTED = 40, 1e-13  # sweeps, and the change [LENGTH] that ends them
AHEAD = 0.25  # of the way of the fastest body: pairs that near are closed, and may carry nothing
# at the end of a step that another pass takes back: [LENGTH], and of the longest way of a body
OVERLAP, OF_WAY = 1e-6, 5e-4
# [LENGTH], and of the longest way of a body: overlaps of more, which grow, are no heap's
CRUSHED, CRUSHED_OF_WAY = 1e-3, 0.1
CRUSHED_FAILED = 9
STEPS_AHEAD = 8.0  # of the fastest body, for which the list of near pairs holds
LEAST_MARGIN = 1e-3  # [LENGTH]


@part
def longest_way(m):
    """Return the longest way of a body in the step [m]; FAILED if that of one is no number."""
    bodies, longest, total = arena.bodies(m), 0.0, 0.0
    for i in range(len(bodies)):
        longest = max(longest, way(bodies, i))
        total += way(bodies, i)
    return longest if total < friction.FAILED else friction.FAILED


@part
def find_candidates(m):
    """Find what can touch within the predicted step, and close what comes near."""
    longest = longest_way(m)
    if len(arena.colliders(m)) > 0:
        find_contacts(m, 0.0, False)
    list_near(m, longest)
    close(m, AHEAD * longest, -1e300)


@part
def list_near(m, longest):
    """Make the list of near pairs anew unless it holds until the end of the step."""
    clock = arena.clock(m)
    if 2.0 * (clock[c.MOVED] + longest) <= clock[c.MARGIN]:
        return
    bodies, integers, near = arena.bodies(m), arena.pair_integers(m), arena.near(m)
    bounds, n = arena.bounds(m), 0
    margin = 2.0 * STEPS_AHEAD * longest + LEAST_MARGIN * clock[c.LENGTH]
    for k in range(len(bounds)):
        is_near, b = True, integers[k, c.B]
        if bounds[k] >= 0.0:
            a = integers[k, c.A]
            reach = bounds[k] + margin
            x = bodies[a, c.X] - bodies[b, c.X]
            y = bodies[a, c.X + 1] - bodies[b, c.X + 1]
            z = bodies[a, c.X + 2] - bodies[b, c.X + 2]
            is_near = x * x + y * y + z * z <= reach * reach
        elif integers[k, c.KIND] == c.FACE and b == c.WORLD:
            is_near = any_gap(m, k, c.X, c.R) <= margin
        if is_near:
            near[n] = k
            n += 1
    arena.counters(m)[c.NEAR] = n
    clock[c.MARGIN], clock[c.MOVED] = margin, 0.0


@inlined
def count_near(m):
    """Return how many near pairs and taken slots there are."""
    return arena.counters(m)[c.NEAR] + arena.counters(m)[c.USED]


@inlined
def near_pair(m, at):
    """Return a near pair or that of a taken slot."""
    n = arena.counters(m)[c.NEAR]
    return arena.near(m)[at] if at < n else arena.used(m)[at - n]


@part
def predict(m, h):
    """Predict the end of the step with the impulses of the step before; return whether it was
    found.
    """
    pairs, integers = arena.pairs(m), arena.pair_integers(m)
    smooth.load(m, h, c.P_1, c.L_1)
    for at in range(count_near(m)):
        k = near_pair(m, at)
        if integers[k, c.CLOSED] != 0 and pairs[k, c.LA] > 0.0:  # others may have no frame yet
            push(m, k, get(pairs, k, c.LA), c.P_1, c.L_1)
    return smooth.move(m, h) >= 0


@part
def close(m, ahead, overlap):
    """Close the open pairs whose gap at the end of the step is below `ahead`; return how many,
    with the closed ones whose gap is below `overlap`.
    """
    pairs, integers, found = arena.pairs(m), arena.pair_integers(m), 0
    for at in range(count_near(m)):
        k = near_pair(m, at)
        gap = any_gap(m, k, c.X_1, c.R_1)
        if integers[k, c.CLOSED] != 0:
            found += 1 if gap < overlap else 0
        elif gap < ahead:
            integers[k, c.CLOSED] = 1
            put(pairs, k, c.LA, (0.0, 0.0, 0.0))
            pairs[k, c.U_P] = pairs[k, c.U_P + 1] = 0.0
            found += 1
    return found


@part
def set_linear_velocities(m, h):
    """Set U to the velocities of the active pairs in the frames of the node, and what gap is left
    to go there over h: as no motion obeys the law of contacts for these, impulses exist that do.
    """
    pairs, active = arena.pairs(m), arena.active(m)
    impact.kinetic_energy(m, c.P_1, c.L_1)
    for at in range(arena.counters(m)[c.ACTIVE]):
        k = active[at]
        u = pair_velocity(m, k)
        left = 0.0 if is_lasting(m, k) else max(pairs[k, c.GAP], 0.0) / h
        pairs[k, c.U_N], pairs[k, c.U_N + 1] = u[1], u[2]
        put(pairs, k, c.U, (u[0] + left, u[1] + pairs[k, c.SHIFT], u[2] + pairs[k, c.SHIFT + 1]))


@part
def close_all(m, longest):
    """Close what overlaps at the end of the step; return how many overlap there too much. With
    linear velocities closed ones do not count, for passes do not part them then.
    """
    list_near(m, longest)
    overlap = -OVERLAP * arena.clock(m)[c.LENGTH] - OF_WAY * longest
    is_linear, before = arena.clock(m)[c.LINEAR] != 0.0, count_closed(m)
    found = close(m, overlap if is_linear else 0.0, overlap)
    if len(arena.colliders(m)) > 0:
        found += find_contacts(m, overlap, True)
    return count_closed(m) - before if is_linear else found


@part
def count_closed(m):
    """Return how many contacts are closed."""
    found = 0
    for k in range(len(arena.pairs(m))):
        found += arena.pair_integers(m)[k, c.CLOSED]
    return found


@part
def is_crushed(m, longest):
    """Return whether a closed contact overlaps too much at the end of the step, or is nowhere, and
    record which one: passes do not part bodies that press each other and cannot move.
    """
    pairs, active, count = arena.pairs(m), arena.active(m), arena.counters(m)
    allowed = CRUSHED * arena.clock(m)[c.LENGTH] + CRUSHED_OF_WAY * longest
    for at in range(count[c.ACTIVE]):
        k = active[at]
        gap = any_gap(m, k, c.X_1, c.R_1)
        if not gap >= min(-allowed, pairs[k, c.GAP]):
            count[c.FAILURE], count[c.WHERE] = CRUSHED_FAILED, k
            return True
    return False


@part
def save_contacts(m):
    """Save the contacts at the start of the step, and which of them are closed."""
    flags, integers = arena.saved_flags(m), arena.pair_integers(m)
    for k in range(len(integers)):
        flags[k] = integers[k, c.CLOSED]
    copy_guesses(m, True)
    if len(arena.slots(m)) > 0:
        slots.save(m, arena.AT_IMPACT)


@part
def restore_contacts(m):
    """Go back to the contacts that were saved, while the bodies still are at the node."""
    flags, integers, pairs = arena.saved_flags(m), arena.pair_integers(m), arena.pairs(m)
    listed = len(pairs) - len(arena.slots(m))
    for k in range(len(pairs)):
        pairs[k, c.AIMED] = 0.0
        if k < listed:
            integers[k, c.CLOSED] = flags[k]
            put(pairs, k, c.LA, (0.0, 0.0, 0.0))
    copy_guesses(m, False)
    if len(arena.slots(m)) > 0:
        slots.restore(m, arena.AT_IMPACT)


@part
def copy_guesses(m, to_saved):
    """Save or restore what the bodies have drifted, for how long Newton's method pauses, and the
    impulses of joints and listed pairs, from which those of the step are guessed.
    """
    store, pairs, count = arena.saved(m), arena.pairs(m), arena.counters(m)
    if to_saved:
        store[0], store[1] = count[c.RESTS], count[c.OWED]
    else:
        count[c.RESTS], count[c.OWED] = int(store[0]), int(store[1])
    at = arena.copy_columns(arena.bodies(m), c.DRIFT, 1, store, 2, to_saved)
    at = arena.copy_columns(arena.blocks(m), c.LAM, 3, store, at, to_saved)
    for k in range(len(pairs) - len(arena.slots(m))):
        for j in range(3 if arena.saved_flags(m)[k] != 0 else 0):
            if to_saved:
                store[at + 3 * k + j] = pairs[k, c.LA + j]
            else:
                pairs[k, c.LA + j] = store[at + 3 * k + j]


@part
def save_start(m):
    """Save the start of a step that failed as a whole."""
    arena.copy_state(m, arena.AT_START, True)
    if len(arena.slots(m)) > 0:
        slots.save(m, arena.AT_START)


@part
def restore_start(m):
    """Go back to the start of a step that failed in pieces, too."""
    pairs = arena.pairs(m)
    arena.copy_state(m, arena.AT_START, False)
    if len(arena.slots(m)) > 0:
        slots.restore(m, arena.AT_START)
    springs.update(m, 0.0)
    for k in range(len(pairs)):
        pairs[k, c.AIMED] = 0.0
    arena.clock(m)[c.MARGIN] = -1.0  # the near pairs are those of a later node


@part
def is_wound(m):
    """Return whether closed contacts press each other by far more than all momenta together: a
    stress that each sweep adds to, because turns bend the gaps of bodies that are wedged in.
    """
    bodies, pairs, most, total = arena.bodies(m), arena.pairs(m), 0.0, 0.0
    for i in range(len(bodies)):
        total += vec.size(get(bodies, i, c.B_X))
    for at in range(count_near(m)):
        most = max(most, pairs[near_pair(m, at), c.LA])
    return most > WOUND * total


@part
def begin_pass(m, k):
    """Choose whether velocities are linear in pass k; where contacts are wound up they are, from
    no impulses on.
    """
    clock, pairs = arena.clock(m), arena.pairs(m)
    if k == 0:
        clock[c.LINEAR] = 0.0
    if clock[c.LINEAR] == 0.0 and is_wound(m):
        clock[c.LINEAR] = 1.0
        for at in range(count_near(m)):
            put(pairs, near_pair(m, at), c.LA, (0.0, 0.0, 0.0))
    if k >= LINEAR:
        clock[c.LINEAR] = 1.0


@part
def parts_what_it_pushes(m, h):
    """Return whether the impulses of the step that was solved push contacts that part, and give
    energy by that: sweeps that ended early, or turns that were not small.
    """
    pairs, active, work = arena.pairs(m), arena.active(m), 0.0
    for at in range(arena.counters(m)[c.ACTIVE]):
        k = active[at]
        parted = pairs[k, c.GAP_1] - max(pairs[k, c.GAP], 0.0)
        work += max(pairs[k, c.LA] * parted, 0.0) / h
    return work > active_pairs.GIVEN * impact.kinetic_energy(m, c.B_X, c.B_W)


@part
def needs_another_pass(m, h, k, longest):
    """Return whether another pass has to follow pass k."""
    return close_all(m, longest) > 0 or k < REPEATED and parts_what_it_pushes(m, h)


@part
def open_idle(m):
    """Open contacts that have carried no impulse: their bodies have not reached each other yet."""
    pairs, integers, active = arena.pairs(m), arena.pair_integers(m), arena.active(m)
    for at in range(arena.counters(m)[c.ACTIVE]):
        k = active[at]
        if not pairs[k, c.LA] > 0.0:
            integers[k, c.CLOSED] = 0
            put(pairs, k, c.LA, (0.0, 0.0, 0.0))


@part
def separate(m):
    """Shift the ends of the bodies until no closed contact overlaps there, and those that stay
    are not open, by sweeps on the normals; no momentum comes from that (doc/nonsmooth.md, M.36).
    """
    pairs, active, n = arena.pairs(m), arena.active(m), arena.counters(m)[c.ACTIVE]
    smooth.clear(m, c.U_X, c.U_W)
    for at in range(n):
        k = active[at]
        pairs[k, c.GAP_1] = any_gap(m, k, c.X_1, c.R_1)
        pairs[k, c.Z] = 0.0
    for sweep in range(SHIFTS):
        largest = 0.0
        for at in range(n):
            k = active[n - 1 - at if sweep % 2 == 1 else at]
            if not is_unjointed(m, k):
                continue
            gap = pairs[k, c.GAP_1] + pair_velocity(m, k)[0]
            old = pairs[k, c.Z]
            new = old - gap / pairs[k, c.W_OWN]
            if not (is_lasting(m, k) and pairs[k, c.LA] > 0.0):
                new = max(new, 0.0)
            if new != old:
                pairs[k, c.Z] = new
                accelerate(m, k, (new - old, 0.0, 0.0))
                largest = max(largest, pairs[k, c.W_OWN] * abs(new - old))
        if largest <= SHIFTED * arena.clock(m)[c.LENGTH]:
            break
    shift_ends(m)


@part
def shift_ends(m):
    """Add the small displacements U_X, U_W to the ends of the bodies."""
    bodies = arena.bodies(m)
    for i in range(len(bodies)):
        moved, turned = get(bodies, i, c.U_X), get(bodies, i, c.U_W)
        if moved == (0.0, 0.0, 0.0) and turned == (0.0, 0.0, 0.0):
            continue
        arena.add(bodies, i, c.X_1, moved)
        bodies[i, c.DRIFT] += arena.clock(m)[c.LENGTH] * vec.size(turned)
        if bodies[i, c.TURNS] != 0.0:
            half = vec.scale(0.5, turned)
            q = (turn.cosine(half), half[0], half[1], half[2])
            q = unit_quaternion.product(get4(bodies, i, c.Q_1), q)
            put(bodies, i, c.Q_1, q)
            put9(bodies, i, c.R_1, unit_quaternion.matrix(q))
