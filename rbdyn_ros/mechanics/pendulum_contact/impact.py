"""Impacts: all that touch jump together, with restitution and Coulomb's friction.

    v+ = v- + M^-1 D^T P
    K_mu  contains  P  orthogonal to  u+ + (s e_n u_N^- + mu |u+_T|) e_N  in  K_mu*       (P.4)

is Newton's law with the share s of the restitution that gains no energy (P.7); those of Poisson
and Stronge are as in `mechanics.contact.impact` and share its `restitution` of one contact. Stronge's law
is that of a single contact; where several touch, or where no impulse gives the work back,
Poisson's takes its place.
"""

import numpy as np

from rbdyn_ros.geometry import vec
from rbdyn_ros.kernel import inlined, part
from rbdyn_ros.mechanics.contact import restitution
from rbdyn_ros.mechanics.pendulum import rod_on_cart as body
from rbdyn_ros.mechanics.pendulum import rod_on_cart_contacts as touching
from rbdyn_ros.mechanics.pendulum import world
from rbdyn_ros.mechanics.pendulum_contact import contact_law, contact_state, contact_step
from rbdyn_ros.mechanics.pendulum_contact.contact_state import aim, event, on_world, put, vector
from rbdyn_ros.mechanics.solvers import fc3d
from rbdyn_ros.mechanics.solvers.fc3d_one_contact import SLIDE, STICK

_REST = 1e-3  # of h: a shorter flight is a landing
_LATEST = 1.0 - 1e-3  # of h: an impact of this step
_STICKS = 1e-20  # of a velocity, squared: that of a contact that sticks


@part
def exchange(C, c, count, spent):
    """P of the active contacts by the law of the world, with the largest share of their
    restitution that gains no energy, `spent` [J] included (P.7).

    Whether there is one: without restitution impulses always exist, for the state before is
    allowed.
    """
    has_phases, elastic = C.impact_law >= restitution.POISSON, False
    for a in range(count):
        elastic = elastic or c.rebound[c.active[a]] < 0.0
    solved = (has_phases or not elastic) and impulses(c, count, 0.0)
    if not elastic or has_phases and not solved:
        return solved
    if C.impact_law == restitution.ENERGETIC and count == 1 and collide(c, c.active[0]):
        return True
    for a in range(count):
        put(c.compressed, c.active[a], vector(c.P, c.active[a]))
    low, high, share = 0.0, 1.0, 1.0
    for k in range(fc3d.HALVINGS + 1):
        solved = expand(c, count, share) if has_phases else impulses(c, count, share)
        gains = gain(c, count) + spent > fc3d.CONSERVED * abs(spent)
        refused = not solved or gains and C.impact_law != restitution.NEWTON
        low, high, share, found = fc3d.narrow(low, high, share, 1.0, refused)
        if found or solved and k == fc3d.HALVINGS:
            contact_state.failed(c, contact_state.NONE, 0)
            return True
        share = low if k == fc3d.HALVINGS - 1 else share
    return False


@part
def impulses(c, count, share):
    """P of the active contacts with a share of Newton's restitution; whether they were found."""
    for a in range(count):
        i = c.active[a]
        w = c.law[i, 1] = share * c.rebound[i]
        put(c.q, i, (c.before[i, 0] + w, c.before[i, 1], c.before[i, 2]))
        put(c.P, i, (0.0, 0.0, 0.0))
    return contact_law.sweeps(c, count)[0] < np.inf


@inlined
def restored(c, i):
    """The coefficient of restitution of contact i, with respect to its velocity before."""
    return c.rebound[i] / c.before[i, 0] if c.rebound[i] < 0.0 else 0.0


@part
def collide(c, i):
    """P of the only active contact i by Stronge's law, unless none gives the work back (a rod on a
    fixed cart that sticks does not move under any impulse); whether it was found.
    """
    W, u = contact_law.block(c, 0, 0), vector(c.before, i)
    P, found = restitution.collide(W, u, c.law[i, 0], restored(c, i))
    if not found:
        return False
    put(c.P, i, P)
    after = vec.add(u, vec.matvec(W, P))
    slips = after[1] * after[1] + after[2] * after[2] > _STICKS * vec.dot(u, u)
    c.status[i] = SLIDE if slips else STICK
    return True


@part
def expand(c, count, share):
    """P := `compressed` and the impulses of the restitution by Poisson's law, each normal one at
    least `share` e times that of the compression, by sweeps of Gauss and Seidel; whether they were
    found.
    """
    moved = size = 0.0
    for a in range(count):
        i = c.active[a]
        put(c.P, i, vec.scale(1.0 + share * restored(c, i), vector(c.compressed, i)))
    for _ in range(contact_law.SWEEPS):
        moved, size = 0.0, 1e-300
        for a in range(count):
            i = c.active[a]
            P, old = vector(c.compressed, i), vector(c.P, i)
            q = vec.add(vector(c.before, i), vec.matvec(contact_law.block(c, a, a), P))
            for b in range(count):
                if b != a:
                    j = c.active[b]
                    q = vec.add(q, vec.matvec(contact_law.block(c, a, b), vector(c.P, j)))
            least, more = share * restored(c, i) * P[0], vec.sub(old, P)
            W = contact_law.block(c, a, a)
            more, found = restitution.at_least(W, q, c.law[i, 0], least, more)
            if not found:
                return False
            put(c.P, i, vec.add(P, more))
            moved += vec.size(vec.sub(vector(c.P, i), old))
            size += vec.size(vector(c.P, i))
        if not moved > contact_law.TOLERANCE * size:
            return True
    return False


@part
def gain(c, count):
    """The kinetic energy that the impulses P give, P.(u^- + u^+) / 2, less round-off."""
    total, size = 0.0, 0.0
    for a in range(count):
        i = c.active[a]
        before = vector(c.before, i)
        after = before
        for b in range(count):
            after = vec.add(
                after, vec.matvec(contact_law.block(c, a, b), vector(c.P, c.active[b]))
            )
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
        dw, du = touching.impulse_response(system, R, on_world(c, i), c.rho[i])
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
