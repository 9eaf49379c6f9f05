"""The impulses of many contacts: sweeps of the exact one-contact law, then an augmented Lagrangian
(doc/nonsmooth.md, M.16 to M.19).

    u = W r + q,    K_mu  in  r_i  _|_  u_i + mu_i |u_iT| e_N  in  K_mu*          (S.10)

One warm sweep of Gauss-Seidel is enough where little has changed. Stacks need thousands of them;
there the impulses are those of `lagrangian`. A single contact of bodies with joints has a matrix W
with the joints reacting, and needs no more than the exact law.
"""

import sys

from rbdyn_ros.bodies import arena, skyline, smooth
from rbdyn_ros.bodies import columns as c
from rbdyn_ros.bodies.arena import matrix_of, set_matrix, set_vector, vector_of
from rbdyn_ros.bodies.contact import delassus, sweeps
from rbdyn_ros.bodies.contact.lagrangian import (
    ACCEPTED,
    FAILED,
    is_excessive,
    refine,
    solve_lagrangian,
    violation,
    warm_start,
)
from rbdyn_ros.bodies.contact.pairs import (
    STILL,
    TOUCHING,
    accelerate,
    hold,
    release,
    update_contact,
    velocity,
)
from rbdyn_ros.bodies.contact.restitution import JOINTS, SINGULAR
from rbdyn_ros.bodies.contact.sweeps import FEW, ROUND_OFF, STALLED, SWEEPS, TOLERANCE
from rbdyn_ros.bodies.velocity import (
    node_velocities,
    respond_to_changes,
    respond_to_unit,
    trace_alone,
)
from rbdyn_ros.geometry import vec
from rbdyn_ros.kernel import inlined, part
from rbdyn_ros.numerics.solvers.fc3d import natural, settle
from rbdyn_ros.numerics.solvers.fc3d_one_contact import (
    FLAT,
    NONE,
    STICK,
    TAKE_OFF,
    ContactImpulse,
    is_inside,
    is_regular,
    update,
    wedging_impulse,
)

# a sliding velocity over that which friction takes within a step: friction follows the mean of
# both ends
FAR = 1.5
HELD = 1e-14  # of W without joints: an impulse response that joints leave, but for round-off
BENT = 1e-3  # of a velocity: what a step's curvature may leave of it along what a joint holds
# sweeps of contacts that all slide: where their loads are not unique, those nearest to the last
# ones, which the augmented Lagrangian would not find
SLIDING = 200
JOINED, FIRST = 4, 60  # contacts of bodies with joints that are swept first, and sweeps
CONTACT_FAILED = 3


@part
def update_active_set(m):
    """Make the closed pairs the active ones, with frames and the shift of their friction law
    (M.17), and open those that have left the extent of what they touched. Frames of bodies that
    rest are kept. Return how many pairs are active.

    Where the last step stalled the gaps stay as they are, up to TOUCHING: contacts that all stick
    cannot close them, and the inner stress of trying has no end.
    """
    bodies, pairs, integers = arena.bodies(m), arena.pairs(m), arena.pair_integers(m)
    active, n, still = arena.active(m), 0, STILL * arena.clock(m)[c.LENGTH]
    stalled, near = arena.counters(m)[c.STALLED] != 0, TOUCHING * arena.clock(m)[c.LENGTH]
    arena.counters(m)[c.STALLED] = 0
    for k in range(len(pairs)):
        if integers[k, c.CLOSED] == 0:
            pairs[k].up_to_date = 0.0
            continue
        b = integers[k, c.B]
        is_current = pairs[k].up_to_date != 0.0 and bodies[integers[k, c.A], c.DRIFT] <= still
        is_current = is_current and (b == c.WORLD or bodies[b, c.DRIFT] <= still)
        # a contact of shapes that persists keeps its face or edge, or has left it; one that the
        # rest of a step tries to close is not yet where it will touch
        persists = integers[k, c.KIND] > c.BALLS and integers[k, c.CLOSED] != c.HELD
        if not is_current and persists and not hold(m, k):
            release(m, k)
        else:
            active[n] = k
            n += 1
            if not is_current:
                if not persists:
                    update_contact(m, k)
                pairs[k].up_to_date = 1.0
            if stalled:
                pairs[k].slack = max(-near, min(near, pairs[k].gap))
            s, t = pairs[k].u_last[0], pairs[k].u_last[1]
            stopped = max(pairs[k].W[4], pairs[k].W[8]) * pairs[k].mu * pairs[k].impulse[0]
            far = s * s + t * t > (FAR * stopped) ** 2
            pairs[k].shift[0], pairs[k].shift[1] = (s, t) if far else (0.0, 0.0)
    for i in range(len(bodies)):
        if bodies[i, c.DRIFT] > still:
            bodies[i, c.DRIFT] = 0.0
    arena.counters(m)[c.ACTIVE] = n
    return n


@inlined
def least_determinant(m):
    """Return the det W over (trace W)^3 under which W of a contact is singular: it has the
    round-off of the joints, where these react, and an impulse along what they hold is that
    round-off over itself: `test_a_massless_cart_that_rests_on_an_edge_presses_with_its_weight`.
    """
    return SINGULAR if len(arena.blocks(m)) > 0 else FLAT


@part
def stick_singular(W, u, mu, old, h, unit):
    """Return the Contact whose velocity at the impulse `old` is u and which sticks in all
    directions that its joints leave, if the velocity along the others, which they hold, is no more
    than round-off and, in a step of h, its curvature; `unit` of velocity. What is held along the
    normal has no impulse.
    """
    q = vec.sub(u, vec.matvec(W, old))
    r, is_held, left, size = (0.0, 0.0, 0.0), True, -q[0], vec.size(q)
    if W[0][0] > 0.0:
        r, is_held = wedging_impulse(W, q, mu)
        left = vec.size(vec.add(vec.matvec(W, r), q))
    most = max(ACCEPTED * unit, BENT * size) if h > 0.0 else JOINTS * max(unit, size)
    return ContactImpulse(r, STICK if is_held and left <= most else NONE)


@inlined
def solve_one(m, k, W, u, old, how):
    """Return the impulse of pair k, whose velocity at the impulse `old` is u, and whether there is
    one. Without, it goes toward the law, for those of other contacts may let there be one. `how`:
    the step h or, h = 0, at the node; whether to project on the law in place of solving it.
    """
    mu, w, (h, is_projected) = arena.pairs(m)[k].mu, vec.trace(W), how
    if is_projected:
        return settle(old, u, W, mu, w), True
    found, is_flat = update(W, u, mu, old, least_determinant(m)), not is_regular(W, SINGULAR)
    if found.kind == NONE or is_flat and found.kind != TAKE_OFF:
        # the law of one contact fails where joints leave its point a plane or a line to move in:
        # `test_a_rod_falls_on_a_rough_floor_and_leans_there`; or it presses on them with 1e8 N:
        # `test_a_joint_that_rests_on_a_slope_is_not_stressed`
        stuck = stick_singular(W, u, mu, old, h, arena.clock(m)[c.SPEED])
        found = stuck if stuck.kind == STICK else found
    arena.pairs(m)[k].status = found.kind
    if found.kind == NONE or is_flat:
        rest = natural(old, u, mu, w if w > 0.0 else 1.0)
        if vec.size(rest) <= ROUND_OFF * w * vec.size(old):
            return old, True  # what joints bear as well is not unique
        if found.kind == NONE:
            return vec.sub(old, vec.scale(1.0 / w if w > 0.0 else 0.0, rest)), False
    return found.r, True


@inlined
def velocity_of(m, k):
    """Return u of pair k, within a sweep."""
    return vec.add(vector_of(arena.pairs(m)[k].u), velocity(m, k))


@part
def respond_to(m, at, h, change):
    """Add the effect of a change of the impulse of active pair `at` to the velocities."""
    if len(arena.blocks(m)) > 0:
        respond_to_changes(m, h)
    else:
        accelerate(m, arena.active(m)[at], change)


sweep = sweeps.of(sys.modules[__name__], solve_one)


@part
def fail(m, k):
    """Record that pair k has no impulse; return FAILED."""
    arena.counters(m)[c.FAILURE], arena.counters(m)[c.WHERE] = CONTACT_FAILED, k
    return FAILED


@part
def solve(m, tolerance, h):
    """Find the `impulse` of the active pairs, whose velocities at the present ones are `u`, in a
    step of h or, h = 0, at the node.

    Return the change of the first sweep over the tolerance [m/s], 0 if the impulses stay as they
    are, FAILED if none are found. U_X, U_W: the impulses' change of the bodies' velocities, where
    there are no joints.
    """
    pairs, active, count = arena.pairs(m), arena.active(m), arena.counters(m)
    n, joined = count[c.ACTIVE], len(arena.blocks(m)) > 0
    if joined and n == 1 and h > 0.0 and goes_on(m, tolerance):
        return 0.0
    first, moved = 0.0, 0.0
    count[c.RESPONDED] = 0
    smooth.clear(m, c.U_X, c.U_W)
    for at in range(n):
        set_vector(pairs[active[at]].impulse_0, vector_of(pairs[active[at]].impulse))
    if joined and 1 < n <= JOINED:
        change = sweep_few(m, tolerance, h)
        if change < FAILED:
            return change
    if n > FEW or joined and n > 1:
        # sweeps of many contacts, or with joints that react, do not end soon:
        # `test_stack_of_boxes_rests`
        moved, size = violation(m)
        first, factors = moved / (tolerance + ROUND_OFF * size), count[c.FACTORS]
        if solve_lagrangian(m, 0.3 * tolerance, h):
            if h == 0.0 and count[c.FACTORS] > factors and not joined and skyline.is_narrow(m):
                refine(m)
            return first
        # Newton's method fails where joints and contacts are more than what holds the bodies; the
        # sweeps below follow: `test_chains_of_hinges_that_have_fallen_on_a_rough_floor_rest`
        warm_start(m)
    if joined:
        if n == 1 and h > 0.0:
            change = solve_again(m, tolerance, h)
            if change < FAILED:
                return change
            # the W of an earlier step fails where the contact has moved too far since:
            # `test_a_rod_falls_on_a_rough_floor_and_leans_there`
            warm_start(m)
        couple_all(m, h)
    size, where, lawful = 0.0, 0, True
    enough, more = 1, SWEEPS if h == 0.0 and n > 1 else 0
    is_few = joined and 1 < n <= FEW
    due = 0 if is_few else 2 * SWEEPS  # the sweep before which Newton's method tries
    for k in range(SWEEPS + more):
        if k == due:
            if delassus.solve(m, tolerance, h, 0.0):
                return first
            due = 2 * k + 1
        # the exact laws of several contacts can send each other round in circles; projections on
        # them follow: `test_random_impacts`
        if k == SWEEPS and lawful and moved <= STALLED * size:
            break
        moved, size, lawful, where = sweep(m, h, (h, k >= SWEEPS))
        count[c.SWEEPS] += 1
        allowed = tolerance + ROUND_OFF * size
        if k == 0:
            first = moved / allowed
        if (moved <= allowed or joined and n == 1) and lawful:
            return first
        if not moved < FAILED or n == 1 and not lawful or is_excessive(m, h):
            return fail(m, where)
        if k == enough and not joined and 1 < n <= FEW:
            if h > 0.0 and k < SLIDING and is_sliding(m):
                enough = SLIDING
            # sweeps fail where contacts stick: `test_block_at_rest_on_a_slope_does_not_creep`
            elif solve_lagrangian(m, 0.3 * tolerance, h):
                return first
            # it fails where there are no impulses: `test_failures`; what is left is no start
            else:
                warm_start(m)
    if not (moved <= STALLED * size and lawful):
        near = ACCEPTED * arena.clock(m)[c.SPEED] if h > 0.0 else 0.0
        if not (is_few and near > 0.0 and delassus.solve(m, tolerance, h, near)):
            return fail(m, where)
        count[c.STALLS] += 1
        return first
    count[c.STALLS] += 1 if h == 0.0 else 0
    return first


@part
def sweep_few(m, tolerance, h):
    """Solve as `solve`, for few contacts of bodies with joints, by some sweeps with the joints
    reacting; return FAILED if these do not suffice.

    Where loads are not unique (a tip between two rough walls) they stay near the last ones, which
    the augmented Lagrangian does not find.
    """
    first = 0.0
    couple_all(m, h)
    for k in range(FIRST):
        moved, size, lawful, _ = sweep(m, h, (h, False))
        arena.counters(m)[c.SWEEPS] += 1
        allowed = tolerance + ROUND_OFF * size
        if k == 0:
            first = moved / allowed
        if moved <= allowed and lawful:
            return first
        if not moved < FAILED:
            break
    warm_start(m)
    return FAILED


@part
def is_sliding(m):
    """Return whether none of the active pairs sticks."""
    pairs, active = arena.pairs(m), arena.active(m)
    for at in range(arena.counters(m)[c.ACTIVE]):
        if pairs[active[at]].status == STICK:
            return False
    return True


@inlined
def goes_on(m, tolerance):
    """Return whether the only contact of bodies with joints obeys the law with its last impulse,
    as one does that rests, or slides as before.
    """
    pair = arena.pairs(m)[arena.active(m)[0]]
    w, r, u = pair.W_joined[0], vector_of(pair.impulse), vector_of(pair.u)
    if pair.is_coupled == 0.0 or not w > 0.0:
        return False
    if is_inside(r, pair.mu) and (1.0 + pair.mu) * vec.size(u) <= tolerance:
        return True  # the natural map moves r by no more than u does
    return vec.size(natural(r, u, pair.mu, w)) <= tolerance


@part
def solve_again(m, tolerance, h):
    """Solve as `solve`, for the only contact of bodies with joints, with the W of an earlier step:
    right to the order of its change, which the response to the new impulse shows. Return FAILED if
    that is too much.
    """
    pairs, k = arena.pairs(m), arena.active(m)[0]
    if pairs[k].is_coupled == 0.0:
        return FAILED
    W, old, u = matrix_of(pairs[k].W_joined), vector_of(pairs[k].impulse), vector_of(pairs[k].u)
    r, is_taken = solve_one(m, k, W, u, old, (h, False))
    set_vector(pairs[k].impulse, r)
    respond_to_changes(m, h)
    arena.counters(m)[c.SWEEPS] += 1
    size = W[0][0] * vec.size(r)
    if is_taken:
        rest = natural(r, vec.add(u, velocity(m, k)), pairs[k].mu, W[0][0])
        is_taken = vec.size(rest) <= tolerance + ROUND_OFF * size
    if not is_taken:
        return FAILED
    arena.counters(m)[c.RESPONDED] = 1
    moved = W[0][0] * vec.size(vec.sub(r, old))
    return moved / (tolerance + ROUND_OFF * size)


@part
def couple_all(m, h):
    """Set W of the active pairs with the joints reacting."""
    active = arena.active(m)
    for at in range(arena.counters(m)[c.ACTIVE]):
        couple(m, active[at], h)


@part
def couple(m, k, h):
    """Set W of pair k with the joints reacting, 0 where they hold it but for round-off."""
    pairs, noise = arena.pairs(m), HELD * trace_alone(m, k)
    for j in range(3):
        respond_to_unit(m, k, j, h)
        u = velocity(m, k)
        for r in range(3):
            pairs[k].W[3 * r + j] = u[r] if abs(u[r]) > noise else 0.0
    if h > 0.0:
        set_matrix(pairs[k].W_joined, matrix_of(pairs[k].W))
        pairs[k].is_coupled = 1.0
    smooth.clear(m, c.U_X, c.U_W)


@part
def solve_impact(m):
    """Find the impulses of the active pairs at the node; return whether they were found."""
    return solve(m, TOLERANCE * arena.clock(m)[c.SPEED], 0.0) < FAILED


@part
def couple_impact(m):
    """Set W of the active pairs at the node with the joints reacting."""
    if len(arena.blocks(m)) > 0:
        couple_all(m, 0.0)


@part
def respond_to_all(m):
    """Set the velocities of the node to those after all impulses."""
    node_velocities(m, True)


@part
def begin_sweeps(m):
    """Set the velocities of the active pairs at the node to those after their impulses; U_X, U_W
    are what changes from now on.
    """
    node_velocities(m, True)
    pairs, active = arena.pairs(m), arena.active(m)
    for at in range(arena.counters(m)[c.ACTIVE]):
        k = active[at]
        set_vector(pairs[k].u, velocity(m, k))
        set_vector(pairs[k].impulse_0, vector_of(pairs[k].impulse))
    smooth.clear(m, c.U_X, c.U_W)
