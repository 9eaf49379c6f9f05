"""Impacts: the velocities of all contacts jump together, with restitution and Coulomb's friction.

    v+ = v- + M^-1 D^T P
    K_mu  contains  P  orthogonal to  u+ + (s e_n u_N^- + mu |u+_T|) e_N  in  K_mu*       (P.4)

by the law of the world, with the share s of the restitution that gains no energy (P.7). The code
is that of bodies (`mechanics.contact.exchange`). Stronge's law is that of a single contact; where
several touch, or where no impulse gives the work back (a rod on a fixed cart that sticks does not
move under any impulse), Poisson's takes its place.
"""

from rbdyn_ros.geometry import vec
from rbdyn_ros.kernel import inlined, part
from rbdyn_ros.mechanics.contact import exchange
from rbdyn_ros.mechanics.pendulum import rod_on_cart, world
from rbdyn_ros.mechanics.pendulum_contact import (
    active_contacts,
    contact_law,
    contact_state,
    contact_step,
)
from rbdyn_ros.mechanics.pendulum_contact.contact_state import (
    aim,
    on_world,
    put,
    record_impact,
    vector,
)
from rbdyn_ros.mechanics.solvers.fc3d_one_contact import SLIDE, STICK

REST = 1e-3  # of h: a shorter flight between two parts of a step is a landing
_LATEST = 1.0 - 1e-3  # of h: an impact of this step
_STICKS = 1e-20  # of a velocity, squared: that of a contact that sticks

find_impulses = exchange.of(active_contacts, contact_law)


@inlined
def at_surface(c, i, W, spent):
    """Return the speed of contact i into the surface [m/s], from that where `spent` has been
    gained.
    """
    u = min(c.before[i, 0], 0.0)
    return max(u * u - 2.0 * W * spent, 0.0) ** 0.5 if u < 0.0 else 0.0


@part
def jump(m, h, t, state, flight, spent):
    """Return (state, ok) after the impact (P.4) of all contacts that touch. What would rebound for
    less than `flight` stays closed.

    `spent` [J] is the energy gained on the way to this pose from one up to c.depth below, which
    the impact has to take. The rebound is that of the speed at the surface.
    """
    system, C, c = m.system, m.system.contacts, m.c
    x, Q, R, w, u, V = state
    d, count = rod_on_cart.axis(R), 0
    least, slow = 0.5 * flight * system.gravity, 0.5 * REST * h * system.gravity
    for i in range(world.count(C)):
        if not world.is_present(C, i):
            continue
        g, n, rho = world.touch(C, i, x, d, t)
        if g > 1e-9 * C.length and c.closed[i] == 0.0 and c.depth[i] == 0.0:
            continue
        aim(c, i, count, n, rho, world.velocity(C, i))
        count += 1
        before = contact_step.relative_velocity(c, i, R, w, u)
        mu, e = world.law(C, i)
        put(c.before, i, before)
        put(c.compressed, i, (0.0, 0.0, 0.0))
        c.law[i, 0], c.law[i, 1], c.rebound[i] = mu, 0.0, -e
    c.count[0], c.impact_law[0] = count, C.impact_law
    contact_law.couple(system, c, R)
    for a in range(count):
        i = c.active[a]
        e, speed = -c.rebound[i], at_surface(c, i, c.W[3 * a, 3 * a], spent)
        c.rebound[i] = 0.0 if c.closed[i] == 1.0 or e * speed < least else -e * speed
    if not find_impulses(c, 0.0, spent, 0.0):
        return state, False
    contact_state.note(c, contact_state.IMPACT, 0.0, c.P)
    for a in range(count):
        i = c.active[a]
        w, u = rod_on_cart.push(system, R, w, u, on_world(c, i), c.rho[i])
    for a in range(count):
        i = c.active[a]
        after = contact_step.relative_velocity(c, i, R, w, u)
        mean = vec.axpy(0.5, vec.add(vector(c.before, i), after), vector(c.moving, i))
        c.work[0] += vec.dot(vector(c.P, i), mean)
        if c.P[i, 0] > 0.0 and c.closed[i] == 0.0:
            slips = after[1] * after[1] + after[2] * after[2]
            slips = slips > _STICKS * vec.dot(vector(c.before, i), vector(c.before, i))
            c.status[i] = SLIDE if slips else STICK
            speed = at_surface(c, i, c.W[3 * a, 3 * a], spent)
            ago = min(2.0 * c.depth[i] / (speed - c.before[i, 0] + 1e-300), _LATEST * h)
            record_impact(c, t - ago, i, vector(c.P, i), -speed, after[0])
        c.closed[i] = 1.0 if after[0] < slow + 1e-15 else 0.0
    return (x, Q, R, w, u, rod_on_cart.center_velocity(system, R, w, u)), True


@part
def add_forces(C, c, factor):
    """Add the impulses in P, times `factor`, to the mean forces."""
    for i in range(world.count(C)):
        if c.P[i, 0] > 0.0:
            put(c.force, i, vec.axpy(factor, on_world(c, i), vector(c.force, i)))


@part
def on_rod(C, c):
    """Return the sum of the impulses in P that act on the rod [N s, world]."""
    f = (0.0, 0.0, 0.0)
    for i in range(world.count(C)):
        if c.P[i, 0] > 0.0 and c.rho[i] != world.ON_CART:
            f = vec.add(f, on_world(c, i))
    return f
