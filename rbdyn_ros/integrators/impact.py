"""Impacts, and steps that end at an impact and go on from there: restitution and rest exact to
round-off.

A step whose end would penetrate an open contact is taken only up to the instant s of g(s) = 0 (a bracketed secant on the
step itself, not on an interpolation of it). There the velocities jump by the exact law of the closed contacts together,

    v+ = v- + M^-1 D^T P,   K_mu  contains  P  orthogonal to  u+ + (e_n u_N^- + mu |u+_T|) e_N  in  K_mu*,       (P.4)

and the rest of the step follows. A rebound that would last less than a thousandth of the step is a landing: the contact stays
closed, held by (P.2), until its force ends.
"""

import numpy as np

from rbdyn_ros.bodies import rod_on_cart as body
from rbdyn_ros.contacts import rod_on_cart as touching
from rbdyn_ros.contacts import world
from rbdyn_ros.geometry import vec
from rbdyn_ros.integrators import contact_law, contact_step, discrete_rod
from rbdyn_ros.integrators import contact_memory as memory
from rbdyn_ros.integrators.contact_memory import aim, event, on_world, put, vector
from rbdyn_ros.kernel import inlined, part
from rbdyn_ros.solvers import fc3d

_SPLITS = 200  # impacts in one step; then whatever still bounces has landed
_REST = 1e-3  # of h: a shorter flight is a landing
_LATEST = 1.0 - 1e-3  # of h: an impact of this step
_TOUCHING = 1e-12  # of the rod's length: a smaller gap is closed


@inlined
def gap(C, i, state, t):
    """g of candidate i at t."""
    x, R = state[0], state[2]
    return world.touch(C, i, x, (R[0][2], R[1][2], R[2][2]), t)[0]


@inlined
def opening(C, i, state, t):
    """dg/dt of candidate i at t [m/s]."""
    x, R = state[0], state[2]
    g, n, rho = world.touch(C, i, x, (R[0][2], R[1][2], R[2][2]), t)
    v = touching.point_velocity(R, state[3], state[4], rho)
    return vec.dot(n, vec.sub(v, world.velocity(C, i)))


@part
def advance_part(system, C, options, load, whole, t, h, u0, u1, state, guess, c):
    """A step of h from t, a part of the `whole`, with the closed contacts held: (state, turn, joint
    impulse, error). P is left in c.
    """
    E = discrete_rod.equations(system, options.gamma, h)
    tolerance, most = options.tolerance, options.max_iterations
    count = contact_step.hold(C, c, whole, t, state)
    if count == 0:
        c.work[1] = 0.0
        new, turn, impulse = contact_step.stage(system, load, E, tolerance, most, u0, u1, state, guess, None)
        return new, turn, impulse, turn.error
    return contact_step.solve(system, load, E, tolerance, most, u0, u1, state, guess, c, count)


@part
def release(C, c):
    """Open the closed contacts that carry nothing."""
    for i in range(world.count(C)):
        if c.closed[i] == 1.0 and not c.P[i, 0] > 0.0:
            c.closed[i] = 0.0


@part
def deepest(C, c, t, state, limit, with_closed):
    """The candidate whose gap is smallest at t and below `limit`, -1 if none is: of the open ones, or
    of all.
    """
    found = -1
    for i in range(world.count(C)):
        if world.exists(C, i) and (with_closed or c.closed[i] == 0.0):
            g = gap(C, i, state, t)
            if g < limit:
                limit, found = g, i
    return found


@inlined
def penetrated(C, c, t, state):
    """The open candidate that is penetrated deepest at t, -1 if none is."""
    return deepest(C, c, t, state, -_TOUCHING * C.length, False)


@part
def instant(system, C, options, load, whole, t, h, u0, u1, state, guess, c, i, g1):
    """The s in (0, h) after t where the gap of candidate i, which ends at g1 < 0, closes: Illinois,
    every fourth time a bisection.
    """
    a, b, ga, gb, side = 0.0, h, gap(C, i, state, t), g1, 0
    rise = opening(C, i, state, t)
    if rise > 0.0:
        # a flight that begins and ends in this step: g = rise s - k s^2 with g(h) = g1 has its apex here
        a = 0.5 * h * rise * h / (rise * h - g1)
        new = advance_part(system, C, options, load, whole, t, a, u0, u1, state, guess, c)[0]
        ga = gap(C, i, new, t + a)
    if not ga > 0.0:
        return 0.0
    s = h
    for k in range(100):
        s = a + (b - a) * (ga / (ga - gb) if k % 4 < 3 else 0.5)
        new = advance_part(system, C, options, load, whole, t, s, u0, u1, state, guess, c)[0]
        g = gap(C, i, new, t + s)
        if abs(g) <= 1e-15 * C.length or b - a <= 1e-15 * h:
            break
        if g > 0.0:
            a, ga, gb, side = s, g, 0.5 * gb if side > 0 else gb, 1
        else:
            b, gb, ga, side = s, g, 0.5 * ga if side < 0 else ga, -1
    return s


@part
def exchange(C, c, count, spent):
    """P of the active contacts (P.4) with the largest share of their restitution that gains no
    energy, `spent` [J] included (P.7).

    Whether there is one: without restitution impulses always exist, for the state before is
    allowed.
    """
    low, high, share = 0.0, 1.0, 1.0
    for k in range(fc3d.HALVINGS + 1):
        elastic = 0.0
        for a in range(count):
            i = c.active[a]
            w = c.law[i, 1] = share * c.rebound[i]
            elastic = min(elastic, w)
            put(c.q, i, (c.before[i, 0] + w, c.before[i, 1], c.before[i, 2]))
            put(c.P, i, (0.0, 0.0, 0.0))
        solved = contact_law.sweeps(c, count)[0] < np.inf
        if not elastic < 0.0:
            return solved
        gains = gain(c, count) + spent > fc3d.CONSERVED * abs(spent)
        refused = not solved or C.newton == 0.0 and gains
        low, high, share, found = fc3d.narrow(low, high, share, 1.0, refused)
        if found:
            memory.failed(c, memory.NONE, 0)
            return True
        share = low if k == fc3d.HALVINGS - 1 else share
    return solved


@part
def gain(c, count):
    """The kinetic energy that the impulses P give, P.(u^- + u^+) / 2, less round-off."""
    total, size = 0.0, 0.0
    for a in range(count):
        i = c.active[a]
        before = vector(c.before, i)
        after = before
        for b in range(count):
            after = vec.add(after, vec.matvec(contact_law.block(c, a, b), vector(c.P, c.active[b])))
        P = vector(c.P, i)
        total += 0.5 * (vec.dot(P, before) + vec.dot(P, after))
        size += abs(vec.dot(P, before)) + abs(vec.dot(P, after))
    return total - fc3d.CONSERVED * size


@inlined
def at_surface(c, i, W, spent):
    """The speed of contact i into the surface [m/s], from that where `spent` has been gained."""
    u = min(c.before[i, 0], 0.0)
    return max(u * u - 2.0 * W * spent, 0.0) ** 0.5 if u < 0.0 else 0.0


@part
def jump(system, C, c, h, t, state, landed, spent):
    """The impact (P.4) of all contacts that touch: (state, ok). What rebounds too little, or
    `landed`, stays closed.

    `spent` [J]: energy gained on the way to this pose from one up to c.depth below, which the
    impact has to take. The rebound is that of the speed at the surface.
    """
    x, Q, R, w, u, V = state
    d, count = (R[0][2], R[1][2], R[2][2]), 0
    slow = 0.5 * _REST * h * system.gravity
    for i in range(world.count(C)):
        if not world.exists(C, i):
            continue
        g, n, rho = world.touch(C, i, x, d, t)
        if g > 1e-9 * C.length and c.closed[i] == 0.0 and c.depth[i] == 0.0:
            continue
        aim(c, i, count, n, rho, world.velocity(C, i))
        count += 1
        before = contact_step.relative_velocity(c, i, R, w, u)
        mu, e = world.law(C, i)
        put(c.before, i, before)
        c.law[i, 0], c.law[i, 1], c.rebound[i] = mu, 0.0, -e
    contact_law.couple(system, c, count, R)
    for a in range(count):
        i = c.active[a]
        e, speed = -c.rebound[i], at_surface(c, i, c.W[3 * a, 3 * a], spent)
        c.rebound[i] = 0.0 if landed or c.closed[i] == 1.0 or e * speed < slow else -e * speed
    if not exchange(C, c, count, spent):
        return state, False
    for a in range(count):
        i = c.active[a]
        dw, du = touching.kick(system, R, on_world(c, i), c.rho[i])
        w, u = vec.add(w, dw), (u[0] + du[0], u[1] + du[1])
    for a in range(count):
        i = c.active[a]
        after = contact_step.relative_velocity(c, i, R, w, u)
        mean = vec.axpy(0.5, vec.add(vector(c.before, i), after), vector(c.moving, i))
        c.work[0] += vec.dot(vector(c.P, i), mean)
        if c.P[i, 0] > 0.0 and c.closed[i] == 0.0:
            speed = at_surface(c, i, c.W[3 * a, 3 * a], spent)
            ago = min(2.0 * c.depth[i] / (speed - c.before[i, 0] + 1e-300), _LATEST * h)
            event(c, t - ago, i, vector(c.P, i), -speed, after[0])
        c.closed[i] = 1.0 if after[0] < slow + 1e-15 else 0.0
    return (x, Q, R, w, u, body.center_velocity(system, R, w, u)), True


@part
def add_forces(C, c, factor):
    """Add the impulses that lie in P to the mean forces."""
    for i in range(world.count(C)):
        if c.P[i, 0] > 0.0:
            put(c.force, i, vec.axpy(factor, on_world(c, i), vector(c.force, i)))


@part
def on_rod(C, c):
    """The sum of the impulses in P that act on the rod [N s, world]."""
    f = (0.0, 0.0, 0.0)
    for i in range(world.count(C)):
        if c.P[i, 0] > 0.0 and c.rho[i] != world.ON_CART:
            f = vec.add(f, on_world(c, i))
    return f


@inlined
def take(C, c, h):
    """Account for a part of the step of h that is kept, and open what carries nothing."""
    add_forces(C, c, 2.0 / h)
    c.work[0] += c.work[1]
    release(C, c)


@part
def step(system, C, options, load, E, u0, u1, state, guess, c, t):
    """One step that splits at each impact: (state, turn, joint impulse, error, whether anything touched)."""
    h, left, total, touched = E.h, E.h, (0.0, 0.0, 0.0), False
    new, turn, impulse, error = advance_part(
        system, C, options, load, h, t, h, u0, u1, state, guess, c
    )
    for k in range(_SPLITS + 1):
        if not error <= options.tolerance:
            return state, turn, total, error, touched
        i = penetrated(C, c, t + h, new)
        if i < 0:
            take(C, c, h)
            touched = touched or contact_step.closed(C, c) > 0
            return new, turn, vec.add(total, impulse), error, touched
        touched = True
        now = t + h - left
        g = gap(C, i, new, t + h)
        s = instant(system, C, options, load, h, now, left, u0, u1, state, guess, c, i, g)
        if s == 0.0 and opening(C, i, state, now) >= 0.0:
            c.closed[i] = 1.0  # it parts and comes back without a flight in between; the law lets go what need not be held
            new, turn, impulse, error = advance_part(
                system, C, options, load, h, now, left, u0, u1, state, guess, c
            )
            continue
        if s > 0.0:
            state, turn, impulse, error = advance_part(
                system, C, options, load, h, now, s, u0, u1, state, guess, c
            )
            if not error <= options.tolerance:
                return state, turn, total, error, touched
            total = vec.add(total, impulse)
            take(C, c, h)
        left -= s
        V = state[5]
        c.depth[:] = 0.0
        lands = k >= _SPLITS - world.count(C)
        state, ok = jump(system, C, c, h, t + h - left, state, lands, 0.0)
        if not ok:
            return state, turn, total, np.inf, touched
        add_forces(C, c, 1.0 / h)
        f = on_rod(C, c)
        total = vec.add(total, vec.sub(vec.scale(system.rod_mass, vec.sub(state[5], V)), f))
        now = t + h - left
        new, turn, impulse, error = advance_part(
            system, C, options, load, h, now, left, u0, u1, state, guess, c
        )
    memory.failed(c, memory.NO_SPLITS, c.active[0])
    return state, turn, total, np.inf, touched
