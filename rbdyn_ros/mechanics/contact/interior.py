"""The impulses of contacts from the middle of all, by a primal-dual interior-point method, and by
Newton's method from there (doc/nonsmooth.md, M.38).

    z = u + s e_N in K_mu*,  r in K_mu,  s = mu |u_T|,  M du = D^T (r - r_0) + A^T nu,  A du = 0
    r o z = c e,   c falls to 0

The steps, scaled by Nesterov and Todd, keep r and z within their cones, and do not depend on which
contacts stick, slide or are open; where loads are not unique they end at some in the middle. Each
factors the matrix of `lagrangian`, M + D^T H D + sigma A^T A, once. Newton's method of
`fc3d_newton` on W with the joints reacting finishes.
"""

from math import sqrt

from rbdyn_ros.geometry import vec
from rbdyn_ros.kernel import inlined, part
from rbdyn_ros.mechanics import arena, skyline, smooth
from rbdyn_ros.mechanics import columns as c
from rbdyn_ros.mechanics.arena import get, put
from rbdyn_ros.mechanics.contact.lagrangian_rows import (
    INTERIOR,
    INTERIOR_AGAIN,
    add_change,
    change_of,
    joint_impulse,
    newton_system,
    rest_of,
)
from rbdyn_ros.mechanics.contact.pairs import velocity
from rbdyn_ros.mechanics.solvers import fc3d, fc3d_newton
from rbdyn_ros.mechanics.solvers.fc3d import natural, reach
from rbdyn_ros.mechanics.solvers.interior_point import centered
from rbdyn_ros.mechanics.velocity import respond_to_unit
from rbdyn_ros.numerics import linear

ROWS = 9  # of `dense` beside both matrices
ROUND_OFF = 1e-12  # of the impulses, relative
EXACT, NEWTON_STEPS = 3e-15, 60
# [SPEED] where joints and contacts contradict each other in a step
ACCEPTED = 1e-5
AT_NODE = 1e-9  # [SPEED] where nothing contradicts, and Newton's method only has not ended
ITERATIONS = 40
WITHIN = 0.95  # of the way to the borders of the cones
LEAST = 1e-3  # of the mean of r o z: what a step aims at
FINE = 1e-11  # of the impulses: a violation of the law from which on Newton's method is better
SIGMA = 1e4  # of joints, over W
SLOW, LATE = 0.7, 3  # of the violation that is left, and how often it may fall no faster


@part
def begin(m):
    """Set LA and Z to multiples of e_N, of the size of what the contacts have to stop; return
    whether there is anything.
    """
    pairs, active, size = arena.pairs(m), arena.active(m), 0.0
    for at in range(arena.counters(m)[c.ACTIVE]):
        k = active[at]
        stopped = pairs[k, c.W_OWN] * vec.size(get(pairs, k, c.L_B))
        size = max(size, stopped + vec.size(get(pairs, k, c.U)))
    for at in range(arena.counters(m)[c.ACTIVE]):
        k = active[at]
        put(pairs, k, c.LA, (size / pairs[k, c.W_OWN], 0.0, 0.0))
        put(pairs, k, c.Z, (size, 0.0, 0.0))
    return size > 0.0


@part
def mean_product(m):
    """Return the mean of r.z."""
    pairs, active, total = arena.pairs(m), arena.active(m), 0.0
    n = arena.counters(m)[c.ACTIVE]
    for at in range(n):
        total += vec.dot(get(pairs, active[at], c.LA), get(pairs, active[at], c.Z))
    return total / n


@part
def change_pair(m, k, center):
    """Return (dr, dz) of pair k for the change of the velocities in the right side."""
    pairs = arena.pairs(m)
    r, z, mu = get(pairs, k, c.LA), get(pairs, k, c.Z), pairs[k, c.MU]
    dz = vec.add(change_of(m, k), rest_of(m, k))
    H, inverse = centered(r, z, mu)
    dr = vec.sub(vec.axpy(center, inverse, vec.scale(-1.0, r)), vec.matvec(H, dz))
    return (dr if mu > 0.0 else (dr[0], 0.0, 0.0)), dz


@part
def longest(m, center):
    """Return the longest share of the change, at most 1, that stays within the cones."""
    pairs, active, share = arena.pairs(m), arena.active(m), 1.0
    for at in range(arena.counters(m)[c.ACTIVE]):
        k = active[at]
        dr, dz = change_pair(m, k, center)
        r, z, mu = get(pairs, k, c.LA), get(pairs, k, c.Z), pairs[k, c.MU]
        share = min(share, reach(mu, r, dr))
        if mu > 0.0:
            share = min(share, reach(1.0 / mu, z, dz))
        else:  # the dual cone is a half space
            share = min(share, reach(0.0, (z[0], 0.0, 0.0), (dz[0], 0.0, 0.0)))
    return share


@part
def take_step(m, center, share):
    """Take a share of the change; return (violation of the law, size of the impulses) as
    velocities.
    """
    pairs, active, left, size = arena.pairs(m), arena.active(m), 0.0, 0.0
    n = arena.counters(m)[c.ACTIVE]
    for at in range(n):
        k = active[at]
        dr, dz = change_pair(m, k, center)
        arena.add(pairs, k, c.LA, vec.scale(share, dr))
        arena.add(pairs, k, c.Z, vec.scale(share, dz))
    add_change(m, arena.right_side(m), share)
    for at in range(n):
        k = active[at]
        W, mu, r = pairs[k, c.W_OWN], pairs[k, c.MU], get(pairs, k, c.LA)
        u = vec.add(get(pairs, k, c.U), velocity(m, k))
        pairs[k, c.U_S] = mu * sqrt(u[1] * u[1] + u[2] * u[2])
        left += vec.size(natural(r, u, mu, W))
        size += W * vec.size(r)
    for j in range(len(arena.blocks(m))):
        put(arena.blocks(m), j, c.D, joint_impulse(m, j, SIGMA / arena.blocks(m)[j, c.W_JOINT]))
    return left, size


@part
def approach_center(m):
    """Approach the impulses LA from any start (`lagrangian.restart`), and set U_X, U_W, U_S and D
    to what they change; return (violation of the law, size) as velocities.
    """
    count, best, late, size = arena.counters(m), 1e300, 0, 0.0
    count[c.FRESH] = 0
    if not begin(m):
        return 0.0, 0.0
    for _ in range(ITERATIONS):
        product = mean_product(m)
        newton_system(m, SIGMA, INTERIOR, 0.0)
        skyline.factor_and_solve(m)
        count[c.FACTORS] += 1
        center = product * max((1.0 - longest(m, 0.0)) ** 3, LEAST)
        newton_system(m, SIGMA, INTERIOR_AGAIN, center)
        skyline.solve_again(m)
        left, size = take_step(m, center, min(WITHIN * longest(m, center), 1.0))
        if not left < 1e300:
            return left, size
        late = late + 1 if left > SLOW * best else 0
        best = min(best, left)
        if left <= FINE * size or late > LATE:
            break
    return left, size


@inlined
def has_room(m):
    """Return whether there is room for W of the active pairs of bodies with joints."""
    return 6 * arena.counters(m)[c.ACTIVE] + ROWS <= len(arena.dense(m))


@part
def couple(m, h):
    """Set `dense` to W of the active pairs with the joints reacting, in a step of h or, h = 0, at
    the node.
    """
    active, W, n = arena.active(m), arena.dense(m), arena.counters(m)[c.ACTIVE]
    for column in range(3 * n):
        respond_to_unit(m, active[column // 3], column % 3, h)
        for at in range(n):
            u = velocity(m, active[at])
            for k in range(3):
                W[3 * at + k, column] = u[k]
    smooth.clear(m, c.U_X, c.U_W)


@part
def finish(m, tolerance, h):
    """Find the impulses LA by Newton's method from there, with the joints reacting; return whether
    they were found.
    """
    pairs, active, D = arena.pairs(m), arena.active(m), arena.dense(m)
    count, n = arena.counters(m)[c.ACTIVE], 3 * arena.counters(m)[c.ACTIVE]
    few = (len(D) - ROWS) // 2
    couple(m, h)
    rows = D[2 * few :, :n]
    for at in range(count):
        k = active[at]
        fc3d.put(rows[0], at, get(pairs, k, c.LA))
        fc3d.put(rows[1], at, get(pairs, k, c.L_B))
        rows[7, at] = pairs[k, c.MU]
    W, r, q, mu = D[:n, :n], rows[0], rows[2], rows[7, :count]
    linear.multiply(W, rows[1], q)
    for at in range(count):
        fc3d.put(q, at, vec.sub(get(pairs, active[at], c.U), fc3d.part(q, at)))
    step = fc3d_newton.NewtonStep(
        rows[3], rows[4], rows[5], rows[6], D[few : few + n, :n], rows[8, :count], arena.pressed(m)
    )
    problem = fc3d.Problem(W, q, mu)
    error = fc3d_newton.descend(problem, r, rows[1], step, EXACT, NEWTON_STEPS)[1]
    size, scale = 0.0, fc3d.scales(problem)[1]
    for at in range(count):
        size += pairs[active[at], c.W_OWN] * vec.size(fc3d.part(r, at))
    left = error * scale
    if not left <= tolerance + ROUND_OFF * size:
        if not left <= (ACCEPTED if h > 0.0 else AT_NODE) * arena.clock(m)[c.SPEED]:
            return False
        arena.counters(m)[c.STALLS] += 1
    for at in range(count):
        k, P = active[at], fc3d.part(r, at)
        put(pairs, k, c.LA, P)
        pairs[k, c.STATUS] = fc3d_newton.status(P, pairs[k, c.MU])
    return True
