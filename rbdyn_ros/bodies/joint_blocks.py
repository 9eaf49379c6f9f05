"""Joint blocks: their gradients at the node and at the end of the step, and their impulses
(doc/nonsmooth.md, M.8).

A block of kind POINTS lets a point of a be a point of b, C = x_a + R_a p - x_b - R_b s. A MIXED
block has up to three rows of the kinds of description/rows.py, C = (R_b n).w - c with w = k (x_a -
x_b) + R_a p, a row between quaternions, or an angle; in one of kind DIRECTIONS k is 0. A row that
couples two joints is two blocks with one multiplier (columns.OTHER). With the gradients A
at the node and A_1 at the end, by displacement and by turn in the world's axes, the multipliers of
a step obey

    (A_1 K A^T) d lambda = -Phi + A_1 K r,      K = diag(h/m, R_1 (d r/d turn)^-1 R^T)
"""

from math import atan2, floor, pi

from rbdyn_ros.bodies import arena, sparse, turn
from rbdyn_ros.bodies import columns as c
from rbdyn_ros.bodies.arena import get, get4, get9, number, put, put9
from rbdyn_ros.bodies.description.rows import ANGLE, TURN
from rbdyn_ros.geometry import unit_quaternion, vec
from rbdyn_ros.kernel import inlined, part


@inlined
def place(bodies, i, x):
    """Return the position of body i in columns x, or that of the world."""
    return (0.0, 0.0, 0.0) if i == c.WORLD else get(bodies, i, x)


@inlined
def rotate(bodies, i, R, p):
    """Return R p of body i, or p for the world."""
    return p if i == c.WORLD else vec.matvec(get9(bodies, i, R), p)


@inlined
def quaternion(bodies, i, q):
    """Return the attitude of body i in columns q, or that of the world."""
    return (1.0, 0.0, 0.0, 0.0) if i == c.WORLD else get4(bodies, i, q)


@part
def node_gradients(m):
    """Set A of all blocks at the node, which is constant during a step."""
    bodies, blocks, integers = arena.bodies(m), arena.blocks(m), arena.block_integers(m)
    for j in range(len(blocks)):
        a, b = integers[j, c.A], integers[j, c.B]
        if integers[j, c.KIND] == c.POINTS:
            put(blocks, j, c.NODE_WA, rotate(bodies, a, c.R, get(blocks, j, c.PA)))
            put(blocks, j, c.NODE_WB, rotate(bodies, b, c.R, get(blocks, j, c.NB)))
        elif blocks[j, c.K_ROW] == ANGLE:
            angle_row(m, j, a, b, False)
        else:
            for r in range(integers[j, c.ROWS]):
                mixed_row(bodies, blocks, j, r, a, b, False)


@inlined
def linearize(m):
    """Set Phi and A_1 of all blocks at the end of the step, and the right sides -Phi + A_1 K r in
    D.
    """
    bodies, blocks, integers = arena.bodies(m), arena.blocks(m), arena.block_integers(m)
    for j in range(len(blocks)):
        a, b = integers[j, c.A], integers[j, c.B]
        on_a, on_b = place(bodies, a, c.EXCESS), place(bodies, b, c.EXCESS)
        if integers[j, c.KIND] == c.POINTS:
            p = rotate(bodies, a, c.R_1, get(blocks, j, c.PA))
            s = rotate(bodies, b, c.R_1, get(blocks, j, c.NB))
            put(blocks, j, c.END_WA, p)
            put(blocks, j, c.END_WB, s)
            phi = vec.add(vec.sub(place(bodies, a, c.X_1), place(bodies, b, c.X_1)), vec.sub(p, s))
            put(blocks, j, c.PHI, phi)
            moved = vec.sub(vec.cross(on_a, p), vec.cross(on_b, s))
        else:
            if blocks[j, c.K_ROW] == ANGLE:
                angle_row(m, j, a, b, True)
            else:
                for r in range(integers[j, c.ROWS]):
                    mixed_row(bodies, blocks, j, r, a, b, True)
            moved = vec.add(
                vec.matvec(get9(blocks, j, c.END_WA), on_a),
                vec.matvec(get9(blocks, j, c.END_WB), on_b),
            )
        put(blocks, j, c.D, vec.sub(moved, get(blocks, j, c.PHI)))
    for j in range(len(arena.pivots(m)), len(blocks)):
        arena.add(blocks, integers[j, c.OTHER], c.PHI, get(blocks, j, c.PHI))
        put(blocks, j, c.PHI, (0.0, 0.0, 0.0))


@inlined
def mixed_row(bodies, blocks, j, r, a, b, at_end):
    """Set row r of a block that is not POINTS: residual and gradients at the end, or gradients at
    the node.
    """
    o, k = 3 * r, blocks[j, c.K_ROW + r]
    p, n = get(blocks, j, c.PA + o), get(blocks, j, c.NB + o)
    x, R = (c.X_1, c.R_1) if at_end else (c.X, c.R)
    if k == TURN:
        value, on_a = relative_turn(bodies, a, b, n, at_end)
        u, on_b = (0.0, 0.0, 0.0), vec.scale(-1.0, on_a)
    else:
        k = 1.0 - k  # 1 for POINT, 0 for DOT
        u, arm = rotate(bodies, b, R, n), rotate(bodies, a, R, p)
        on_a = vec.cross(arm, u)
        arm = vec.axpy(k, vec.sub(place(bodies, a, x), place(bodies, b, x)), arm)
        value, on_b, u = vec.dot(u, arm), vec.cross(u, arm), vec.scale(k, u)
    if at_end:
        blocks[j, c.PHI + r] = value - blocks[j, c.OFFSET + r]
    on_x, on_w = (c.END_XA, c.END_WA) if at_end else (c.NODE_XA, c.NODE_WA)
    put(blocks, j, on_x + o, u)
    put(blocks, j, on_x + o + 9, vec.scale(-1.0, u))
    put(blocks, j, on_w + o, on_a)
    put(blocks, j, on_w + o + 9, on_b)


@inlined
def relative_turn(bodies, a, b, n, at_end):
    """Return q_a.(q_b n), and half the vector part of q_b n q_a^*, its gradient by a turn of a."""
    q = c.Q_1 if at_end else c.Q
    q_a, q_b = quaternion(bodies, a, q), quaternion(bodies, b, q)
    y = unit_quaternion.product(
        unit_quaternion.product(q_b, (0.0, n[0], n[1], n[2])),
        (q_a[0], -q_a[1], -q_a[2], -q_a[3]),
    )
    return y[0], (0.5 * y[1], 0.5 * y[2], 0.5 * y[3])


@part
def angle_row(m, j, a, b, at_end):
    """Set the only row of block j, of kind ANGLE, as `mixed_row` does: |n| phi, the phi next to
    ANGLE, which becomes that of the node.
    """
    bodies, blocks = arena.bodies(m), arena.blocks(m)
    R, on_w = (c.R_1, c.END_WA) if at_end else (c.R, c.NODE_WA)
    n = get(blocks, j, c.NB)
    factor = vec.norm(n)
    _, t_1, t_2 = vec.frame(vec.scale(1.0 / factor, n))
    arm = rotate(bodies, a, R, get(blocks, j, c.PA))
    u_1, u_2 = rotate(bodies, b, R, t_1), rotate(bodies, b, R, t_2)
    x, y = vec.dot(u_1, arm), vec.dot(u_2, arm)
    phi = atan2(y, x)
    phi += 2.0 * pi * floor((blocks[j, c.ANGLE] - phi) / (2.0 * pi) + 0.5)
    if at_end:
        blocks[j, c.PHI] = factor * phi - blocks[j, c.OFFSET]
    else:
        blocks[j, c.ANGLE] = phi
    u = vec.scale(factor / (x * x + y * y), vec.axpy(x, u_2, vec.scale(-y, u_1)))
    on_a = vec.cross(arm, u)
    put(blocks, j, on_w, on_a)
    put(blocks, j, on_w + 9, vec.scale(-1.0, on_a))


@part
def largest_residual(m):
    """Return the block with the largest residual, nan counting as largest."""
    blocks, worst, at = arena.blocks(m), -1.0, 0
    for j in range(len(blocks)):
        size = vec.size(get(blocks, j, c.PHI))
        if not size <= worst:
            worst, at = size, j
            if not size < 1e300:
                return j
    return at


@part
def fill(m, h, on_w):
    """Fill the joints' matrix: A_1 K A^T of a step (on_w: END_WA), or A M^-1 A^T at the node
    (on_w: NODE_WA, h = 1).
    """
    bodies, blocks, integers, S = (
        arena.bodies(m),
        arena.blocks(m),
        arena.block_integers(m),
        arena.matrix(m),
    )
    gather, pivots = arena.gather(m), arena.pivots(m)
    total, filled = turn.ZERO, 0
    for g in range(len(gather)):
        j, on_j = number(gather, g, 1), number(gather, g, 2)
        l, on_l = number(gather, g, 3), number(gather, g, 4)
        i = number(gather, g, 5)
        if number(gather, g, 6) != 0:
            s = 1.0 if on_j == on_l else -1.0
            u, v, w = vec.scale(s * h, get(bodies, i, c.IM))
            a, b, d = total
            a, b, d = (a[0] + u, a[1], a[2]), (b[0], b[1] + v, b[2]), (d[0], d[1], d[2] + w)
            if number(bodies, i, c.TURNS) != 0.0:
                K = get9(bodies, i, c.K)
                x, y, z = vec.scale(s, get(blocks, j, on_w + 9 * on_j))
                E = turn.product_with_cross(K, get(blocks, l, c.NODE_WA + 9 * on_l))
                a = vec.add(a, vec.axpy(z, E[1], vec.scale(-y, E[2])))
                b = vec.add(b, vec.axpy(x, E[2], vec.scale(-z, E[0])))
                d = vec.add(d, vec.axpy(y, E[0], vec.scale(-x, E[1])))
            total = a, b, d
        else:
            x = turn.product(rotation(blocks, integers, j, on_j, on_w), get9(bodies, i, c.K))
            A = turn.product_transposed(x, rotation(blocks, integers, l, on_l, c.NODE_WA))
            total = turn.add(total, A)
            if integers[j, c.KIND] != c.DIRECTIONS and integers[l, c.KIND] != c.DIRECTIONS:
                x = displacement(blocks, integers, j, on_j, on_w - 18)
                y = displacement(blocks, integers, l, on_l, c.NODE_XA)
                mobility = vec.scale(h, get(bodies, i, c.IM))
                x = turn.product_transposed(turn.scale_columns(x, mobility), y)
                total = turn.add(total, x)
        if number(gather, g, 7) != 0:
            put9(S, number(gather, g, 0), 0, total)
            total, filled = turn.ZERO, number(gather, g, 0) + 1
    S[filled:] = 0.0
    for e in range(len(pivots)):
        for r in range(number(integers, number(pivots, e, 0), c.ROWS), 3):
            S[pivots[e, 1], 4 * r] = 1.0


@part
def solve(m, h, on_w):
    """Solve for the right sides in D with the matrix of `fill`."""
    fill(m, h, on_w)
    sparse.factor_and_solve(m)


@inlined
def displacement(blocks, integers, j, side, column):
    """Return dC/dx of a side of block j."""
    if integers[j, c.KIND] == c.POINTS:
        s = 1.0 if side == 0 else -1.0
        return (s, 0.0, 0.0), (0.0, s, 0.0), (0.0, 0.0, s)
    return get9(blocks, j, column + 9 * side)


@inlined
def rotation(blocks, integers, j, side, column):
    """Return the derivative of C of block j by a turn [world] of one of its sides."""
    if integers[j, c.KIND] == c.POINTS:
        s = 1.0 if side == 0 else -1.0
        x, y, z = vec.scale(s, get(blocks, j, column + 9 * side))
        return (0.0, z, -y), (-z, 0.0, x), (y, -x, 0.0)
    return get9(blocks, j, column + 9 * side)


@inlined
def force(blocks, integers, j, side, impulse):
    """Return A_x^T lambda, the force of the impulse of block j on its body a (side 0) or b."""
    if integers[j, c.KIND] == c.POINTS:
        return impulse if side == 0 else vec.scale(-1.0, impulse)
    return vec.transposed_matvec(get9(blocks, j, c.NODE_XA + 9 * side), impulse)


@inlined
def torque(blocks, integers, j, side, impulse):
    """Return A_w^T lambda, the torque of the impulse of block j on its body a (side 0) or b
    [world].
    """
    if integers[j, c.KIND] == c.POINTS:
        p = get(blocks, j, c.NODE_WA + 9 * side)
        return vec.cross(p, impulse) if side == 0 else vec.cross(impulse, p)
    return vec.transposed_matvec(get9(blocks, j, c.NODE_WA + 9 * side), impulse)


@part
def spread(m, column, on_x, is_change):
    """Add A^T of the impulses in `column` to the columns `on_x` and TORQUE of the bodies; add
    these impulses to lambda if they are its change.
    """
    bodies, blocks, integers = arena.bodies(m), arena.blocks(m), arena.block_integers(m)
    for j in range(len(blocks)):
        impulse = get(blocks, j, column)
        if is_change:
            arena.add(blocks, j, c.LAM, impulse)
        for side in range(2):
            i = integers[j, c.A + side]
            if i != c.WORLD:
                if integers[j, c.KIND] != c.DIRECTIONS:
                    arena.add(bodies, i, on_x, force(blocks, integers, j, side, impulse))
                arena.add(bodies, i, c.TORQUE, torque(blocks, integers, j, side, impulse))


@part
def push(m, j):
    """Add A^T of the impulse of block j to P_1, L_1."""
    bodies, blocks, integers = arena.bodies(m), arena.blocks(m), arena.block_integers(m)
    impulse = get(blocks, j, c.LAM)
    for side in range(2):
        i = integers[j, c.A + side]
        if i != c.WORLD:
            arena.add(bodies, i, c.P_1, force(blocks, integers, j, side, impulse))
            turning = torque(blocks, integers, j, side, impulse)
            arena.add(bodies, i, c.L_1, vec.transposed_matvec(get9(bodies, i, c.R), turning))


@inlined
def add_up(m):
    """Add the impulses of the node to the sums from which reactions are computed."""
    blocks = arena.blocks(m)
    for j in range(len(blocks)):
        add_wrench(m, j, get(blocks, j, c.LAM))


@part
def add_wrench(m, j, impulse):
    """Add the wrenches of an impulse at the node to SUM of block j: force [world] and torque
    [body] on a, then on b. Of a POINTS block add the force [world] and, in place of the torques of
    bodies that turn, that force in their axes: its levers there are constant
    (`complete_sums`).
    """
    bodies, blocks, integers = arena.bodies(m), arena.blocks(m), arena.block_integers(m)
    is_point = integers[j, c.KIND] == c.POINTS
    if is_point:
        arena.add(blocks, j, c.SUM, impulse)
    for side in range(2):
        i = integers[j, c.A + side]
        if i == c.WORLD or is_point and bodies[i, c.TURNS] == 0.0:
            continue
        turning = impulse
        if not is_point:
            if integers[j, c.KIND] != c.DIRECTIONS:
                arena.add(blocks, j, c.SUM + 6 * side, force(blocks, integers, j, side, impulse))
            turning = torque(blocks, integers, j, side, impulse)
        turning = vec.transposed_matvec(get9(bodies, i, c.R), turning)
        arena.add(blocks, j, c.SUM + 6 * side + 3, turning)


@part
def complete_sums(m):
    """Make wrenches of the sums of all POINTS blocks, of which `add_wrench` has left the torques
    and the force on b out.
    """
    bodies, blocks, integers = arena.bodies(m), arena.blocks(m), arena.block_integers(m)
    for j in range(len(blocks)):
        if integers[j, c.KIND] != c.POINTS:
            continue
        total = get(blocks, j, c.SUM)
        for side in range(2):
            i, at, sign = integers[j, c.A + side], c.SUM + 6 * side, 1.0 - 2.0 * side
            on, turning = (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
            if i != c.WORLD:
                in_body = get(blocks, j, at + 3)
                if bodies[i, c.TURNS] == 0.0:
                    in_body = vec.transposed_matvec(get9(bodies, i, c.R), total)
                lever = get(blocks, j, c.PA if side == 0 else c.NB)
                on, turning = vec.scale(sign, total), vec.scale(sign, vec.cross(lever, in_body))
            put(blocks, j, at, on)
            put(blocks, j, at + 3, turning)
