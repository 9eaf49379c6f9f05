"""The loop of `quaternion_midpoint` where there is something to touch.

A step whose end overlaps is mended there: the pose is projected, then all that touch jump.

So are whole steps, and a step of any kind whose closed contacts have no impulses (their gaps can
contradict each other: a rod between floor and sphere); such a step is taken without them. What
overlaps is projected out along the normals in the metric of the masses,

    (w, x') dt := -M^-1 D_N^T W_NN^-1 g   until g = 0,                                    (P.5)

closed contacts keep their gaps where they can, and the momenta p (in the body) and P theirs. There
all that touch jump together (P.4). What the projection costs, S [J], the impact takes: it rebounds
from the speed at the surface,

    u_N^2 - 2 W_NN S,                                                                     (P.3)

and no energy is gained, S included (P.7). This is of order 1.
"""

import numpy as np

from rbdyn_ros.geometry import unit_quaternion, vec
from rbdyn_ros.kernel import inlined, part
from rbdyn_ros.mechanics.integrators import boundary, discrete_rod, maximal_rod
from rbdyn_ros.mechanics.pendulum import rod_on_cart, world
from rbdyn_ros.mechanics.pendulum_contact import (
    contact_law,
    contact_state,
    contact_step,
    impact,
    split_step,
)
from rbdyn_ros.mechanics.pendulum_contact.contact_state import aim, put, vector
from rbdyn_ros.mechanics.solvers import fc3d_one_contact
from rbdyn_ros.numerics import linear

_UNKNOWN = world.Clear((0.0, 0.0), (0.0, 0.0, 0.0), -1.0, -1.0, 0.0, 0.0)


@part
def steps(system, options, input, h, n, state, reaction):
    """Advance by n steps as `advance` does, with contacts: distant obstacles cost a comparison,
    closed contacts join the step (`contact_step`).

    A step whose end would overlap is mended there (`mend`) or, with `options.split`, ends
    at the impact and goes on from there (`split_step`).
    """
    tolerance, max_iterations, gamma = options.tolerance, options.max_iterations, options.gamma
    C, c, split = system.contacts, options.contact, options.split == 1
    load, sines, (t, q, v) = rod_on_cart.load(input), input.sines, state
    x, Q, w, u = boundary.read(q, v)
    R = unit_quaternion.matrix(Q)
    u = (system.cart_free * u[0], system.cart_free * u[1])
    here = (x, Q, R, w, u, rod_on_cart.center_velocity(system, R, w, u))
    u1 = rod_on_cart.cart_force(load, rod_on_cart.sines_at(sines, t))
    E = discrete_rod.equations(system, gamma, h)
    bend = bend_old = 0.125 * vec.dot(w, w)
    iterations, worst, touched = 0, 0.0, True
    clear = _UNKNOWN
    contact_state.record_failure(c, contact_state.NONE, 0)
    contact_state.begin(c, q, v, n * h)
    for i in range(n):
        start, s = here, t + i * h
        now = s - c.since[0]
        recorded, done, free = c.recorded[0], c.work[0], clear.cart >= 0.0
        u0, u1 = u1, rod_on_cart.cart_force(load, rod_on_cart.sines_at(sines, s + h))
        inputs = maximal_rod.StepInputs(load, u0, u1, gamma, tolerance, max_iterations)
        m = contact_state.Workspace(system, c, inputs)
        guess = 1.0 - h * h * (2.0 * bend - bend_old)
        contact_state.forget_notes(c)
        if touched:
            c.force[:] = 0.0
            touched = False
        count = 0
        if not free:
            remember(C, c)
            count = contact_step.hold(C, c, h, now, here)
        if count == 0:
            new, turn, impulse = maximal_rod.stage(system, E, inputs, here, guess, None)
            error = turn.error
        else:
            new, turn, impulse, error = contact_step.solve(m, E, now, here, guess)
        met = False
        if not world.is_open(C, clear, new[0], rod_on_cart.axis(new[2]), now + h, 0.0, 0.0):
            met = error <= tolerance and split_step.deepest_penetration(C, c, now + h, new) >= 0
            clear = _UNKNOWN
            if not met and count == 0:
                clear = world.clear(C, new[0], rod_on_cart.axis(new[2]), now + h)
        if error <= tolerance and count > 0 and not (met and split):
            split_step.take(c, h, h)
            touched = True
        here, fails = new, not error <= tolerance
        if met and not split:
            here, impulse, ok = mend(m, E, now, new, impulse)
            touched, fails = True, not ok
        if met and split or fails and (met or count > 0) and not split:
            if not split:
                forget(C, c, recorded, done, free)
            here, turn, impulse, error, touched = split_step.step(m, h, start, guess, now)
            fails = not error <= tolerance
            touched, clear = True, _UNKNOWN
        if fails and (met or count > 0):
            forget(C, c, recorded, done, free)
            here, turn, impulse, error = step(m, E, start, guess, now)
            touched, clear = True, _UNKNOWN
        bend, bend_old = 0.25 * E.f * E.f * (1.0 - turn.w), bend
        iterations += turn.iterations
        if not error <= tolerance:
            boundary.write(q, v, start[0], start[1], start[3], start[4])
            c.interval[0] = i * h
            return i, iterations, error
        if touched:
            contact_state.account(C, c, h)
        worst = max(worst, error)
        boundary.write_reaction(reaction, vec.scale(1.0 / h, impulse))
    boundary.write(q, v, here[0], here[1], here[3], here[4])
    return n, iterations, worst


_SWEEPS = 2000  # of the gaps
_NEWTON = 30  # steps of it
_CLOSED = 5e-13  # of the rod's length: a smaller overlap is none
_TOUCHING = 1e-9  # of the rod's length: what touches; what may overlap still after the last sweep
_FLAT = 1e-9  # of 1/m: W_NN of a normal along which nothing moves


@inlined
def remember(C, c):
    """Store which contacts touch at the start of a step."""
    for i in range(world.count(C)):
        c.closed_before[i] = c.closed[i]


@part
def forget(C, c, recorded, work, free):
    """Undo what a failed step recorded: its impacts, its forces, its work, and what it closed;
    nothing touched before where all was `free`.
    """
    c.recorded[0], c.work[0] = recorded, work
    for i in range(world.count(C)):
        c.closed[i] = 0.0 if free else c.closed_before[i]
        put(c.force, i, (0.0, 0.0, 0.0))
        put(c.P, i, (0.0, 0.0, 0.0))


@inlined
def displace(x, Q, dw, dx):
    """Return (x, Q, R) after the small displacement dw [body], dx."""
    Q = unit_quaternion.product(Q, (1.0, 0.5 * dw[0], 0.5 * dw[1], 0.5 * dw[2]))
    Q = unit_quaternion.normalize(Q)
    return (x[0] + dx[0], x[1] + dx[1]), Q, unit_quaternion.matrix(Q)


@part
def project_position(m, x, Q, R, t):
    """Return (x, Q, R, largest gap that is left [m]) with what overlaps at t lifted to the
    surface, while closed contacts keep their gaps, by Newton's method (P.5); c.depth are the
    overlaps on the way.
    """
    system, C, c, left = m.system, m.system.contacts, m.c, 0.0
    for i in range(world.count(C)):
        c.q[i, 0] = 0.0  # the impulse that has lifted it
    for _ in range(_NEWTON):
        n, left = 0, 0.0
        for i in range(world.count(C)):
            if not world.is_present(C, i):
                continue
            g, normal, rho = world.touch(C, i, x, rod_on_cart.axis(R), t)
            if not g < 0.0 and c.closed[i] == 0.0 and not c.q[i, 0] > 0.0:
                continue
            c.depth[i] = max(c.depth[i], -g)
            left = max(left, abs(g))
            aim(c, i, n, normal, rho, world.velocity(C, i))
            put(c.P, i, (1.0, 0.0, 0.0))
            c.status[i], c.z[n] = fc3d_one_contact.SLIDE, -g
            n += 1
        if left <= _CLOSED * C.length:
            break
        c.count[0] = n
        contact_law.couple_rows(system, c, R)
        linear.solve_consistent(c.A[:n, :n], c.z[:n])
        dw, dx = (0.0, 0.0, 0.0), (0.0, 0.0)
        for b in range(n):
            j = c.active[b]
            f = vec.scale(c.z[b], vector(c.axes[j], 0))
            dw, dx = rod_on_cart.push(system, R, dw, dx, f, c.rho[j])
            c.q[j, 0] = max(c.q[j, 0] + c.z[b], 0.0)
        x, Q, R = displace(x, Q, dw, dx)
    return x, Q, R, left


@part
def lift(system, c, x, Q, R, t):
    """Return (x, Q, R, deepest overlap [m]) where nothing overlaps any more at t, by lifting one
    contact after the other; c.z are the impulses of the last sweep.
    """
    C, deepest = system.contacts, 0.0
    for _ in range(_SWEEPS):
        deepest = 0.0
        for i in range(world.count(C)):
            c.z[i] = 0.0
            if not world.is_present(C, i):
                continue
            g, n, rho = world.touch(C, i, x, rod_on_cart.axis(R), t)
            if not g < 0.0:
                continue
            deepest = min(deepest, g)
            c.depth[i] = max(c.depth[i], -g)
            dw, dx = rod_on_cart.impulse_response(system, R, n, rho)
            W = vec.dot(n, rod_on_cart.point_velocity(R, dw, dx, rho))
            if not W * system.rod_mass > _FLAT:
                c.z[i] = 1.0  # nothing moves along n
                continue
            c.z[i] = -g / W
            x, Q, R = displace(x, Q, vec.scale(c.z[i], dw), (c.z[i] * dx[0], c.z[i] * dx[1]))
        if deepest >= -_CLOSED * C.length:
            break
    return x, Q, R, deepest


@part
def is_jammed(system, c, x, R, t):
    """Return whether the impulses y = c.z >= 0 prove that no motion z within reach opens the
    overlaps.

    To first order D_N z >= -g asks for |z|_M >= y.(-g) / |D_N^T y| in the metrics of M and M^-1
    (P.8, Farkas); within reach is |z|_M < L sqrt(m).
    """
    C = system.contacts
    dw, dx, lift = (0.0, 0.0, 0.0), (0.0, 0.0), 0.0
    for i in range(world.count(C)):
        if c.z[i] > 0.0:
            g, n, rho = world.touch(C, i, x, rod_on_cart.axis(R), t)
            dw, dx = rod_on_cart.push(system, R, dw, dx, vec.scale(c.z[i], n), rho)
            lift -= c.z[i] * g
    p, P = rod_on_cart.momenta(system, R, dw, dx)
    size = max(vec.dot(p, dw) + P[0] * dx[0] + P[1] * dx[1], 0.0) ** 0.5
    return lift > C.length * system.rod_mass**0.5 * size


@part
def work_of_loads(inputs, start, state):
    """Return the work [J] of the force on the cart and of the wrench on the rod, as at the end of
    the step, on the way from a pose to one nearby.
    """
    load, x0, Q0, R0 = inputs.load, start[0], start[1], start[2]
    x, Q, R = state[0], state[1], state[2]
    moved = (x[0] - x0[0], x[1] - x0[1], 0.0)
    work = inputs.u1[0] * moved[0] + inputs.u1[1] * moved[1]
    if vec.size(load.F) + vec.size(load.T) == 0.0:
        return work
    turned = unit_quaternion.product(Q, unit_quaternion.conjugate(Q0))
    angle = vec.scale(2.0 if turned[0] > 0.0 else -2.0, (turned[1], turned[2], turned[3]))
    arm = vec.sub(vec.matvec(R, load.r), vec.matvec(R0, load.r))
    return work + vec.dot(load.F, vec.add(moved, arm)) + vec.dot(load.T, angle)


@part
def mend(m, E, t, start, impulse):
    """Return (state, impulse of the joint, ok) of a step of E.h from t that ends in the state
    `start`, where something overlaps, after projection and impact. Half of the impulses of what
    stays closed lies in P then, as after any step.
    """
    x, Q, R, w, u, V = start
    system, C, c = m.system, m.system.contacts, m.c
    before, end = rod_on_cart.energy(system, R, w, u), t + E.h
    c.depth[:] = 0.0
    contact_state.forget_notes(c)
    contact_state.note(c, contact_state.MENDED, E.h, c.P)
    x, Q, R, left = project_position(m, x, Q, R, end)
    deepest = 0.0
    if not left <= _CLOSED * C.length:
        x, Q, R, deepest = lift(system, c, start[0], start[1], start[2], end)
    p, P = rod_on_cart.momenta(system, start[2], w, u)
    w, u = rod_on_cart.velocities(system, R, p, P)
    state = (x, Q, R, w, u, V)
    if not deepest > -_TOUCHING * C.length:
        why = contact_state.JAMMED if is_jammed(system, c, x, R, end) else contact_state.NO_POSE
        contact_state.record_failure(c, why, split_step.deepest(C, c, end, state, np.inf, True))
        return start, impulse, False
    spent = rod_on_cart.energy(system, R, w, u) - before
    spent -= work_of_loads(m.inputs, start, state)
    for i in range(world.count(C)):
        if c.closed[i] == 1.0 and contact_step.gap(C, i, state, end) > _TOUCHING * C.length:
            c.closed[i] = 0.0
    state, ok = impact.jump(m, E.h, end, state, E.h, spent)
    if not ok:
        return start, impulse, False
    c.work[0] += spent
    contact_state.record_failure(c, contact_state.NONE, 0)
    impact.add_forces(C, c, 0.5 * E.f)
    change = vec.scale(system.rod_mass, vec.sub(state[5], V))
    impulse = vec.sub(vec.add(impulse, change), impact.on_rod(C, c))
    for i in range(world.count(C)):
        put(c.P, i, vec.scale(0.5 * c.closed[i], vector(c.P, i)))
    return state, impulse, True


@part
def step(m, E, state, guess, t):
    """Return (state, turn, joint impulse, error) of one step without the closed contacts, mended
    at its end.
    """
    new, turn, impulse = contact_step.stage(m, E, state, guess, None)
    if not turn.error <= m.inputs.tolerance:
        return state, turn, impulse, turn.error
    new, impulse, ok = mend(m, E, t, new, impulse)
    return (new if ok else state), turn, impulse, (turn.error if ok else np.inf)
