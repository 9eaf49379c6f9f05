"""Moreau and Jean's time-stepping of a model, compiled: laws on the end velocity, impacts inside
steps (doc/nonsmooth.md, N.15 to N.17).

    M (v - v_k) - h theta F(q(v), v) - h (1 - theta) F(q_k, v_k) = A^T nu + D^T P,
    q(v) = q_k (+) h (theta v + (1 - theta) v_k),     A(q(v)) v = 0,     u = D(q(v)) v

A round takes A and D at the last q(v), turns each body under the last impulses (the gyroscopic
term by Newton's method), and finds what changes of the impulses obey joints and laws, with M in
the place of N.17's iteration matrix; rounds go on until the velocities converge. The bodies,
joints, pairs and the friction solver are those of the variational step, in the same arena. Springs
and dampers count as forces F, as do loads.
"""

from math import cos, sin

import numpy as np

from rbdyn_ros.bodies import arena, joint_blocks, smooth, springs, velocity
from rbdyn_ros.bodies import columns as c
from rbdyn_ros.bodies import model as models
from rbdyn_ros.bodies.arena import get, get4, get9, put, put9, set_vector, vector_of
from rbdyn_ros.bodies.contact import coupled, friction, impact, sweeps
from rbdyn_ros.bodies.contact.pairs import any_gap, push, update_contact
from rbdyn_ros.bodies.contact.pairs import velocity as pair_velocity
from rbdyn_ros.bodies.packing import bind_once
from rbdyn_ros.geometry import unit_quaternion, vec
from rbdyn_ros.kernel import inlined, part
from rbdyn_ros.network.moreau_jean_theta import TOUCHING, Options
from rbdyn_ros.numerics.arguments import number
from rbdyn_ros.types import Array

TURNS = 30  # iterations of Newton's method for the turn of a body
CLOSE = 1e-9  # of a turn rate, relative: a change whose square is round-off
SMALLEST = 1e-12  # [SPEED]: a change that round-off makes
LAWFUL = 0.3  # of the change with which a step ends: what the laws of contacts may be off by
GAIN = 1e-2  # of what the laws want of the velocities: what a round that another follows leaves
NOT_AGREED = 6  # a code of `model.failure`'s counters


def advance(
    model: models.Model, h: float, n: int, options: Options = Options(), loads: Array | None = None
) -> int:
    """Take n steps of h [s]; return how many were taken. At a step that fails the model stays
    where it began (`failure`).

    `loads` act besides the weight: (bodies, 6), or (n + 1, bodies, 6) at the ends of the steps, a
    force [N, world] and a torque [N m, body] for each body, at its center of mass.

    The options' tolerance is that of the velocities, `linearized` is one round, whose velocities
    are taken. The loss of dampers is not summed up. Raise ValueError for h <= 0 and for wrong
    loads.
    """
    h = number(h, "h", 0.0, open_low=True)
    numbers = _loads(loads, int(n), model), h, int(n), options
    return bind_once(steps, model.arena, *numbers)(model.arena, *numbers)


def _loads(loads: Array | None, n: int, model: models.Model) -> Array:
    """Return the loads as rows for the ends of the steps: one if they stay, none without loads."""
    bodies = len(model.bodies.mass)
    if loads is None:
        return np.zeros((0, bodies, 6))
    found = np.array(loads, dtype=float, order="C")
    if found.shape not in ((bodies, 6), (n + 1, bodies, 6)):
        rule = f"it must be ({bodies}, 6) or ({n + 1}, {bodies}, 6)"
        raise ValueError(f"loads has shape {found.shape}; {rule}")
    if not np.isfinite(found).all():
        raise ValueError("loads has numbers that are not finite")
    return found.reshape(-1, bodies, 6)


def velocities(model: models.Model):
    """Return v (n, 6) of the scheme at the end, which a variational step would still correct."""
    rows = models.part(model, "bodies")
    v = rows[:, c.DRIVE : c.DRIVE + 3] + rows[:, c.IM : c.IM + 3] * rows[:, c.P : c.P + 3]
    w = rows[:, c.DRIVE_W : c.DRIVE_W + 3] + rows[:, c.IJ : c.IJ + 3] * rows[:, c.L : c.L + 3]
    return np.hstack([v, w])


def failure(model: models.Model) -> str:
    """Return why the last step was not taken, in a sentence without its full stop."""
    if models.part(model, "counters")[c.FAILURE, 0] == NOT_AGREED:
        return "velocities and impulses do not agree; take a smaller step or more iterations"
    return models.failure(model)


@part
def steps(m, loads, h, n, options):
    """Take n steps of h; return how many were taken."""
    arena.clock(m)[c.STARTED] = 0.0  # a variational step that follows detects contacts
    arena.counters(m)[c.FRESH] = 0
    for j in range(len(arena.pairs(m))):
        arena.pair_integers(m)[j, c.CLOSED] = 0
        arena.pairs(m)[j].up_to_date = 0.0
    coupled.forget(m)
    for k in range(n):
        now, then = min(k, len(loads) - 1), min(k + 1, len(loads) - 1)
        if not step(m, loads, now, then, h, options):
            n = k
            break
    reset_forces(m)
    return n


@part
def step(m, loads, now, then, h, options):
    """Take a step under the loads of two rows, none where -1; return whether it was solved."""
    theta, gamma, tolerance, most, takes_any = options
    size = begin(m, loads, now, h, theta)
    noise = SMALLEST * arena.clock(m)[c.SPEED]
    activate(m, gamma * h)
    done, gain = False, 0.0 if takes_any else GAIN
    for turn in range(1 if takes_any else most):
        place(m, h, theta)
        set_forces(m, loads, then)
        lawful = LAWFUL * (tolerance * size + noise)
        change, size = update(m, h * theta, lawful, gain, takes_any or turn == 2)
        arena.counters(m)[c.ROUNDS] += 1
        if not change < friction.FAILED:
            return undo(m)
        if change <= tolerance * size + noise:
            done = True
            break
    if not (done or takes_any):
        arena.counters(m)[c.FAILURE], arena.counters(m)[c.WHERE] = NOT_AGREED, 0
        return undo(m)
    place(m, h, theta)
    finish(m, h)
    return True


@part
def begin(m, loads, now, h, theta):
    """Save the start in X_1, Q_1, V_2, V_3; set B to the momenta at the end without impulses and
    without the forces there. Return the size of the velocities.
    """
    bodies, size, start = arena.bodies(m), 0.0, h * (1.0 - theta)
    arm = arena.clock(m)[c.LENGTH]
    for i in range(len(bodies)):
        put(bodies, i, c.U_X, linear_velocity(bodies, i))
        put(bodies, i, c.U_W, angular_velocity(bodies, i))
    set_forces(m, loads, now)
    for i in range(len(bodies)):
        p, l = get(bodies, i, c.P), get(bodies, i, c.L)
        v, w = get(bodies, i, c.U_X), get(bodies, i, c.U_W)
        size = max(size, vec.size(v), arm * vec.size(w))
        put(bodies, i, c.X_1, get(bodies, i, c.X))
        put(bodies, i, c.Q_1, get4(bodies, i, c.Q))
        put(bodies, i, c.V_2, v)
        put(bodies, i, c.V_3, w)
        put(bodies, i, c.B_X, vec.axpy(start, get(bodies, i, c.F), p))
        torque = vec.sub(get(bodies, i, c.TAU), vec.cross(w, l))
        put(bodies, i, c.B_W, vec.axpy(start, torque, l))
    return size


@inlined
def linear_velocity(bodies, i):
    """Return the velocity of body i from its momentum, or the prescribed one."""
    v = vec.times(get(bodies, i, c.IM), get(bodies, i, c.P))
    return vec.add(v, get(bodies, i, c.DRIVE))


@inlined
def angular_velocity(bodies, i):
    """Return the angular velocity of body i from its momentum, or the prescribed one [body]."""
    w = vec.times(get(bodies, i, c.IJ), get(bodies, i, c.L))
    return vec.add(w, get(bodies, i, c.DRIVE_W))


@part
def set_forces(m, loads, row):
    """Set F, TAU to weights, springs, dampers and a row of the loads at the present places and the
    velocities U_X, U_W.
    """
    bodies, rows = arena.bodies(m), arena.springs(m)
    if row < 0 and len(rows) == 0:
        return
    reset_forces(m)
    for k in range(len(rows)):
        if rows[k, c.DAMPING] != 0.0:
            force = -rows[k, c.DAMPING] * springs.rate_of(m, k)
            springs.apply(m, k, force, c.F, c.TAU)
    if row >= 0:
        for i in range(len(bodies)):
            f = loads[row, i]
            arena.add(bodies, i, c.F, (f[0], f[1], f[2]))
            arena.add(bodies, i, c.TAU, (f[3], f[4], f[5]))


@part
def activate(m, ahead):
    """Activate the pairs with gaps closed `ahead` [s] later (N.16); set `u_before`."""
    pairs, active, n = arena.pairs(m), arena.active(m), 0
    touching = TOUCHING * arena.clock(m)[c.LENGTH]
    for k in range(len(pairs)):
        g, is_active = any_gap(m, k, c.X, c.R), False
        if g <= touching + ahead * fastest(m, k):
            update_contact(m, k)
            u = pair_velocity(m, k)
            is_active = g + ahead * u[0] <= touching
            set_vector(pairs[k].u_before, u)
        if is_active:
            active[n] = k
            n += 1
        else:
            set_vector(pairs[k].impulse, (0.0, 0.0, 0.0))
    arena.counters(m)[c.ACTIVE] = n


@inlined
def fastest(m, k):
    """Return a bound of the velocity of pair k [m/s], 1e300 where a body's reach is unknown."""
    bodies, integers, total = arena.bodies(m), arena.pair_integers(m), 0.0
    for side in range(2):
        i = integers[k, c.A + side]
        if i != c.WORLD:
            if bodies[i, c.REACH] == 0.0:
                return 1e300
            total += vec.size(get(bodies, i, c.U_X))
            total += bodies[i, c.REACH] * vec.size(get(bodies, i, c.U_W))
    return total


@part
def reset_forces(m):
    """Set F, TAU to weights and springs at the present places."""
    bodies = arena.bodies(m)
    for i in range(len(bodies)):
        put(bodies, i, c.F, get(bodies, i, c.F_0))
        put(bodies, i, c.TAU, (0.0, 0.0, 0.0))
    springs.update(m, 0.0)


@part
def place(m, h, theta):
    """Set X, Q, R to the start moved along h (theta v + (1 - theta) v_k), with v of P, L."""
    bodies = arena.bodies(m)
    for i in range(len(bodies)):
        v = linear_velocity(bodies, i)
        v = vec.axpy(theta, v, vec.scale(1.0 - theta, get(bodies, i, c.V_2)))
        put(bodies, i, c.X, vec.axpy(h, v, get(bodies, i, c.X_1)))
        if bodies[i, c.TURNS] != 0.0:
            w = angular_velocity(bodies, i)
            w = vec.axpy(theta, w, vec.scale(1.0 - theta, get(bodies, i, c.V_3)))
            half = vec.scale(0.5 * h, w)
            a = vec.norm(half)
            s = sin(a) / a if a > 0.0 else 1.0
            turn = (cos(a), s * half[0], s * half[1], s * half[2])
            q = unit_quaternion.product(get4(bodies, i, c.Q_1), turn)
            put_attitude(bodies, i, unit_quaternion.renormalize(q))


@inlined
def put_attitude(bodies, i, q):
    """Set Q and R of body i."""
    put(bodies, i, c.Q, q)
    put9(bodies, i, c.R, unit_quaternion.matrix(q))


@part
def update(m, ahead, lawful, gain, anew):
    """Find new impulses and momenta at the present places. Return (change of the velocities, their
    size), FAILED if there are no impulses. ahead: h theta; anew: the contacts' matrix is, too.
    """
    bodies, pairs, blocks = arena.bodies(m), arena.pairs(m), arena.blocks(m)
    active, n = arena.active(m), arena.counters(m)[c.ACTIVE]
    velocity.prepare_node(m)
    for at in range(n):
        update_contact(m, active[at])
        set_vector(pairs[active[at]].kept, vector_of(pairs[active[at]].impulse))
    if not apply_impulses(m, ahead):
        return friction.FAILED, 1.0
    if n > 0:
        velocity.node_velocities(m, False)
        for at in range(n):
            k = active[at]
            u = pair_velocity(m, k)
            set_vector(pairs[k].u, (u[0] + pairs[k].e * pairs[k].u_before[0], u[1], u[2]))
        if not solve(m, lawful, gain, anew):
            return friction.FAILED, 1.0
    for i in range(len(bodies)):
        put(bodies, i, c.D_X, get(bodies, i, c.P))
        put(bodies, i, c.D_W, get(bodies, i, c.L))
    for at in range(n):
        k = active[at]
        changed = vec.sub(vector_of(pairs[k].impulse), vector_of(pairs[k].kept))
        push(m, k, changed, c.D_X, c.D_W)
    velocity.velocities_of(m, 0.0, True, 1.0)
    for j in range(len(blocks)):
        arena.add(blocks, j, c.LAM, get(blocks, j, c.D))
    return take(m)


@part
def solve(m, tolerance, gain, anew):
    """Find the impulses of the active pairs, with `u` at the present ones; whether they exist."""
    n = arena.counters(m)[c.ACTIVE]
    if n <= sweeps.FEW:
        if anew or not coupled.is_known(m):
            coupled.couple(m)
        if coupled.solve(m, tolerance, gain):
            return True
    return friction.solve(m, tolerance, 0.0) < friction.FAILED


@part
def apply_impulses(m, ahead):
    """Set P, L to the momenta at the end under the impulses so far, P_1, L_1 to the velocities
    before; return whether every turn was found.
    """
    bodies, pairs, active = arena.bodies(m), arena.pairs(m), arena.active(m)
    for i in range(len(bodies)):
        put(bodies, i, c.D_X, vec.axpy(ahead, get(bodies, i, c.F), get(bodies, i, c.B_X)))
        put(bodies, i, c.D_W, vec.axpy(ahead, get(bodies, i, c.TAU), get(bodies, i, c.B_W)))
        put(bodies, i, c.TORQUE, (0.0, 0.0, 0.0))
    joint_blocks.spread(m, c.LAM, c.D_X, False)
    for i in range(len(bodies)):
        torque = get(bodies, i, c.TORQUE)
        arena.add(bodies, i, c.D_W, vec.transposed_matvec(get9(bodies, i, c.R), torque))
    for at in range(arena.counters(m)[c.ACTIVE]):
        push(m, active[at], vector_of(pairs[active[at]].impulse), c.D_X, c.D_W)
    for i in range(len(bodies)):
        w, J = angular_velocity(bodies, i), get(bodies, i, c.J)
        put(bodies, i, c.P_1, linear_velocity(bodies, i))
        put(bodies, i, c.L_1, w)
        put(bodies, i, c.P, get(bodies, i, c.D_X))
        if bodies[i, c.TURNS] == 1.0:
            w, found = turn_rate(J, get(bodies, i, c.D_W), ahead, w)
            if not found:
                count = arena.counters(m)
                count[c.FAILURE], count[c.WHERE] = smooth.BODY_FAILED, i
                return False
            put(bodies, i, c.L, vec.times(J, w))
    return True


@inlined
def turn_rate(J, b, ahead, w):
    """Solve J w + ahead w x J w = b by Newton's method from w; return (w, if it converged)."""
    found = False
    for _ in range(TURNS):
        l, a, d = vec.times(J, w), vec.scale(ahead, w), (J[2] - J[1], J[0] - J[2], J[1] - J[0])
        rest = vec.sub(vec.axpy(ahead, vec.cross(w, l), l), b)
        gradient = (
            (J[0], d[0] * a[2], d[0] * a[1]),
            (d[1] * a[2], J[1], d[1] * a[0]),
            (d[2] * a[1], d[2] * a[0], J[2]),
        )
        change = vec.solve(gradient, rest)
        w = vec.sub(w, change)
        found = vec.size(change) <= CLOSE * vec.size(w)
        if found:
            break
    return w, found


@part
def take(m):
    """Set P, L to the momenta of U_X, U_W; return (change in the round, size) of velocities."""
    bodies, change, size = arena.bodies(m), 0.0, 0.0
    arm = arena.clock(m)[c.LENGTH]
    for i in range(len(bodies)):
        v, w = get(bodies, i, c.U_X), get(bodies, i, c.U_W)
        by_v = vec.size(vec.sub(v, get(bodies, i, c.P_1)))
        by_w = arm * vec.size(vec.sub(w, get(bodies, i, c.L_1)))
        free = angular_velocity(bodies, i)
        change = max(change, by_v, by_w, arm * vec.size(vec.sub(w, free)))
        change += 0.0 * (by_v + by_w)  # nan, which a maximum may pass over
        size = max(size, vec.size(v), arm * vec.size(w))
        put(bodies, i, c.P, vec.times(get(bodies, i, c.M), v))
        put(bodies, i, c.L, vec.times(get(bodies, i, c.J), w))
    return change, size


@part
def finish(m, h):
    """Make the end the node: sum the impulses up, let a variational step follow."""
    bodies, active = arena.bodies(m), arena.active(m)
    joint_blocks.add_up(m)
    for at in range(arena.counters(m)[c.ACTIVE]):
        impact.add_up(m, active[at], pair_velocity(m, active[at]))
    arena.clock(m)[c.TIME] += h
    for i in range(len(bodies)):
        moved = vec.size(vec.sub(get(bodies, i, c.X), get(bodies, i, c.X_1)))
        turned = vec.size(get(bodies, i, c.U_W)) + vec.size(get(bodies, i, c.V_3))
        bodies[i, c.WAY] += moved + h * turned * bodies[i, c.REACH]
        smooth.put_rates(bodies, i, vec.scale(0.5, get(bodies, i, c.U_W)))


@part
def undo(m):
    """Go back to the start of the step. Return False."""
    bodies, pairs, blocks = arena.bodies(m), arena.pairs(m), arena.blocks(m)
    for i in range(len(bodies)):
        w = get(bodies, i, c.V_3)
        put(bodies, i, c.X, get(bodies, i, c.X_1))
        if bodies[i, c.TURNS] != 0.0:
            put_attitude(bodies, i, get4(bodies, i, c.Q_1))
        put(bodies, i, c.P, vec.times(get(bodies, i, c.M), get(bodies, i, c.V_2)))
        put(bodies, i, c.L, vec.times(get(bodies, i, c.J), w))
        smooth.put_rates(bodies, i, vec.scale(0.5, w))
    for k in range(len(pairs)):
        set_vector(pairs[k].impulse, (0.0, 0.0, 0.0))
    for j in range(len(blocks)):
        put(blocks, j, c.LAM, (0.0, 0.0, 0.0))
    return False
