"""The impulses of many contacts by an augmented Lagrangian (doc/nonsmooth.md, M.19).

    r = proj_K(r_k - sigma (u + s e_N)),    s = mu |u_T|,    M du = D^T (r - r_0),
    sigma = 1e4 / W_NN and growing,

solved by Newton's method in the bodies' velocities du, with a matrix of 6 rows for each body,
whatever the contacts. The rows of joints are in it, u = 0 with r free.
"""

from math import sqrt

from rbdyn_ros.bodies import arena, skyline, smooth
from rbdyn_ros.bodies import columns as c
from rbdyn_ros.bodies.arena import get, put, set_vector, vector_of
from rbdyn_ros.bodies.contact.lagrangian_rows import (
    HELD,
    HELD_AGAIN,
    PROJECTED,
    PROJECTED_AGAIN,
    add_change,
    augmented_impulse,
    joint_impulse,
    newton_system,
    own_size,
    round_off,
)
from rbdyn_ros.bodies.contact.sweeps import ROUND_OFF
from rbdyn_ros.geometry import vec
from rbdyn_ros.kernel import part
from rbdyn_ros.numerics.solvers.fc3d import natural
from rbdyn_ros.numerics.solvers.fc3d_one_contact import SLIDE, STICK, TAKE_OFF

SIGMA = 1e4  # over W
GROWTH = 10.0  # of sigma, once, after a round of Newton's method that gains little
SOFT_SIGMA = 1e2  # of Newton's method from the result of alternating directions
ACCEPTED = 1e-5  # [SPEED] where joints and contacts contradict each other in a step
EXACT = 1e-15  # of the impulses, relative: what Newton's method goes on to while that is cheap
STAGNANT = 300.0  # times NOISE: what a residual falls to by the matrix
NEAR = 1e-4  # of the impulses: residuals below may be round-off
# of `refine`: in a stack of n boxes the bending has 1/n^4 of W_NN, where smaller sigma hardly act
STIFF_SIGMA, FINE = 1e7, 1e-13
OUTER, INNER, SLOW = 60, 12, 0.3
# how much of the slope along a change may come back with the other sign, and halvings until it
# does not: with 12 of them `test_any_length_moves_the_same` fails
OVERSHOT, HALVINGS = 0.5, 10
FRUITLESS = 3  # rounds that may find nothing
STRIDE, LONGEST, ROUNDS, ALTERNATIONS = 4.0, 64.0, 100, 40
# times as many alternations at the node, where nothing contradicts the law, if they come near
AT_NODE = 3
# of the impulses, relative: a change that is taken where Newton's method does not end
SETTLED = 1e-10
# of a change to the next one: it falls no more, and up to ACCEPTED is taken. Where more contacts
# stick than there are motions, the curvature of a step contradicts them, and inner stress would
# grow without an end.
STALLING = 0.5
# [SPEED], of what impulses give each for itself: those of an impact that are larger are none, for
# the law would hold for infinite ones only, by which contacts and joints press each other
LARGEST = 1e4
FAILED = 1e300


@part
def violation(m):
    """Return (what each contact's own law would change, size of the impulses) as velocities."""
    pairs, active, moved, size = arena.pairs(m), arena.active(m), 0.0, 0.0
    for at in range(arena.counters(m)[c.ACTIVE]):
        k = active[at]
        W, u, r, mu = (
            pairs[k].W[0],
            vector_of(pairs[k].u),
            vector_of(pairs[k].impulse),
            pairs[k].mu,
        )
        moved += vec.size(natural(r, u, mu, W))
        size += W * vec.size(r)
    return moved, size


@part
def warm_start(m):
    """Set `impulse` to `impulse_0`, at which `u` holds, and what follows from that."""
    pairs, active = arena.pairs(m), arena.active(m)
    smooth.clear(m, c.U_X, c.U_W)
    for at in range(arena.counters(m)[c.ACTIVE]):
        k = active[at]
        set_vector(pairs[k].impulse, vector_of(pairs[k].impulse_0))
        u = vector_of(pairs[k].u)
        pairs[k].slip = pairs[k].mu * sqrt(u[1] * u[1] + u[2] * u[2])
        set_vector(pairs[k].z, (max(u[0], 0.0) + pairs[k].slip, u[1], u[2]))
    blocks = arena.blocks(m)
    for j in range(len(arena.pivots(m))):
        put(blocks, j, c.D, (0.0, 0.0, 0.0))
        blocks[j, c.W_JOINT] = own_size(m, j)


@part
def solve_lagrangian(m, tolerance, h):
    """Find `impulse` from `impulse_0`, at which `u` holds; return whether they were found.

    Newton's method alone fails far from the solution: `test_thrown_rod_clatters_to_its_rolling`.
    Then alternating directions come before it.
    """
    warm_start(m)
    if newton(m, tolerance, SIGMA) and not is_excessive(m, h):
        return True
    warm_start(m)
    scale, before, least, near = 1.0, FAILED, FAILED, ACCEPTED * arena.clock(m)[c.SPEED]
    for k in range(ALTERNATIONS if h > 0.0 else AT_NODE * ALTERNATIONS):
        left, size = admm(m, tolerance, scale)
        least = min(least, left)
        if not left < FAILED or k >= ALTERNATIONS and least > near or is_excessive(m, h):
            break
        is_stalled = STALLING * before < left <= near and h > 0.0
        if left > 0.1 * before:
            # far from the solution sigma grows; after the largest comes the smallest
            scale = STRIDE * scale if scale < LONGEST else 1.0 / LONGEST
        before = left
        keep_iterate(m, True)
        if newton(m, tolerance, SOFT_SIGMA) and not is_excessive(m, h):
            return True
        keep_iterate(m, False)
        # it fails even from there where loads are not unique, but the change is round-off:
        # `test_chains_of_hinges_that_have_fallen_on_a_rough_floor_rest`
        if left <= SETTLED * size:
            return True
        # or where the contacts contradict each other: `test_askew_stack_of_listed_faces_rests`
        if is_stalled:
            arena.counters(m)[c.STALLS] += 1
            return True
    return False


@part
def is_excessive(m, h):
    """Return whether the impulses, not in a step of h but at the node, are too large. What
    stops a heavy body gives a light one below it as much more as their masses differ.
    """
    pairs, active, size = arena.pairs(m), arena.active(m), 0.0
    for at in range(arena.counters(m)[c.ACTIVE] if h == 0.0 else 0):
        size += pairs[active[at]].W[0] * vec.size(vector_of(pairs[active[at]].impulse))
    if not size > LARGEST * arena.clock(m)[c.SPEED]:
        return False
    bodies, light, heavy = arena.bodies(m), 1e300, 0.0
    for i in range(len(bodies)):
        for axis in range(3):
            if bodies[i, c.M + axis] > 0.0:
                light, heavy = min(light, bodies[i, c.M + axis]), max(heavy, bodies[i, c.M + axis])
    return size * light > LARGEST * arena.clock(m)[c.SPEED] * heavy


@part
def refine(m):
    """Refine the impulses to FINE [SPEED], if Newton's method gets there."""
    keep_iterate(m, True)
    if not newton(m, FINE * arena.clock(m)[c.SPEED], STIFF_SIGMA):
        keep_iterate(m, False)


@part
def keep_iterate(m, to_kept):
    """Save the result of the alternation, or restore it."""
    bodies, pairs, active = arena.bodies(m), arena.pairs(m), arena.active(m)
    for at in range(arena.counters(m)[c.ACTIVE]):
        k = active[at]
        if to_kept:
            set_vector(pairs[k].kept_2, vector_of(pairs[k].impulse))
            pairs[k].kept_2[3] = pairs[k].slip
        else:
            set_vector(pairs[k].impulse, vector_of(pairs[k].kept_2))
            pairs[k].slip = pairs[k].kept_2[3]
    for i in range(len(bodies)):
        if to_kept:
            put(bodies, i, c.D_X, get(bodies, i, c.U_X))
            put(bodies, i, c.D_W, get(bodies, i, c.U_W))
        else:
            put(bodies, i, c.U_X, get(bodies, i, c.D_X))
            put(bodies, i, c.U_W, get(bodies, i, c.D_W))


@part
def admm(m, tolerance, scale):
    """Alternate directions from `impulse`, `slip` and the bodies' velocities; return (change of
    the last round, size) as velocities.

    A round finds the bodies' velocities for z = u + s e_N held, with one factorization for all
    rounds, then z and r by projection.
    """
    y, moved, size = arena.right_side(m), FAILED, 0.0
    newton_system(m, scale, HELD)
    skyline.factor_and_solve(m)
    arena.counters(m)[c.FRESH] = 0
    for turn in range(ROUNDS):
        if turn > 0:
            newton_system(m, scale, HELD_AGAIN)
            skyline.solve_again(m)
        add_change(m, y, 1.0)
        moved, size = update_multipliers(m, scale)
        if not moved < FAILED or moved <= tolerance + ROUND_OFF * size:
            break
    return moved, size


@part
def newton(m, tolerance, scale):
    """Find `impulse` by Newton's method from it, `slip` and the bodies' velocities; return whether
    it converged.
    """
    count = arena.counters(m)
    last, is_start = FAILED, scale >= SIGMA
    fresh = scale == SIGMA and count[c.FRESH] == count[c.ACTIVE]
    for outer in range(OUTER if scale < STIFF_SIGMA else FRUITLESS):
        before, before_last, found, is_noise, noise = FAILED, FAILED, False, False, 0.0
        slope = 0.0
        for inner in range(INNER):
            size, left = newton_system(m, scale, PROJECTED_AGAIN)
            small = 1e-14 * size if not is_start or left > 0.1 * before else EXACT * size
            found = left <= 0.1 * tolerance + small
            if not found and left <= NEAR * size and (outer > 0 or left > 0.1 * before_last):
                noise = round_off(m, scale)
                is_noise = left <= noise or 0.3 * before_last < left <= STAGNANT * noise
            if found or is_noise:
                found = True
                break
            if inner > 0:
                size, left = step_back(m, scale, slope, size, left)
            before_last = left
            if is_start and fresh and left <= 0.1 * before:  # the last factors serve
                slope, before = take_change(m, scale, False), left
            else:
                slope, fresh, before = take_change(m, scale, True), True, FAILED
        moved, size = update_multipliers(m, scale)
        if not moved < FAILED:
            break
        is_close = moved <= tolerance + ROUND_OFF * size
        is_coarse = is_noise and noise > tolerance and scale > SOFT_SIGMA
        is_settled = moved <= tolerance + EXACT * size or is_close and moved > SLOW * last
        if found and is_settled and not is_coarse:
            count[c.FRESH] = count[c.ACTIVE] if fresh and scale == SIGMA else 0
            return True
        if not found and (outer >= FRUITLESS or scale > GROWTH * SIGMA):
            break
        if is_coarse:
            scale, fresh = 0.1 * scale, False
        elif not is_noise and (moved > SLOW * last or not is_start):
            scale, fresh = max(scale, min(GROWTH * scale, GROWTH * SIGMA)), False
        last = moved
    count[c.FRESH] = 0
    return False


@part
def take_change(m, scale, fresh):
    """Add Newton's step for the right side to the bodies' velocities, with a new matrix if fresh,
    and keep it as the last change; return the slope along it of what Newton's method minimizes,
    less its sign.
    """
    y, change, slope = arena.right_side(m), arena.last_change(m), 0.0
    for k in range(len(y)):
        change[k] = y[k]
    if fresh:
        newton_system(m, scale, PROJECTED)
        skyline.factor_and_solve(m)
        arena.counters(m)[c.FACTORS] += 1
    else:
        skyline.solve_again(m)
    for k in range(len(y)):
        slope += change[k] * y[k]
        change[k] = y[k]
    add_change(m, y, 1.0)
    return slope


@part
def step_back(m, scale, slope, size, left):
    """Take half of the last change back, and half of the rest, until the slope along it is no
    longer that of having gone much too far; return what `newton_system` does.

    Newton's method minimizes a convex function of the velocities, whose gradient is minus the
    right side, and would else cycle between the pieces of the projection.
    """
    y, change, share = arena.right_side(m), arena.last_change(m), 1.0
    for _ in range(HALVINGS):
        along = 0.0
        for k in range(len(y)):
            along += y[k] * change[k]
        if along >= -OVERSHOT * slope:
            break
        share *= 0.5
        add_change(m, change, -share)
        size, left = newton_system(m, scale, PROJECTED_AGAIN)
    return size, left


@part
def update_multipliers(m, scale):
    """Set `impulse` to proj_K(x), `slip` to mu |u_T|, D to r; return (change, size of the
    impulses) as velocities.
    """
    pairs, active, moved, size = arena.pairs(m), arena.active(m), 0.0, 0.0
    for at in range(arena.counters(m)[c.ACTIVE]):
        k = active[at]
        sigma, old = scale / pairs[k].W[0], vector_of(pairs[k].impulse)
        x, r = augmented_impulse(m, pairs, k, sigma)
        set_vector(pairs[k].impulse, r)
        set_vector(pairs[k].z, vec.scale(1.0 / sigma, vec.sub(r, x)))
        slip = pairs[k].mu / sigma * sqrt((r[1] - x[1]) ** 2 + (r[2] - x[2]) ** 2)
        moved += vec.size(vec.sub(r, old)) / sigma + abs(slip - pairs[k].slip)
        size += pairs[k].W[0] * vec.size(r)
        pairs[k].slip = slip
        pairs[k].status = TAKE_OFF if r[0] == 0.0 else (STICK if slip == 0.0 else SLIDE)
    blocks, integers, unit = arena.blocks(m), arena.block_integers(m), arena.clock(m)[c.LENGTH]
    for j in range(len(arena.pivots(m))):
        sigma = scale / blocks[j, c.W_JOINT]
        r = joint_impulse(m, j, sigma)
        arm = unit if integers[j, c.KIND] == c.DIRECTIONS else 1.0
        moved += arm * vec.size(vec.sub(r, get(blocks, j, c.D))) / sigma
        put(blocks, j, c.D, r)
    return moved, size
