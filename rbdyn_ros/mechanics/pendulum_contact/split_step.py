"""Steps that end at an impact and go on from there: restitution and rest exact to round-off.

A step whose end would penetrate an open contact is taken only up to the instant s of g(s) = 0 (a
bracketed parabola on the step itself, not on an interpolation of it). There all that touch jump
(`impact`), and the rest of the step follows. A rebound that would last less than a thousandth of
the step is a landing: the contact stays closed, held by (P.1), until its force ends.
"""

import numpy as np

from rbdyn_ros.geometry import vec
from rbdyn_ros.kernel import inlined, part
from rbdyn_ros.mechanics.integrators import discrete_rod
from rbdyn_ros.mechanics.pendulum import rod_on_cart, world
from rbdyn_ros.mechanics.pendulum_contact import contact_state, contact_step, impact
from rbdyn_ros.mechanics.pendulum_contact.contact_state import put, vector
from rbdyn_ros.mechanics.pendulum_contact.contact_step import gap
from rbdyn_ros.numerics import bracket

_SPLITS = 200  # impacts in one step; then a contact that still bounces stays closed
_TOUCHING = 1e-12  # of the rod's length: a smaller gap is closed


@inlined
def opening(C, i, state, t):
    """Return dg/dt of candidate i at t [m/s]."""
    x, Q, R, w, u, V = state
    g, n, rho = world.touch(C, i, x, rod_on_cart.axis(R), t)
    v = rod_on_cart.point_velocity(R, w, u, rho)
    return vec.dot(n, vec.sub(v, world.velocity(C, i)))


@part
def advance_part(m, whole, t, h, state, guess):
    """Return (state, turn, joint impulse, error) of a step of h from t, a part of the `whole`,
    with the closed contacts held. P is left in c.
    """
    E = discrete_rod.equations(m.system, m.inputs.gamma, h)
    count = contact_step.hold(m.system.contacts, m.c, whole, t, state)
    if count == 0:
        m.c.work[1] = 0.0
        new, turn, impulse = contact_step.stage(m, E, state, guess, None)
        return new, turn, impulse, turn.error
    return contact_step.solve_part(m, E, t, state, guess)


@part
def deepest(C, c, t, state, limit, with_closed):
    """Return the candidate whose gap is smallest at t and below `limit`, -1 if none is: of the
    open ones, or of all.
    """
    found = -1
    for i in range(world.count(C)):
        if world.is_present(C, i) and (with_closed or c.closed[i] == 0.0):
            g = gap(C, i, state, t)
            if g < limit:
                limit, found = g, i
    return found


@inlined
def deepest_penetration(C, c, t, state):
    """Return the open candidate that is penetrated deepest at t, -1 if none is."""
    return deepest(C, c, t, state, -_TOUCHING * C.length, False)


@part
def instant(m, whole, t, h, state, guess, i, g1):
    """Return the s in [0, h) after t where the gap of candidate i, which ends at g1 < 0, closes; 0
    if it does not open before.
    """
    C = m.system.contacts
    a, ga = 0.0, gap(C, i, state, t)
    rise = opening(C, i, state, t)
    if rise > 0.0:
        # a flight that begins and ends in this step: g = rise s - k s^2 with g(h) = g1 has its
        # apex here
        a = 0.5 * h * rise * h / (rise * h - g1)
        new = advance_part(m, whole, t, a, state, guess)[0]
        ga = gap(C, i, new, t + a)
    if not ga > 0.0:
        return 0.0
    s, b = h, bracket.between(a, h, ga, g1)
    for k in range(bracket.TRIALS):
        s = bracket.trial(b, k)
        new = advance_part(m, whole, t, s, state, guess)[0]
        g = gap(C, i, new, t + s)
        if abs(g) <= 1e-15 * C.length or b.closed - b.open <= 1e-15 * h:
            break
        b = bracket.narrow(b, s, g)
    return s


@part
def first_instant(m, whole, t, h, state, guess, i, new):
    """Return (s, i, the part that ends there) of the first gap that closes within h after t; `new`
    ends the part of h, and i is penetrated deepest there. Another one may have closed before.
    """
    C, c, s = m.system.contacts, m.c, h
    for _ in range(world.count(C)):
        s = instant(m, whole, t, s, state, guess, i, gap(C, i, new[0], t + s))
        if s == 0.0:
            break
        new = advance_part(m, whole, t, s, state, guess)
        j = deepest_penetration(C, c, t + s, new[0])
        if j < 0:
            break
        i = j
    return s, i, new


@part
def take(c, h, duration):
    """Account for a part of the step of h that is kept, and open the contacts that carry
    nothing.
    """
    contact_state.note(c, contact_state.PART, duration, c.before)
    for a in range(c.count[0]):
        i = c.active[a]
        if c.P[i, 0] > 0.0:
            put(c.force, i, vec.axpy(1.0 / h, vector(c.given, i), vector(c.force, i)))
        else:
            c.closed[i] = 0.0
    c.work[0] += c.work[1]


@part
def step(m, h, state, guess, t):
    """Return (state, turn, joint impulse, error, whether anything touched) of one step that splits
    at each impact.
    """
    system, C, c = m.system, m.system.contacts, m.c
    left, total, touched = h, (0.0, 0.0, 0.0), False
    contact_state.forget_notes(c)
    ended = advance_part(m, h, t, h, state, guess)
    for k in range(_SPLITS + 1):
        new, turn, impulse, error = ended
        if not error <= m.inputs.tolerance:
            return state, turn, total, error, touched
        i = deepest_penetration(C, c, t + h, new)
        if i < 0:
            take(c, h, left)
            touched = touched or contact_step.closed_count(C, c) > 0
            return new, turn, vec.add(total, impulse), error, touched
        touched = True
        now = t + h - left
        s, i, first = first_instant(m, h, now, left, state, guess, i, ended)
        if s == 0.0 and opening(C, i, state, now) >= 0.0:
            # it opens and closes without a flight in between; the law releases what need not be
            # held
            c.closed[i] = 1.0
            ended = advance_part(m, h, now, left, state, guess)
            continue
        if s > 0.0:
            state, turn, impulse, error = first
            if not error <= m.inputs.tolerance:
                return state, turn, total, error, touched
            total = vec.add(total, impulse)
            take(c, h, s)
        left -= s
        V = state[5]
        c.depth[:] = 0.0
        flight = impact.REST * h if k < _SPLITS - world.count(C) else np.inf
        state, ok = impact.jump(m, h, t + h - left, state, flight, 0.0)
        if not ok:
            return state, turn, total, np.inf, touched
        impact.add_forces(C, c, 1.0 / h)
        f = impact.on_rod(C, c)
        total = vec.add(total, vec.sub(vec.scale(system.rod_mass, vec.sub(state[5], V)), f))
        now = t + h - left
        ended = advance_part(m, h, now, left, state, guess)
    contact_state.record_failure(c, contact_state.NO_SPLITS, c.active[0])
    return state, turn, total, np.inf, touched
