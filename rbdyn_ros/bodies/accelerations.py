"""Accelerations of a model at any state, under its joints and chosen contacts (doc/nonsmooth.md,
N.24), and the displacement that closes its joints there.

    M dv/dt = F - (0, w x J w) + A^T nu + D^T lambda,     A dv/dt + dA/dt v = 0
    du/dt = D dv/dt + dD/dt v = G lambda + du/dt at lambda = 0

The joints' dA/dt v is exact, that of the contacts a difference quotient along the motion. F are
weights, springs, dampers and a load.
"""

from typing import NamedTuple

import numpy as np

from rbdyn_ros.bodies import arena, joint_blocks, smooth, sparse, velocity
from rbdyn_ros.bodies import columns as c
from rbdyn_ros.bodies.arena import get, get4, get9, put, put9, set_vector, vector_of
from rbdyn_ros.bodies.contact.pairs import push, update_contact
from rbdyn_ros.bodies.contact.pairs import velocity as pair_velocity
from rbdyn_ros.bodies.description.rows import ANGLE, TURN
from rbdyn_ros.bodies.moreau_jean import set_forces
from rbdyn_ros.bodies.packing import bind_once
from rbdyn_ros.geometry import unit_quaternion, vec
from rbdyn_ros.kernel import inlined, part
from rbdyn_ros.types import Array

SHIFT = 1e-4  # [s] for the derivative of contacts' rows along the motion, of order 4
STENCIL = ((1.0, 8.0), (-1.0, -8.0), (2.0, -1.0), (-2.0, 1.0))


class Accelerations(NamedTuple):
    """Result of `evaluate` for n bodies and k chosen contacts of three rows each."""

    free: Array  # (6n,) dv/dt without contact forces [m/s^2 world | rad/s^2 body]
    rate: Array  # (3k,) du/dt without contact forces [m/s^2]
    G: Array  # (3k, 3k) [1/kg] du/dt by contact forces, the joints reacting
    carried: Array  # (3k, 6n) dv/dt by unit contact forces
    gap: Array  # (k,) [m]
    u: Array  # (3k,) [m/s] velocities of the contacts: normal, tangents
    closing: Array  # (6n,) displacement that closes the joints in first order [m | rad]
    closing_gap: Array  # (k,) its change of the gaps [m]
    v: Array  # (6n,) v with the joints obeyed
    opening: float  # largest |C| of the joints' rows [m] or [-]


def evaluate(memory: arena.Arena, q: Array, v: Array, load: Array, chosen: Array) -> Accelerations:
    """Return the Accelerations at q (n, 7), v (n, 6) under a load (n, 6) [N world | N m body],
    with the contacts of the pairs `chosen` (k,). The arena is left at that state.
    """
    n, k = v.size, 3 * len(chosen)
    found = Accelerations(
        np.empty(n),
        np.zeros(k),
        np.empty((k, k)),
        np.empty((k, n)),
        np.empty(len(chosen)),
        np.empty(k),
        np.empty(n),
        np.empty(len(chosen)),
        np.empty(n),
        0.0,
    )
    numbers = q, v, load.reshape(1, -1, 6), chosen, found
    opening = bind_once(fill, memory, *numbers)(memory, *numbers)
    return found._replace(opening=opening)


@part
def fill(m, q, v, load, chosen, found):
    """Fill the tables of `found`, Accelerations; return the opening of the joints."""
    free, rate, G, carried, gap, u, closing, closing_gap, consistent, _ = found
    count = len(chosen)
    if count > 0:
        for place, weight in STENCIL:
            set_state(m, q, v, place * SHIFT)
            for at in range(count):
                update_contact(m, chosen[at])
                u_there = pair_velocity(m, chosen[at])
                add_row(rate, at, vec.scale(weight / (12.0 * SHIFT), u_there))
    set_state(m, q, v, 0.0)
    for at in range(count):
        update_contact(m, chosen[at])
        gap[at] = arena.pairs(m)[chosen[at]].gap
        set_row(u, at, pair_velocity(m, chosen[at]))
    set_forces(m, load, 0)
    solve_freely(m, free)
    for at in range(count):
        add_row(rate, at, pair_velocity(m, chosen[at]))
    for at in range(count):
        for j in range(3):
            velocity.respond_to_unit(m, chosen[at], j, 0.0)
            read(m, carried[3 * at + j], False)
            for other in range(count):
                set_row(G[3 * at + j], other, pair_velocity(m, chosen[other]))
    opening = measure_joints(m)
    close(m, c.PHI)
    read(m, closing, False)
    for at in range(count):
        closing_gap[at] = pair_velocity(m, chosen[at])[0]
    put_momenta(m, v)
    velocity.velocities_of(m, 0.0, True, 1.0)
    read(m, consistent, False)
    return opening


@part
def accelerate_freely(m, q, v, free):
    """Set U_X, U_W and `free` (6n,) to the accelerations at q (n, 7), v (n, 6) under F and TAU
    without contact forces; of the active pairs set `u_before` to their velocities and `u` to
    dD/dt v.
    """
    pairs, active, count = arena.pairs(m), arena.active(m), arena.counters(m)[c.ACTIVE]
    for at in range(count):
        set_vector(pairs[active[at]].u, (0.0, 0.0, 0.0))
    if count > 0:
        for place, weight in STENCIL:
            set_state(m, q, v, place * SHIFT)
            for at in range(count):
                k = active[at]
                update_contact(m, k)
                rate = vec.scale(weight / (12.0 * SHIFT), pair_velocity(m, k))
                set_vector(pairs[k].u, vec.add(vector_of(pairs[k].u), rate))
    set_state(m, q, v, 0.0)
    for at in range(count):
        update_contact(m, active[at])
        set_vector(pairs[active[at]].u_before, pair_velocity(m, active[at]))
    solve_freely(m, free)


@part
def solve_freely(m, free):
    """Set U_X, U_W, which are velocities, and `free` (6n,) to the accelerations by F and TAU, the
    joints obeyed.
    """
    velocity.prepare_node(m)
    set_biases(m)
    load_freely(m)
    velocity.velocities_of(m, 0.0, True, 0.0)
    read(m, free, False)
    close(m, c.PHI)
    read(m, free, True)
    write(m, free)


@part
def respond_to_contacts(m, free):
    """Set U_X, U_W to the accelerations `free` and those that the forces of the active pairs
    give.
    """
    smooth.clear(m, c.D_X, c.D_W)
    for at in range(arena.counters(m)[c.ACTIVE]):
        k = arena.active(m)[at]
        push(m, k, vector_of(arena.pairs(m)[k].impulse), c.D_X, c.D_W)
    velocity.respond(m, 0.0, True)
    read(m, free, True)
    write(m, free)


@inlined
def set_row(x, at, value):
    """Set x[3 at : 3 at + 3] to value."""
    x[3 * at], x[3 * at + 1], x[3 * at + 2] = value


@inlined
def add_row(x, at, value):
    """Add value to x[3 at : 3 at + 3]."""
    x[3 * at] += value[0]
    x[3 * at + 1] += value[1]
    x[3 * at + 2] += value[2]


@part
def set_state(m, q, v, ahead):
    """Set X, Q, R to q moved along `ahead` [s] of v, and U_X, U_W to v."""
    bodies = arena.bodies(m)
    for i in range(len(bodies)):
        u, w = (v[i, 0], v[i, 1], v[i, 2]), (v[i, 3], v[i, 4], v[i, 5])
        put(bodies, i, c.U_X, u)
        put(bodies, i, c.U_W, w)
        put(bodies, i, c.X, vec.axpy(ahead, u, (q[i, 0], q[i, 1], q[i, 2])))
        if bodies[i, c.TURNS] != 0.0:
            half = vec.scale(0.5 * ahead, w)
            size = q[i, 3] ** 2 + q[i, 4] ** 2 + q[i, 5] ** 2 + q[i, 6] ** 2
            s = 1.0 / np.sqrt(size * (1.0 + vec.dot(half, half)))
            Q = (s * q[i, 3], s * q[i, 4], s * q[i, 5], s * q[i, 6])
            Q = unit_quaternion.product(Q, (1.0, half[0], half[1], half[2]))
            put(bodies, i, c.Q, Q)
            put9(bodies, i, c.R, unit_quaternion.matrix(Q))


@part
def read(m, x, more):
    """Set x (6n,) to U_X, U_W, or add these to it where `more` is true."""
    bodies = arena.bodies(m)
    for i in range(len(bodies)):
        for k in range(3):
            a, b = bodies[i, c.U_X + k], bodies[i, c.U_W + k]
            x[6 * i + k] = x[6 * i + k] + a if more else a
            x[6 * i + 3 + k] = x[6 * i + 3 + k] + b if more else b


@part
def write(m, x):
    """Set U_X, U_W to x (6n,)."""
    bodies = arena.bodies(m)
    for i in range(len(bodies)):
        for k in range(3):
            bodies[i, c.U_X + k], bodies[i, c.U_W + k] = x[6 * i + k], x[6 * i + 3 + k]


@part
def load_freely(m):
    """Set D_X, D_W to F, TAU - w x J w, with w in U_W."""
    bodies = arena.bodies(m)
    for i in range(len(bodies)):
        w = get(bodies, i, c.U_W)
        turning = vec.cross(w, vec.times(get(bodies, i, c.J), w))
        put(bodies, i, c.D_X, get(bodies, i, c.F))
        put(bodies, i, c.D_W, vec.sub(get(bodies, i, c.TAU), turning))


@part
def put_momenta(m, v):
    """Set D_X, D_W to the momenta M v."""
    bodies = arena.bodies(m)
    for i in range(len(bodies)):
        u, w = (v[i, 0], v[i, 1], v[i, 2]), (v[i, 3], v[i, 4], v[i, 5])
        put(bodies, i, c.D_X, vec.times(get(bodies, i, c.M), u))
        put(bodies, i, c.D_W, vec.times(get(bodies, i, c.J), w))


@part
def measure_joints(m):
    """Set PHI to the residuals C of the joints at the node; return the largest absolute value."""
    bodies, blocks, largest = arena.bodies(m), arena.blocks(m), 0.0
    for i in range(len(bodies)):
        put(bodies, i, c.X_1, get(bodies, i, c.X))
        put(bodies, i, c.Q_1, get4(bodies, i, c.Q))
        put9(bodies, i, c.R_1, get9(bodies, i, c.R))
        put(bodies, i, c.EXCESS, (0.0, 0.0, 0.0))
    joint_blocks.linearize(m)
    for j in range(len(blocks)):
        for r in range(arena.block_integers(m)[j, c.ROWS]):
            largest = max(largest, abs(blocks[j, c.PHI + r]))
    return largest


@part
def close(m, column):
    """Set U_X, U_W to -M^-1 A^T (A M^-1 A^T)^-1 d, with d in `column` of the joint blocks."""
    bodies, blocks = arena.bodies(m), arena.blocks(m)
    smooth.clear(m, c.D_X, c.D_W)
    smooth.clear(m, c.TORQUE, c.D_W)
    for j in range(len(blocks)):
        d = vec.scale(-1.0, get(blocks, j, column))
        rows = arena.block_integers(m)[j, c.ROWS]
        put(blocks, j, c.D, (d[0], d[1] if rows > 1 else 0.0, d[2] if rows > 2 else 0.0))
    if len(blocks) > 0:
        sparse.solve_again(m)
        joint_blocks.spread(m, c.D, c.D_X, False)
    for i in range(len(bodies)):
        torque = vec.transposed_matvec(get9(bodies, i, c.R), get(bodies, i, c.TORQUE))
        put(bodies, i, c.U_X, vec.times(get(bodies, i, c.IM), get(bodies, i, c.D_X)))
        put(bodies, i, c.U_W, vec.times(get(bodies, i, c.IJ), torque))


@part
def set_biases(m):
    """Set PHI to dA/dt v of all joint blocks, v in U_X, U_W (after `velocity.prepare_node`)."""
    bodies, blocks, integers = arena.bodies(m), arena.blocks(m), arena.block_integers(m)
    for j in range(len(blocks)):
        a, b = integers[j, c.A], integers[j, c.B]
        on_a, on_b = angular_velocity(bodies, a), angular_velocity(bodies, b)
        if integers[j, c.KIND] == c.POINTS:
            by_a = centripetal(on_a, get(blocks, j, c.NODE_WA))
            put(blocks, j, c.PHI, vec.sub(by_a, centripetal(on_b, get(blocks, j, c.NODE_WB))))
        else:
            for r in range(integers[j, c.ROWS]):
                blocks[j, c.PHI + r] = row_bias(bodies, blocks, j, r, a, b, on_a, on_b)


@inlined
def angular_velocity(bodies, i):
    """Return the angular velocity of body i in world axes, zero for the world."""
    return (
        (0.0, 0.0, 0.0)
        if i == c.WORLD
        else vec.matvec(get9(bodies, i, c.R), get(bodies, i, c.U_W))
    )


@inlined
def centripetal(w, p):
    """Return the centripetal acceleration w x (w x p)."""
    return vec.cross(w, vec.cross(w, p))


@inlined
def row_bias(bodies, blocks, j, r, a, b, on_a, on_b):
    """Return dA/dt v of row r of a block that is not POINTS: the second derivative of u.d without
    the part of the accelerations, d = R_a p (+ x_a - x_b); of a row of kind TURN that of y_0, y =
    q_b n q_a^*, see C.5; of one of kind ANGLE (w_b x n).(w_a - w_b), where a hinge holds.
    """
    k, o = blocks[j, c.K_ROW + r], 3 * r
    p, n = get(blocks, j, c.PA + o), get(blocks, j, c.NB + o)
    if k == TURN:
        y_0, half = joint_blocks.relative_turn(bodies, a, b, n, False)
        apart, both = vec.sub(on_a, on_b), vec.add(on_a, on_b)
        y = vec.scale(2.0, half)
        return 0.25 * (vec.dot(apart, vec.cross(both, y)) - y_0 * vec.dot(apart, apart))
    if k == ANGLE:
        return vec.dot(vec.cross(on_b, joint_blocks.rotate(bodies, b, c.R, n)), on_a)
    k = 1.0 - k  # 1 for POINT, 0 for DOT
    u, arm = joint_blocks.rotate(bodies, b, c.R, n), joint_blocks.rotate(bodies, a, c.R, p)
    apart = vec.sub(joint_blocks.place(bodies, a, c.X), joint_blocks.place(bodies, b, c.X))
    moves = vec.sub(joint_blocks.place(bodies, a, c.U_X), joint_blocks.place(bodies, b, c.U_X))
    d = vec.axpy(k, apart, arm)
    rate = vec.axpy(k, moves, vec.cross(on_a, arm))
    bias = vec.dot(centripetal(on_b, u), d) + 2.0 * vec.dot(vec.cross(on_b, u), rate)
    return bias + vec.dot(u, centripetal(on_a, arm))
