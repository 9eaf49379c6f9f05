"""The right side and the matrix of the augmented Lagrangian (`lagrangian`): the rows of bodies,
joints and contacts.
"""

import numpy as np

from rbdyn_ros.bodies import arena, joint_blocks
from rbdyn_ros.bodies import columns as c
from rbdyn_ros.bodies.arena import get, get9, matrix_of, put9, vector_of
from rbdyn_ros.bodies.contact.pairs import velocity
from rbdyn_ros.bodies.turn import product
from rbdyn_ros.geometry import vec
from rbdyn_ros.kernel import inlined, part
from rbdyn_ros.numerics.solvers.fc3d import project, projection_gradient

NOISE = 3e-16  # of x: what cancels where r = x + sigma z
PROJECTED, PROJECTED_AGAIN, HELD, HELD_AGAIN = (np.int64(i) for i in range(4))
_UNIT = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))


@inlined
def side_count(integers, j):
    """Return how many bodies the rows of joint block j have, with those of second terms."""
    return 2 if integers[j, c.OTHER] == c.NO_OTHER else 4


@inlined
def side_of(integers, j, side):
    """Return (block, its side a or b) of a side of joint block j, from 2 on of the second term."""
    return (j, side) if side < 2 else (integers[j, c.OTHER], side - 2)


@part
def own_size(m, j):
    """Return the mean of the diagonal of A M^-1 A^T of joint block j, without what two terms have
    in common; set BODY_WA, BODY_WB.
    """
    bodies, blocks, integers = arena.bodies(m), arena.blocks(m), arena.block_integers(m)
    total = 0.0
    for at in range(side_count(integers, j)):
        b, side = side_of(integers, j, at)
        i = integers[b, c.A + side]
        if i != c.WORLD:
            w = joint_blocks.rotation(blocks, integers, b, side, c.NODE_WA)
            put9(blocks, b, c.BODY_WA + 9 * side, product(w, get9(bodies, i, c.R)))
        for k in range(6 if i != c.WORLD else 0):
            a = joint_direction(blocks, integers, b, side, k)
            total += vec.dot(a, a) * bodies[i, c.IM + k if k < 3 else c.IJ + k - 3]
    return total / integers[j, c.ROWS]


@inlined
def joint_direction(blocks, integers, j, side, k):
    """Return column k (0-2 along the world's axes, 3-5 turns) of A of a side of joint block j."""
    if k > 2:
        o = c.BODY_WA + 9 * side + k - 3
        return blocks[j, o], blocks[j, o + 3], blocks[j, o + 6]
    x = joint_blocks.displacement(blocks, integers, j, side, c.NODE_XA)
    return x[0][k], x[1][k], x[2][k]


@inlined
def joint_impulse(m, j, sigma):
    """Return r = r_k - sigma A du of joint block j."""
    bodies, blocks, integers = arena.bodies(m), arena.blocks(m), arena.block_integers(m)
    r = get(blocks, j, c.D)
    for at in range(side_count(integers, j)):
        b, side = side_of(integers, j, at)
        i = integers[b, c.A + side]
        if i != c.WORLD:
            x = joint_blocks.displacement(blocks, integers, b, side, c.NODE_XA)
            r = vec.axpy(-sigma, vec.matvec(x, get(bodies, i, c.U_X)), r)
            w = get9(blocks, b, c.BODY_WA + 9 * side)
            r = vec.axpy(-sigma, vec.matvec(w, get(bodies, i, c.U_W)), r)
    return r


@part
def add_joints(m, scale, fresh):
    """Add A^T r of all joints to the right side and, if fresh, sigma A^T A to the matrix."""
    y, A, low = arena.right_side(m), arena.skyline(m), arena.envelope(m)
    blocks, integers = arena.blocks(m), arena.block_integers(m)
    for j in range(len(arena.pivots(m))):
        sigma, sides = scale / blocks[j, c.W_JOINT], side_count(integers, j)
        r = joint_impulse(m, j, sigma)
        for at in range(sides):
            b, side = side_of(integers, j, at)
            i = integers[b, c.A + side]
            for k in range(6 if i != c.WORLD else 0):
                a = joint_direction(blocks, integers, b, side, k)
                y[6 * i + k] += vec.dot(a, r)
                for other in range(sides if fresh else 0):
                    b_l, side_l = side_of(integers, j, other)
                    l = integers[b_l, c.A + side_l]
                    if l == c.WORLD or l > i:
                        continue
                    o = low[6 * i + k, 1] + 6 * l
                    for d in range(k + 1 if i == l else 6):
                        A[o + d] += sigma * vec.dot(
                            a, joint_direction(blocks, integers, b_l, side_l, d)
                        )


@inlined
def direction(pairs, k, side, j):
    """Return column j (0-2 along the world's axes, 3-5 turns) of D of a side of pair k."""
    s = 1.0 if side == 0 else -1.0
    pair = pairs[k]
    if j < 3:
        return s * pair.frame[j], s * pair.frame[j + 3], s * pair.frame[j + 6]
    lever = pair.levers[side]
    return s * lever[j - 3], s * lever[j], s * lever[j + 3]


@part
def add_pair(m, k, G, sigma):
    """Add sigma D^T G D of pair k to the matrix."""
    pairs, integers = arena.pairs(m), arena.pair_integers(m)
    A, low = arena.skyline(m), arena.envelope(m)
    for side in range(2):
        i = integers[k, c.A + side]
        if i == c.WORLD:
            continue
        for j in range(6):
            g = vec.scale(sigma, vec.matvec(G, direction(pairs, k, side, j)))
            for other in range(2):
                l = integers[k, c.A + other]
                if l == c.WORLD or l > i:
                    continue
                o = low[6 * i + j, 1] + 6 * l
                for d in range(j + 1 if i == l else 6):
                    A[o + d] += vec.dot(g, direction(pairs, k, other, d))


@inlined
def augmented_impulse(m, pairs, k, sigma):
    """Return (x, r): x = r_k - sigma (u + s e_N) of pair k and its projection on the cone."""
    u = vec.add(vector_of(pairs[k].u), velocity(m, k))
    x = vec.axpy(-sigma, (u[0] + pairs[k].slip, u[1], u[2]), vector_of(pairs[k].impulse))
    return x, project(x, pairs[k].mu)


@part
def add_change(m, change, share):
    """Add a share of a change to the bodies' velocities."""
    bodies = arena.bodies(m)
    for i in range(len(bodies)):
        o = 6 * i
        x, w = (
            (change[o], change[o + 1], change[o + 2]),
            (change[o + 3], change[o + 4], change[o + 5]),
        )
        arena.add(bodies, i, c.U_X, vec.scale(share, x))
        arena.add(bodies, i, c.U_W, vec.scale(share, w))


@part
def newton_system(m, scale, what):
    """Set the right side -M du + D^T (r - r_0); unless AGAIN, the matrix M + sigma D^T G D.

    PROJECTED: r = proj_K(x), G its gradient. HELD: z = (proj_K(x) - x)/sigma of the last round is
    held, r = x + sigma z, G = 1. Return (size of the impulses, of the right side) as velocities.
    """
    bodies, pairs, integers = arena.bodies(m), arena.pairs(m), arena.pair_integers(m)
    A, low, y, active = arena.skyline(m), arena.envelope(m), arena.right_side(m), arena.active(m)
    for i in range(len(bodies)):
        for k in range(3):
            y[6 * i + k] = -bodies[i, c.M + k] * bodies[i, c.U_X + k]
            y[6 * i + 3 + k] = -bodies[i, c.J + k] * bodies[i, c.U_W + k]
    fresh = what == PROJECTED or what == HELD
    if fresh:
        A[:] = 0.0
    size = 0.0
    for at in range(arena.counters(m)[c.ACTIVE]):
        k = active[at]
        sigma = scale / pairs[k].W[0]
        x, r = augmented_impulse(m, pairs, k, sigma)
        if what == HELD or what == HELD_AGAIN:
            r = vec.add(x, vec.scale(sigma, vector_of(pairs[k].z)))
        change = vec.sub(r, vector_of(pairs[k].impulse_0))
        force = vec.transposed_matvec(matrix_of(pairs[k].frame), change)
        for side in range(2):
            i, sign = integers[k, c.A + side], 1.0 if side == 0 else -1.0
            if i != c.WORLD:
                torque = vec.transposed_matvec(matrix_of(pairs[k].levers[side]), change)
                for j in range(3):
                    y[6 * i + j] += sign * force[j]
                    y[6 * i + 3 + j] += sign * torque[j]
        if fresh:
            G = projection_gradient(x, pairs[k].mu) if what == PROJECTED else _UNIT
            add_pair(m, k, G, sigma)
        size += pairs[k].W[0] * vec.size(r)
    add_joints(m, scale, fresh)
    left, arm = 0.0, arena.clock(m)[c.LENGTH]
    for i in range(len(bodies)):
        for k in range(3):
            o = 6 * i + k
            if fresh:
                A[low[o, 1] + o] += bodies[i, c.M + k] if bodies[i, c.IM + k] > 0.0 else 1e30
                A[low[o + 3, 1] + o + 3] += (
                    bodies[i, c.J + k] if bodies[i, c.IJ + k] > 0.0 else 1e30
                )
            left += abs(y[o]) * bodies[i, c.IM + k] + arm * abs(y[o + 3]) * bodies[i, c.IJ + k]
    return size, left


@part
def round_off(m, scale):
    """Return what cancels in r = x + sigma z and stays of a right side, as a velocity."""
    pairs, active, size = arena.pairs(m), arena.active(m), 0.0
    for at in range(arena.counters(m)[c.ACTIVE]):
        k = active[at]
        x, _ = augmented_impulse(m, pairs, k, scale / pairs[k].W[0])
        size += pairs[k].W[0] * vec.size(x)
    return NOISE * size
