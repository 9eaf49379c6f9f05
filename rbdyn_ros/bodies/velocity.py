"""Velocities of an instant: of the node, with the joints obeyed, and those that impulses give
(doc/nonsmooth.md, M.12, M.13).

    M v = p + A^T nu + D^T P,   A v = 0

v are the velocities of the node; nu and P are the part of its reactions that has acted by then.
"""

from rbdyn_ros.bodies import arena, joint_blocks, smooth, sparse, turn
from rbdyn_ros.bodies import columns as c
from rbdyn_ros.bodies.arena import get, get9, matrix_of, put, put9, vector_of
from rbdyn_ros.bodies.contact.pairs import push
from rbdyn_ros.geometry import vec
from rbdyn_ros.kernel import inlined, part


@part
def respond(m, h, at_node):
    """Set U_X, U_W to the velocities that the impulses in D_X, D_W give while the joints react,
    and D to the joints' impulses. See `velocities_of`.
    """
    velocities_of(m, h, at_node, 0.0)


@part
def respond_to_unit(m, k, j, h):
    """Do the same as `respond` for a unit impulse along axis j of pair k, in a step of h or, h =
    0, at the node, and once more for what round-off has left of the joints' velocities.
    """
    smooth.clear(m, c.D_X, c.D_W)
    push(m, k, (1.0 * (j == 0), 1.0 * (j == 1), 1.0 * (j == 2)), c.D_X, c.D_W)
    respond(m, h, h == 0.0)
    respond(m, h, h == 0.0)


@part
def respond_to_changes(m, h):
    """Set U_X, U_W, D_X, D_W to what the change from `impulse_0` to `impulse` gives the bodies
    while the joints react.
    """
    pairs, active = arena.pairs(m), arena.active(m)
    smooth.clear(m, c.D_X, c.D_W)
    for at in range(arena.counters(m)[c.ACTIVE]):
        pair = pairs[active[at]]
        change = vec.sub(vector_of(pair.impulse), vector_of(pair.impulse_0))
        push(m, active[at], change, c.D_X, c.D_W)
    respond(m, h, h == 0.0)


@part
def velocities_of(m, h, at_node, drive):
    """Set U_X, U_W to the velocities of the momenta in D_X, D_W with the joints obeyed, and D to
    the joints' impulses; with `drive` = 1 held bodies have the prescribed velocities, with 0 none.

    The matrix of the joints is that which was last factored: of a step of h (then the velocities
    are means, and `drive` is 0), or of the node.
    """
    bodies, blocks, integers = arena.bodies(m), arena.blocks(m), arena.block_integers(m)
    if len(blocks) > 0:
        scale, on_x, on_w = (1.0, c.NODE_XA, c.NODE_WA) if at_node else (h, c.END_XA, c.END_WA)
        for i in range(len(bodies)):
            put(bodies, i, c.U_W, turn_of(bodies, i))
            if bodies[i, c.TURNS] == c.PRESCRIBED:
                turning = vec.matvec(get9(bodies, i, c.R), get(bodies, i, c.DRIVE_W))
                put(bodies, i, c.U_W, vec.scale(drive, turning))
            put(bodies, i, c.TORQUE, (0.0, 0.0, 0.0))
        for j in range(len(blocks)):
            d = (0.0, 0.0, 0.0)
            for side in range(2):
                i = integers[j, c.A + side]
                if i == c.WORLD:
                    continue
                x = vec.scale(-scale, resulting_velocity(bodies, i, drive))
                d = vec.add(
                    d, vec.matvec(joint_blocks.displacement(blocks, integers, j, side, on_x), x)
                )
                by_turn = joint_blocks.rotation(blocks, integers, j, side, on_w)
                d = vec.sub(d, vec.matvec(by_turn, get(bodies, i, c.U_W)))
            put(blocks, j, c.D, d)
        sparse.solve_again(m)
        joint_blocks.spread(m, c.D, c.D_X, False)
        for i in range(len(bodies)):
            torque = vec.transposed_matvec(get9(bodies, i, c.R), get(bodies, i, c.TORQUE))
            arena.add(bodies, i, c.D_W, torque)
    for i in range(len(bodies)):
        put(bodies, i, c.U_X, resulting_velocity(bodies, i, drive))
        if bodies[i, c.TURNS] == c.PRESCRIBED:
            put(bodies, i, c.U_W, vec.scale(drive, get(bodies, i, c.DRIVE_W)))
        elif bodies[i, c.TURNS] != 0.0:
            if at_node or bodies[i, c.JOINTED] == 0.0:
                put(bodies, i, c.U_W, vec.times(get(bodies, i, c.IJ), get(bodies, i, c.D_W)))
            else:
                o = vec.transposed_matvec(get9(bodies, i, c.R_1), turn_of(bodies, i))
                d = turn.change(get(bodies, i, c.V), bodies[i, c.W], o)
                put(bodies, i, c.U_W, vec.scale(2.0 / h, d))


@inlined
def turn_of(bodies, i):
    """Return the turn [world] that the impulse D_W [body] gives body i, which has joints."""
    world = vec.matvec(get9(bodies, i, c.R), get(bodies, i, c.D_W))
    return vec.matvec(get9(bodies, i, c.K), world)


@inlined
def resulting_velocity(bodies, i, drive):
    """Return the velocity of body i from the momentum in D_X, with `drive` times its prescribed
    velocity.
    """
    v = vec.times(get(bodies, i, c.IM), get(bodies, i, c.D_X))
    return vec.axpy(drive, get(bodies, i, c.DRIVE), v)


@part
def prepare_node(m):
    """Set the gradients of the joints at the node and factor their matrix."""
    smooth.set_masses(m, 0.0)
    if len(arena.blocks(m)) > 0:
        bodies = arena.bodies(m)
        for i in range(len(bodies)):
            R = get9(bodies, i, c.R)
            turned = turn.scale_columns(R, get(bodies, i, c.IJ))
            put9(bodies, i, c.K, turn.product_transposed(turned, R))
        joint_blocks.node_gradients(m)
        for j in range(len(arena.blocks(m))):
            put(arena.blocks(m), j, c.D, (0.0, 0.0, 0.0))
        joint_blocks.solve(m, 1.0, c.NODE_WA)


@part
def node_velocities(m, with_contacts):
    """Set U_X, U_W to the velocities of the node (after `prepare_node`), with the impulses of
    the active pairs if asked for.

    nu stays in D. Return the kinetic energy.
    """
    bodies, active, energy = arena.bodies(m), arena.active(m), 0.0
    for i in range(len(bodies)):
        put(bodies, i, c.D_X, get(bodies, i, c.P))
        put(bodies, i, c.D_W, get(bodies, i, c.L))
    if with_contacts:
        for at in range(arena.counters(m)[c.ACTIVE]):
            push(m, active[at], vector_of(arena.pairs(m)[active[at]].impulse), c.D_X, c.D_W)
    velocities_of(m, 0.0, True, 1.0)
    for i in range(len(bodies)):
        v, w = get(bodies, i, c.U_X), get(bodies, i, c.U_W)
        energy += vec.dot(v, vec.times(get(bodies, i, c.M), v)) + vec.dot(
            w, vec.times(get(bodies, i, c.J), w)
        )
    return 0.5 * energy


@part
def add_node_reactions(m, sign):
    """Add `sign` times nu to the sums of the joints' impulses (after `impact.observe`)."""
    blocks = arena.blocks(m)
    for j in range(len(blocks)):
        joint_blocks.add_wrench(m, j, vec.scale(sign, get(blocks, j, c.D)))


@inlined
def trace_alone(m, k):
    """Return the trace of the own block of pair k, whose frame is set, if no joint reacted."""
    bodies, pairs, integers, trace = arena.bodies(m), arena.pairs(m), arena.pair_integers(m), 0.0
    for side in range(2):
        i = integers[k, c.A + side]
        if i != c.WORLD:
            S, ij = matrix_of(pairs[k].levers[side]), get(bodies, i, c.IJ)
            trace += bodies[i, c.IM] + bodies[i, c.IM + 1] + bodies[i, c.IM + 2]
            for r in range(3):
                trace += vec.dot(S[r], vec.times(ij, S[r]))
    return trace
