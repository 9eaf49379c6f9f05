"""The rows of joints and contacts in the matrix of the augmented Lagrangian (`lagrangian`)."""

from rbdyn_ros.geometry import vec
from rbdyn_ros.kernel import inlined, part
from rbdyn_ros.mechanics import arena, joints
from rbdyn_ros.mechanics import columns as c
from rbdyn_ros.mechanics.arena import get, get9, put9
from rbdyn_ros.mechanics.turn import product


@part
def own_size(m, j):
    """Return the mean of the diagonal of A M^-1 A^T of joint block j; set BODY_WA, BODY_WB."""
    bodies, blocks, integers = arena.bodies(m), arena.blocks(m), arena.block_integers(m)
    total = 0.0
    for side in range(2):
        i = integers[j, c.A + side]
        if i != c.WORLD:
            w = joints.rotation(blocks, integers, j, side, c.NODE_WA)
            put9(blocks, j, c.BODY_WA + 9 * side, product(w, get9(bodies, i, c.R)))
        for k in range(6 if i != c.WORLD else 0):
            a = joint_direction(blocks, integers, j, side, k)
            total += vec.dot(a, a) * bodies[i, c.IM + k if k < 3 else c.IJ + k - 3]
    return total / integers[j, c.ROWS]


@inlined
def joint_direction(blocks, integers, j, side, k):
    """Return column k (0-2 along the world's axes, 3-5 turns) of A of a side of joint block j."""
    if k > 2:
        o = c.BODY_WA + 9 * side + k - 3
        return blocks[j, o], blocks[j, o + 3], blocks[j, o + 6]
    x = joints.displacement(blocks, integers, j, side, c.NODE_XA)
    return x[0][k], x[1][k], x[2][k]


@inlined
def joint_impulse(m, j, sigma):
    """Return r = r_k - sigma A du of joint block j."""
    bodies, blocks, integers = arena.bodies(m), arena.blocks(m), arena.block_integers(m)
    r = get(blocks, j, c.D)
    for side in range(2):
        i = integers[j, c.A + side]
        if i != c.WORLD:
            x = joints.displacement(blocks, integers, j, side, c.NODE_XA)
            r = vec.axpy(-sigma, vec.matvec(x, get(bodies, i, c.U_X)), r)
            w = get9(blocks, j, c.BODY_WA + 9 * side)
            r = vec.axpy(-sigma, vec.matvec(w, get(bodies, i, c.U_W)), r)
    return r


@part
def add_joints(m, scale, fresh):
    """Add A^T r of all joints to the right side and, if fresh, sigma A^T A to the matrix."""
    y, A, low = arena.right_side(m), arena.skyline(m), arena.envelope(m)
    blocks, integers = arena.blocks(m), arena.block_integers(m)
    for j in range(len(blocks)):
        sigma = scale / blocks[j, c.W_JOINT]
        r = joint_impulse(m, j, sigma)
        for side in range(2):
            i = integers[j, c.A + side]
            for k in range(6 if i != c.WORLD else 0):
                a = joint_direction(blocks, integers, j, side, k)
                y[6 * i + k] += vec.dot(a, r)
                for other in range(2 if fresh else 0):
                    l = integers[j, c.A + other]
                    if l == c.WORLD or l > i:
                        continue
                    o = low[6 * i + k, 1] + 6 * l
                    for d in range(k + 1 if i == l else 6):
                        A[o + d] += sigma * vec.dot(
                            a, joint_direction(blocks, integers, j, other, d)
                        )


@inlined
def direction(pairs, k, side, j):
    """Return column j (0-2 along the world's axes, 3-5 turns) of D of a side of pair k."""
    s = 1.0 if side == 0 else -1.0
    o = c.FRAME + j if j < 3 else c.T_A + 9 * side + j - 3
    return s * pairs[k, o], s * pairs[k, o + 3], s * pairs[k, o + 6]


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
