"""Joint blocks: their gradients at the node and at the end of the step, and what their impulses do
(doc/nonsmooth.md, M.8).

A block of kind POINTS lets a point of a be a point of b, C = x_a + R_a p - x_b - R_b s. A MIXED
block has up to three rows of the kinds of description/rows.py, C = (R_b n).w - c with w = k (x_a -
x_b) + R_a p, or a row between quaternions. With the gradients A at the node and A_1 at the end, by
displacement and by turn, the multipliers of a step obey

    (A_1 K A^T) d lambda = -Phi + A_1 K r,      K = diag(h/m, (d r/d v)^-1)
"""

from rbdyn_ros.geometry import unit_quaternion, vec
from rbdyn_ros.kernel import inlined, part
from rbdyn_ros.mechanics import arena, turn
from rbdyn_ros.mechanics import columns as c
from rbdyn_ros.mechanics.arena import get, get4, get9, put, put9
from rbdyn_ros.mechanics.description.rows import TURN

_AT_REST = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
_IDENTITY = (1.0, 0.0, 0.0, 0.0)


@inlined
def place(bodies, i, x):
    """A position of body i, or that of the world."""
    return (0.0, 0.0, 0.0) if i == c.WORLD else get(bodies, i, x)


@inlined
def attitude(bodies, i):
    """R of body i at the node, or that of the world."""
    return _AT_REST if i == c.WORLD else get9(bodies, i, c.R)


@inlined
def relative(bodies, i):
    """(v, w) of body i in this step, or those of the world."""
    return ((0.0, 0.0, 0.0), 1.0) if i == c.WORLD else (get(bodies, i, c.V), bodies[i, c.W])


@inlined
def quaternion(bodies, i):
    """The attitude of body i at the node, or that of the world."""
    return _IDENTITY if i == c.WORLD else get4(bodies, i, c.Q)


@part
def node_gradients(m):
    """A of all blocks at the node; constant during a step."""
    bodies, blocks, integers = arena.bodies(m), arena.blocks(m), arena.block_integers(m)
    for j in range(len(blocks)):
        a, b = integers[j, c.A], integers[j, c.B]
        if integers[j, c.KIND] == c.POINTS:
            if a != c.WORLD:
                R, p = get9(bodies, a, c.R), get(blocks, j, c.PA)
                put9(
                    blocks,
                    j,
                    c.NODE_WA,
                    (vec.cross(p, R[0]), vec.cross(p, R[1]), vec.cross(p, R[2])),
                )
            if b != c.WORLD:
                R, s = get9(bodies, b, c.R), get(blocks, j, c.NB)
                put9(
                    blocks,
                    j,
                    c.NODE_WB,
                    (vec.cross(R[0], s), vec.cross(R[1], s), vec.cross(R[2], s)),
                )
        else:
            for r in range(integers[j, c.ROWS]):
                mixed_row(bodies, blocks, j, r, a, b, False)


@part
def linearize(m):
    """Phi and A_1 of all blocks at the end of the step."""
    bodies, blocks, integers = arena.bodies(m), arena.blocks(m), arena.block_integers(m)
    for j in range(len(blocks)):
        a, b = integers[j, c.A], integers[j, c.B]
        if integers[j, c.KIND] == c.POINTS:
            p, s = get(blocks, j, c.PA), get(blocks, j, c.NB)
            phi = (0.0, 0.0, 0.0)
            if a == c.WORLD:
                phi = p
            else:
                R, v, w = get9(bodies, a, c.R), get(bodies, a, c.V), bodies[a, c.W]
                phi = vec.add(get(bodies, a, c.X_1), vec.matvec(R, turn.rotate(v, w, p)))
                put9(blocks, j, c.END_WA, turn.product(R, turn.rotate_gradient(v, w, p)))
            if b == c.WORLD:
                phi = vec.sub(phi, s)
            else:
                R, v, w = get9(bodies, b, c.R), get(bodies, b, c.V), bodies[b, c.W]
                phi = vec.sub(
                    phi, vec.add(get(bodies, b, c.X_1), vec.matvec(R, turn.rotate(v, w, s)))
                )
                G = turn.product(R, turn.rotate_gradient(v, w, s))
                put9(
                    blocks,
                    j,
                    c.END_WB,
                    (vec.scale(-1.0, G[0]), vec.scale(-1.0, G[1]), vec.scale(-1.0, G[2])),
                )
            put(blocks, j, c.PHI, phi)
        else:
            for r in range(integers[j, c.ROWS]):
                mixed_row(bodies, blocks, j, r, a, b, True)


@part
def mixed_row(bodies, blocks, j, r, a, b, at_end):
    """Row r of a MIXED block: gradients at the node, or residual and gradients at the end."""
    o, k = 3 * r, blocks[j, c.K_ROW + r]
    p, n = get(blocks, j, c.PA + o), get(blocks, j, c.NB + o)
    if k == TURN:
        turn_row(bodies, blocks, j, r, a, b, n, at_end)
        return
    k = 1.0 - k  # 1 for POINT, 0 for DOT
    R_a, R_b = attitude(bodies, a), attitude(bodies, b)
    on_x = c.X_1 if at_end else c.X
    v_a, w_a = relative(bodies, a) if at_end else ((0.0, 0.0, 0.0), 1.0)
    v_b, w_b = relative(bodies, b) if at_end else ((0.0, 0.0, 0.0), 1.0)
    u = vec.matvec(R_b, turn.rotate(v_b, w_b, n))
    arm = vec.matvec(R_a, turn.rotate(v_a, w_a, p))
    arm = vec.axpy(k, vec.sub(place(bodies, a, on_x), place(bodies, b, on_x)), arm)
    to_a, to_b = vec.transposed_matvec(R_a, u), vec.transposed_matvec(R_b, arm)
    if at_end:
        blocks[j, c.PHI + r] = vec.dot(u, arm) - blocks[j, c.OFFSET + r]
        put(blocks, j, c.END_XA + o, vec.scale(k, u))
        put(blocks, j, c.END_XB + o, vec.scale(-k, u))
        put(
            blocks, j, c.END_WA + o, vec.transposed_matvec(turn.rotate_gradient(v_a, w_a, p), to_a)
        )
        put(
            blocks, j, c.END_WB + o, vec.transposed_matvec(turn.rotate_gradient(v_b, w_b, n), to_b)
        )
    else:
        put(blocks, j, c.NODE_XA + o, vec.scale(k, u))
        put(blocks, j, c.NODE_XB + o, vec.scale(-k, u))
        put(blocks, j, c.NODE_WA + o, vec.cross(p, to_a))
        put(blocks, j, c.NODE_WB + o, vec.cross(n, to_b))


@part
def turn_row(bodies, blocks, j, r, a, b, n, at_end):
    """Row q_a.(q_b n) of a relative rotation: linear in F(v) = (w, v) of either body."""
    q_a, q_b, o = quaternion(bodies, a), quaternion(bodies, b), 3 * r
    v_a, w_a = relative(bodies, a) if at_end else ((0.0, 0.0, 0.0), 1.0)
    v_b, w_b = relative(bodies, b) if at_end else ((0.0, 0.0, 0.0), 1.0)
    b_1 = unit_quaternion.product(q_b, (w_b, v_b[0], v_b[1], v_b[2]))
    a_1 = unit_quaternion.product(q_a, (w_a, v_a[0], v_a[1], v_a[2]))
    y = unit_quaternion.product(
        (q_a[0], -q_a[1], -q_a[2], -q_a[3]), unit_quaternion.product(b_1, (0.0, n[0], n[1], n[2]))
    )
    g = unit_quaternion.product((q_b[0], -q_b[1], -q_b[2], -q_b[3]), a_1)
    turned = (g[1], g[2], g[3])
    on_a = vec.axpy(-y[0] / w_a, v_a, (y[1], y[2], y[3]))
    on_b = vec.axpy(-g[0], n, vec.axpy(-vec.dot(turned, n) / w_b, v_b, vec.cross(n, turned)))
    if at_end:
        blocks[j, c.PHI + r] = (
            w_a * y[0] + vec.dot(v_a, (y[1], y[2], y[3])) - blocks[j, c.OFFSET + r]
        )
        put(blocks, j, c.END_WA + o, on_a)
        put(blocks, j, c.END_WB + o, on_b)
    else:
        put(blocks, j, c.NODE_WA + o, vec.scale(0.5, on_a))
        put(blocks, j, c.NODE_WB + o, vec.scale(0.5, on_b))


@part
def largest_residual(m):
    """The block that is farthest from closed, nan counting as farthest."""
    blocks, worst, at = arena.blocks(m), -1.0, 0
    for j in range(len(blocks)):
        size = vec.size(get(blocks, j, c.PHI))
        if not size <= worst:
            worst, at = size, j
            if not size < 1e300:
                return j
    return at


@part
def assemble(m, h):
    """The joints' matrix A_1 K A^T and the right sides -Phi + A_1 K r of a step."""
    bodies, blocks, integers = arena.bodies(m), arena.blocks(m), arena.block_integers(m)
    fill(m, h, False)
    for j in range(len(blocks)):
        d = vec.scale(-1.0, get(blocks, j, c.PHI))
        for side in range(2):
            i = integers[j, c.A + side]
            if i != c.WORLD and bodies[i, c.TURNS] != 0.0:
                z = vec.matvec(get9(bodies, i, c.K), get(bodies, i, c.REST))
                d = vec.add(d, vec.matvec(get9(blocks, j, c.END_WA + 9 * side), z))
        put(blocks, j, c.D, d)


@part
def fill(m, h, at_node):
    """The joints' matrix: of a step, or A M^-1 A^T at the node."""
    bodies, blocks, integers, S = (
        arena.bodies(m),
        arena.blocks(m),
        arena.block_integers(m),
        arena.matrix(m),
    )
    gather, pivots = arena.gather(m), arena.pivots(m)
    S[:] = 0.0
    for g in range(len(gather)):
        k, j, on_j, l, on_l = gather[g, 0], gather[g, 1], gather[g, 2], gather[g, 3], gather[g, 4]
        i = integers[j, c.A + on_j]
        scale = 1.0 if at_node else h
        if integers[j, c.KIND] == c.POINTS and integers[l, c.KIND] == c.POINTS:
            s = scale if on_j == on_l else -scale
            for r in range(3):
                S[k, 4 * r] += s * bodies[i, c.IM + r]
        else:
            x = displacement(blocks, integers, j, on_j, c.NODE_XA if at_node else c.END_XA)
            y = displacement(blocks, integers, l, on_l, c.NODE_XA)
            add_block(
                S,
                k,
                turn.product_transposed(
                    turn.scaled_columns(x, vec.scale(scale, get(bodies, i, c.IM))), y
                ),
            )
        if bodies[i, c.TURNS] != 0.0:
            y = get9(blocks, l, c.NODE_WA + 9 * on_l)
            if at_node:
                x = turn.scaled_columns(
                    get9(blocks, j, c.NODE_WA + 9 * on_j), get(bodies, i, c.IJ)
                )
            else:
                x = turn.product(get9(blocks, j, c.END_WA + 9 * on_j), get9(bodies, i, c.K))
            add_block(S, k, turn.product_transposed(x, y))
    for e in range(len(pivots)):
        for r in range(integers[pivots[e, 0], c.ROWS], 3):
            S[pivots[e, 1], 4 * r] = 1.0


@inlined
def add_block(S, k, A):
    """S_k += A."""
    arena.add(S, k, 0, A[0])
    arena.add(S, k, 3, A[1])
    arena.add(S, k, 6, A[2])


@inlined
def displacement(blocks, integers, j, side, column):
    """dC/dx of a side of block j."""
    if integers[j, c.KIND] == c.POINTS:
        s = 1.0 if side == 0 else -1.0
        return (s, 0.0, 0.0), (0.0, s, 0.0), (0.0, 0.0, s)
    return get9(blocks, j, column + 9 * side)


@inlined
def force(blocks, integers, j, side, impulse):
    """A_x^T lambda: what the impulse of block j does to its body a (side 0) or b."""
    if integers[j, c.KIND] == c.POINTS:
        return impulse if side == 0 else vec.scale(-1.0, impulse)
    return vec.transposed_matvec(get9(blocks, j, c.NODE_XA + 9 * side), impulse)


@part
def spread(m, column):
    """D_X, D_W += A^T of the impulses in `column`."""
    bodies, blocks, integers = arena.bodies(m), arena.blocks(m), arena.block_integers(m)
    for j in range(len(blocks)):
        impulse = get(blocks, j, column)
        for side in range(2):
            i = integers[j, c.A + side]
            if i == c.WORLD:
                continue
            arena.add(bodies, i, c.D_X, force(blocks, integers, j, side, impulse))
            if bodies[i, c.TURNS] != 0.0:
                arena.add(
                    bodies,
                    i,
                    c.D_W,
                    vec.transposed_matvec(get9(blocks, j, c.NODE_WA + 9 * side), impulse),
                )


@part
def add_up(m):
    """Add the impulses of the node to the sums that reactions are told from."""
    blocks = arena.blocks(m)
    for j in range(len(blocks)):
        add_wrench(m, j, get(blocks, j, c.LAM))


@part
def add_wrench(m, j, impulse):
    """SUM of block j += the wrenches of an impulse at the node: force [world] and torque [body] on
    a, then on b.
    """
    blocks, integers = arena.blocks(m), arena.block_integers(m)
    for side in range(2):
        if integers[j, c.A + side] != c.WORLD:
            arena.add(blocks, j, c.SUM + 6 * side, force(blocks, integers, j, side, impulse))
            torque = vec.transposed_matvec(get9(blocks, j, c.NODE_WA + 9 * side), impulse)
            arena.add(blocks, j, c.SUM + 6 * side + 3, torque)
