"""Springs and dampers within the step (doc/nonsmooth.md, M.27 to M.30).

    f = -kappa (l - l_0) d/l at the node, half of it in either step         a part of the potential
    p := p + d r,   r = -(h/2) c (l' + w r/2),   w = d^T M^-1 d   before and after each step of h

The damping is a substep of its own, the midpoint rule on the velocities of the node with the
joints obeyed, one damper after the other and back.
"""

from math import atan2, floor, pi, sqrt

import numpy as np

from rbdyn_ros.bodies import arena, velocity
from rbdyn_ros.bodies import columns as c
from rbdyn_ros.bodies.arena import get, get4, get9, put, set_vector, vector_of
from rbdyn_ros.bodies.contact.pairs import push
from rbdyn_ros.geometry import unit_quaternion, vec
from rbdyn_ros.kernel import inlined, part

LINEAR, WRENCH = np.int64(0), np.int64(2)


@inlined
def point(bodies, i, p):
    """Return the point p of body i at the node [m, world]."""
    if i == c.WORLD:
        return p
    return vec.add(get(bodies, i, c.X), vec.matvec(get9(bodies, i, c.R), p))


@inlined
def world_axis(bodies, i, axis):
    """Return an axis of body i in the world."""
    return axis if i == c.WORLD else vec.matvec(get9(bodies, i, c.R), axis)


@inlined
def inverse(q):
    """Return q* = (w, -x, -y, -z), the inverse of a rotation quaternion."""
    return (q[0], -q[1], -q[2], -q[3])


@inlined
def angle(bodies, row, k, a, b):
    """Return the angle of torsional spring k next to its last one [rad]."""
    q = get4(bodies, a, c.Q)
    if b != c.WORLD:
        q = unit_quaternion.product(inverse(get4(bodies, b, c.Q)), q)
    e = unit_quaternion.product(q, inverse(get4(row, k, c.S_TURN)))
    found = 2.0 * atan2(vec.dot((e[1], e[2], e[3]), get(row, k, c.S_B)), e[0])
    return found + 2.0 * pi * floor((row[k, c.EXTENSION] - found) / (2.0 * pi) + 0.5)


@inlined
def act(bodies, i, force, torque, p, s, on_x, on_w):
    """Add s times a force at p, or a torque [world], to the columns on_x, on_w of body i."""
    if i != c.WORLD:
        R = get9(bodies, i, c.R)
        turns = vec.cross(p, vec.transposed_matvec(R, force))
        turns = vec.add(turns, vec.transposed_matvec(R, torque))
        arena.add(bodies, i, on_x, vec.scale(s, force))
        arena.add(bodies, i, on_w, vec.scale(s, turns))


@part
def apply(m, k, s, on_x, on_w):
    """Add s times the unit force, or torque, of spring k on a, and its reaction on b."""
    bodies, rows, integers = arena.bodies(m), arena.springs(m), arena.spring_integers(m)
    d, none = get(rows, k, c.ALONG), (0.0, 0.0, 0.0)
    linear = integers[k, 0] == LINEAR
    force, torque = (d, none) if linear else (none, d)
    act(bodies, integers[k, 1], force, torque, get(rows, k, c.S_A), s, on_x, on_w)
    act(bodies, integers[k, 2], force, torque, get(rows, k, c.S_B), -s, on_x, on_w)


@inlined
def acts(m):
    """Return whether there are springs, dampers or wrenches that do something now."""
    return len(arena.springs(m)) > 0 and arena.clock(m)[c.IDLE] == 0.0


@part
def update(m, h):
    """Set the springs' forces at the node in place of those before, in F and TAU and, for the half
    step h/2 that has arrived, in the momenta; then damp that half step.
    """
    bodies, rows, integers = arena.bodies(m), arena.springs(m), arena.spring_integers(m)
    if not acts(m):
        return
    for i in range(len(bodies)):
        arena.add(bodies, i, c.P, vec.scale(-0.5 * h, get(bodies, i, c.F)))
        arena.add(bodies, i, c.L, vec.scale(-0.5 * h, get(bodies, i, c.TAU)))
        put(bodies, i, c.F, get(bodies, i, c.F_0))
        put(bodies, i, c.TAU, (0.0, 0.0, 0.0))
    for k in range(len(rows)):
        a, b = integers[k, 1], integers[k, 2]
        if integers[k, 0] == WRENCH:
            force, torque = get(rows, k, c.S_B), get(rows, k, c.ALONG)
            act(bodies, a, force, torque, get(rows, k, c.S_A), 1.0, c.F, c.TAU)
            continue
        rows[k, c.LOSS] += 0.5 * h * rows[k, c.POWER]
        if integers[k, 0] == LINEAR:
            d = vec.sub(
                point(bodies, a, get(rows, k, c.S_A)), point(bodies, b, get(rows, k, c.S_B))
            )
            length = sqrt(vec.dot(d, d))
            # a spring whose ends meet keeps its last direction
            if length > 0.0:
                put(rows, k, c.ALONG, vec.scale(1.0 / length, d))
            rows[k, c.EXTENSION] = length
        else:
            put(rows, k, c.ALONG, world_axis(bodies, b, get(rows, k, c.S_B)))
            rows[k, c.EXTENSION] = angle(bodies, rows, k, a, b)
        rows[k, c.POWER] = force_of(rows, k) * drive_rate(m, k)
        rows[k, c.LOSS] += 0.5 * h * rows[k, c.POWER]
        apply(m, k, force_of(rows, k), c.F, c.TAU)
    for i in range(len(bodies)):
        arena.add(bodies, i, c.P, vec.scale(0.5 * h, get(bodies, i, c.F)))
        arena.add(bodies, i, c.L, vec.scale(0.5 * h, get(bodies, i, c.TAU)))
    if h != 0.0:
        for k in range(len(rows)):
            rows[k, c.LOSS] += rows[k, c.LOSS_AHEAD]
        damp(m, h, c.P, c.L)


@part
def keep_impulses(m):
    """Save the impulses of the contacts at the node in `kept`, for the steps that leave it."""
    pairs = arena.pairs(m)
    for k in range(len(pairs) if acts(m) else 0):
        set_vector(pairs[k].kept, vector_of(pairs[k].impulse))


@part
def damp(m, h, on_x, on_w):
    """Apply the dampers for h/2, to the momenta that arrive at the node (P, L; the last damper
    first) or to those that leave it for a step of h (in columns on_x, on_w). The rates have half
    of the contacts' last impulses in them, which act at the node.
    """
    if not acts(m):
        return
    bodies, rows = arena.bodies(m), arena.springs(m)
    prepared, arrived = False, on_x == c.P
    f = 0.0 if arrived else -0.5 * h
    for at in range(len(rows)):
        k = len(rows) - 1 - at if arrived else at
        if rows[k, c.DAMPING] == 0.0:
            continue
        if not prepared:
            velocity.prepare_node(m)
            prepared = True
        for i in range(len(bodies)):
            put(bodies, i, c.D_X, vec.axpy(f, get(bodies, i, c.F), get(bodies, i, on_x)))
            put(bodies, i, c.D_W, vec.axpy(f, get(bodies, i, c.TAU), get(bodies, i, on_w)))
        for n in range(arena.counters(m)[c.ACTIVE]):
            j = arena.active(m)[n]
            pair = arena.pairs(m)[j]
            P = vector_of(pair.impulse) if arrived else vector_of(pair.kept)
            push(m, j, vec.scale(0.5, P), c.D_X, c.D_W)
        velocity.velocities_of(m, 0.0, True, 1.0)
        rate = rate_of(m, k)
        for i in range(len(bodies)):
            put(bodies, i, c.D_X, (0.0, 0.0, 0.0))
            put(bodies, i, c.D_W, (0.0, 0.0, 0.0))
        apply(m, k, 1.0, c.D_X, c.D_W)
        velocity.respond(m, 0.0, True)
        w, half = rate_of(m, k), 0.5 * h * rows[k, c.DAMPING]
        r = -half * rate / (1.0 + 0.5 * half * w)
        apply(m, k, r, on_x, on_w)
        loss = -r * (rate + 0.5 * w * r - drive_rate(m, k))
        rows[k, c.LOSS if arrived else c.LOSS_AHEAD] = loss + (rows[k, c.LOSS] if arrived else 0.0)


@inlined
def force_of(rows, k):
    """Return the force, or the torque, of spring k along ALONG at its present length or angle."""
    return -rows[k, c.STIFFNESS] * (rows[k, c.EXTENSION] - rows[k, c.REST_AT])


@inlined
def drive_rate(m, k):
    """Return the prescribed part of the rate of spring k."""
    return rate_by(m, k, c.DRIVE, c.DRIVE_W)


@inlined
def rate_of(m, k):
    """Return the rate of spring k's length or angle, for the velocities U_X, U_W."""
    return rate_by(m, k, c.U_X, c.U_W)


@inlined
def rate_by(m, k, x, w):
    """Return the rate of spring k's length or angle, for the velocities in columns x, w."""
    bodies, rows, integers = arena.bodies(m), arena.springs(m), arena.spring_integers(m)
    d, linear = get(rows, k, c.ALONG), integers[k, 0] == LINEAR
    a, b = integers[k, 1], integers[k, 2]
    rate = end_rate(bodies, a, get(rows, k, c.S_A), d, linear, x, w)
    return rate - end_rate(bodies, b, get(rows, k, c.S_B), d, linear, x, w)


@inlined
def end_rate(bodies, i, p, d, linear, x, w):
    """Return the velocity along d of the point p of body i, or its rate of turning about d."""
    if i == c.WORLD:
        return 0.0
    turning = get(bodies, i, w)
    back = vec.transposed_matvec(get9(bodies, i, c.R), d)
    if not linear:
        return vec.dot(back, turning)
    return vec.dot(d, get(bodies, i, x)) + vec.dot(back, vec.cross(turning, p))
