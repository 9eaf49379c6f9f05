"""A step with persistent contacts: more rows on the same equations (doc/nonsmooth.md, The pendulum
meets the world).

The contacts' half-step impulses P push at both ends of the step of `maximal_rod.stage` and keep
the gaps over the step,

    u = T ((r_{k+1} - r_k)/h - V),  w = beta min(g_k, 0)/h                                (P.1)
    K_mu  contains  P  orthogonal to  u + (w + mu |u_T|) e_N  in  K_mu*                   (P.2)

V is the velocity of the obstacle. Where the normal turns with the motion, u_N is the rate of the
gap and the second half of P acts in the frame of the end (P.11). The smooth step is solved for
given P; then P follows from (P.2) with the Delassus matrix W at k, u = u(P_old) + W (P - P_old). W
is off by O(h), which is the factor of each round. What meets its obstacle in the step is an impact
at its end, or within (`impact`).

A persistent contact leaves the end velocity swinging about its mean. The oblique projection of the
velocities on the closed rows, along directions that keep P_T/P_N (so no friction is invented),
removes that and nothing else.
"""

import numpy as np

from rbdyn_ros.geometry import vec
from rbdyn_ros.kernel import inlined, part
from rbdyn_ros.mechanics.integrators import maximal_rod
from rbdyn_ros.mechanics.pendulum import rod_on_cart, world
from rbdyn_ros.mechanics.pendulum_contact import contact_law, contact_state
from rbdyn_ros.mechanics.pendulum_contact.active_contacts import block
from rbdyn_ros.mechanics.pendulum_contact.contact_state import (
    aim,
    frame,
    on_world,
    put,
    transport,
    vector,
)
from rbdyn_ros.mechanics.solvers import fc3d
from rbdyn_ros.numerics import linear

ROUNDS = 50
# cosine of the angle by which a normal turns in a step: beyond it is another side
SAME_SIDE = 0.5
_REGULAR = 1e-6  # of a trace cubed: a smaller determinant may be round-off
_CALM = 8  # rounds with one W
# [rad/s, m/s] a projection that takes more than the swing of smooth motion: friction that locks
_STOPS = 1e-2
_LIFTS = 1e-6  # [m/s] a bias that is more than round-off
_NUDGE = 1e-4  # of the impulses, for differences
_ROUND_OFF = 2e-15  # of a position, relative
# times what is allowed is taken after the last round: nearly dependent contacts enlarge round-off
_ENLARGED = 100.0


@inlined
def push(c):
    """Return (f, g, f_cart) of all half-step impulses: sum f on the rod, sum rho f (its lever),
    sum f_xy on the cart.
    """
    f, g, cart = (0.0, 0.0, 0.0), (0.0, 0.0, 0.0), (0.0, 0.0)
    for a in range(c.count[0]):
        i = c.active[a]
        F = on_world(c, i)
        if c.rho[i] == world.ON_CART:
            cart = (cart[0] + F[0], cart[1] + F[1])
        else:
            f, g = vec.add(f, F), vec.axpy(c.rho[i], F, g)
    return f, g, cart


@part
def hold(C, c, h, t, state):
    """Make the closed contacts the active ones and return their number. Overlaps are given back at
    the rate `C.bias` / h.
    """
    x, d, count = state[0], rod_on_cart.axis(state[2]), 0
    for i in range(world.count(C)):
        if c.closed[i] == 0.0:
            put(c.P, i, (0.0, 0.0, 0.0))
            continue
        g, n, rho = world.touch(C, i, x, d, t)
        aim(c, i, count, n, rho, world.velocity(C, i))
        c.gap[i], c.turns[i] = g, 1.0 * world.has_turning_normal(C, i)
        c.law[i, 0], c.law[i, 1] = world.law(C, i)[0], C.bias * min(g, 0.0) / h
        c.rebound[i] = 0.0
        count += 1
    c.count[0] = count
    return count


@inlined
def closed_count(C, c):
    """Return how many contacts touched in the last step."""
    total = 0.0
    for i in range(world.count(C)):
        total += c.closed[i]
    return int(total)


@inlined
def relative_velocity(c, i, R, w, u):
    """Return the velocity of contact i against its obstacle, in its frame."""
    v = rod_on_cart.point_velocity(R, w, u, c.rho[i])
    return vec.sub(vec.matvec(frame(c, i), v), vector(c.moving, i))


@inlined
def gap(C, i, state, t):
    """Return g of candidate i at t."""
    return world.touch(C, i, state[0], rod_on_cart.axis(state[2]), t)[0]


@inlined
def velocity(C, c, i, h, t, start, new):
    """Return u of contact i (P.1) in its frame, in a step of h from t between two poses (x, R);
    along a normal that turns it is the rate of the gap, and the point that touches moves along the
    rod.
    """
    if c.turns[i] == 1.0:
        g, _, rho = world.touch(C, i, new[0], rod_on_cart.axis(new[1]), t + h)
        u = mean_velocity(c, i, h, 0.5 * (c.rho[i] + rho), start, new)
        return (g - c.gap[i]) / h, u[1], u[2]
    return mean_velocity(c, i, h, c.rho[i], start, new)


@inlined
def mean_velocity(c, i, h, rho, start, new):
    """Return the velocity of the height rho at contact i in a step of h, in its frame."""
    (x0, R0), (x1, R1) = start, new
    D = (x1[0] - x0[0], x1[1] - x0[1], 0.0)
    if rho != world.ON_CART:
        D = vec.axpy(rho, vec.sub(rod_on_cart.axis(R1), rod_on_cart.axis(R0)), D)
    return vec.sub(vec.scale(1.0 / h, vec.matvec(frame(c, i), D)), vector(c.moving, i))


@part
def law(system, c, h, t, start, new):
    """Do one round of (P.2), u at the present P and then P, and return the change of P relative to
    the one that is allowed.

    The change is measured against 1e-12 of P and against the round-off of (P.1), whose u is a
    difference of positions. The work of the present P is left in `c.work[1]`: 2 P.(u + T V).
    """
    c.work[1] = 0.0
    for a in range(c.count[0]):
        i = c.active[a]
        u = velocity(system.contacts, c, i, h, t, start, new)
        c.work[1] += 2.0 * vec.dot(vector(c.P, i), vec.add(u, vector(c.moving, i)))
        q = (u[0] + c.law[i, 1], u[1], u[2])
        for b in range(c.count[0]):
            q = vec.sub(q, vec.matvec(block(c, a, b), vector(c.P, c.active[b])))
        put(c.q, i, q)
    change, size = contact_law.solve(c)
    reach = system.contacts.length + abs(new[0][0]) + abs(new[0][1])
    share = c.W[0, 0] * (system.cart_mass + system.rod_mass)
    return change / (1e-12 * size + _ROUND_OFF * share * reach / h)


@part
def project_velocity(system, c, R, w, u):
    """Return the oblique projection of (w, x') on the rows of the closed contacts, and add half of
    its impulses to P.

    Only that part of it is taken which the cones allow: none pulls or exceeds its friction.
    """
    for a in range(c.count[0]):
        put(c.before, c.active[a], vector(c.P, c.active[a]))
    n = contact_law.couple_rows(system, c, R)
    if n == 0:
        return w, u
    row = 0
    for a in range(c.count[0]):
        v = relative_velocity(c, c.active[a], R, w, u)
        for k in range(contact_law.rows(c, c.active[a])):
            c.z[row] = v[k]
            row += 1
    A = vector(c.A, 0), vector(c.A, 1), vector(c.A, 2)
    size = A[0][0] + A[1][1] + A[2][2]
    if n == 1:
        c.z[0] /= c.A[0, 0]
    elif n == 3 and vec.dot(A[0], vec.cross(A[1], A[2])) > _REGULAR * size * size * size:
        c.z[0], c.z[1], c.z[2] = vec.solve(A, (c.z[0], c.z[1], c.z[2]))
    else:
        linear.solve_consistent(c.A[:n, :n], c.z[:n])
    column, part = 0, 1.0
    for b in range(c.count[0]):
        j = c.active[b]
        half = vec.scale(-0.5, contact_law.along_rows(c, j, column))
        column += contact_law.rows(c, j)
        put(c.dP, j, half)
        # where the frame has turned, all of it belongs to the second half
        more = vec.scale(2.0, half) if c.turns[j] == 1.0 else half
        part = min(part, fc3d.reach(contact_law.ROUND * c.law[j, 0], vector(c.P, j), more))
    for b in range(c.count[0]):
        j = c.active[b]
        half = vec.scale(part, vector(c.dP, j))
        f = vec.transposed_matvec(frame(c, j), vec.scale(2.0, half))
        w, u = rod_on_cart.push(system, R, w, u, f, c.rho[j])
        put(c.P, j, vec.add(vector(c.P, j), half))
        put(c.given, j, vec.add(vector(c.given, j), f))
    return w, u


@part
def stage(m, E, state, guess, push):
    """Return what `maximal_rod.stage` does, compiled once for all that call it here."""
    return maximal_rod.stage(m.system, E, m.inputs, state, guess, push)


@part
def numerical_delassus(m, E, t, state, guess):
    """Set W := du/dP of the whole step, by differences, instead of that of its start.

    Near a jam, where a rod that is almost flat sticks and the cart leans on a rail end, the O(h)
    between them decides whether rounds converge.
    """
    C, c, x, R = m.system.contacts, m.c, state[0], state[2]
    e = 1e-9 * m.system.rod_mass
    for b in range(c.count[0]):
        e += _NUDGE * vec.size(vector(c.P, c.active[b]))
    for column in range(3 * c.count[0]):
        j, k = c.active[column // 3], column % 3
        P = c.P[j, k]
        for side in (1.0, -1.0):
            c.P[j, k] = P + side * e
            new = stage(m, E, state, guess, push(c))[0]
            for a in range(c.count[0]):
                u = velocity(C, c, c.active[a], E.h, t, (x, R), (new[0], new[2]))
                for row in range(3):
                    c.W[3 * a + row, column] = (
                        u[row] if side > 0.0 else 0.5 / e * (c.W[3 * a + row, column] - u[row])
                    )
        c.P[j, k] = P


@part
def has_other_work(c):
    """Return whether 2 P.u is not all of the work: a contact gives a penetration back, or its
    frame turns in the step, so that the projection of the velocities takes what leaves the old
    one.
    """
    for a in range(c.count[0]):
        if c.law[c.active[a], 1] < -_LIFTS or c.turns[c.active[a]] == 1.0:
            return True
    return False


@part
def work(system, c, R, w, u, before):
    """Return the work [J] of the half-step impulses at R; (w, x') is the velocity `before` them
    (1.0) or after (-1.0).
    """
    total = 0.0
    for a in range(c.count[0]):
        i = c.active[a]
        f = vec.scale(0.5 * before, on_world(c, i))
        w, u = rod_on_cart.push(system, R, w, u, f, c.rho[i])
    for a in range(c.count[0]):
        i = c.active[a]
        total += vec.dot(on_world(c, i), rod_on_cart.point_velocity(R, w, u, c.rho[i]))
    return total


@inlined
def give(c, before, share):
    """Set the impulses of the step to `before` times what they are + `share` of the half-step
    ones.
    """
    for a in range(c.count[0]):
        i = c.active[a]
        put(c.given, i, vec.axpy(before, vector(c.given, i), vec.scale(share, on_world(c, i))))


@part
def turn_frames(system, c, t, start, new):
    """Return the velocities (w, x') of a new state at t where the second halves of the impulses
    act in its frames, which the contacts have from then on. Their work goes into c.work[1].
    """
    x, _, R, w, u, _ = new
    give(c, 0.0, 1.0)
    c.work[1] = work(system, c, start[2], start[3], start[4], 1.0)
    for a in range(c.count[0]):
        i = c.active[a]
        g, n, rho = world.touch(system.contacts, i, x, rod_on_cart.axis(R), t)
        if c.turns[i] == 1.0 and vec.dot(vector(c.axes[i], 0), n) > SAME_SIDE:
            w, u = rod_on_cart.push(system, R, w, u, vec.scale(-1.0, on_world(c, i)), c.rho[i])
            transport(c, i, n)
            c.rho[i] = rho
            w, u = rod_on_cart.push(system, R, w, u, on_world(c, i), rho)
    give(c, 1.0, 1.0)
    c.work[1] += work(system, c, R, w, u, -1.0)
    return w, u


@inlined
def solve(m, E, t, state, guess):
    """Return (state, turn, joint impulse, relative error of turn and of P) of one step from t with
    the active contacts. P is left in c, the impulses of the whole step in c.given, their work in
    c.work[1].
    """
    system, c = m.system, m.c
    x, Q, R, w, u, V = state
    contact_law.couple(system, c, R)
    for k in range(ROUNDS):
        if k > 0 and k % _CALM == 0:
            numerical_delassus(m, E, t, state, guess)
        new, turn, impulse = stage(m, E, state, guess, push(c))
        if not turn.error <= m.inputs.tolerance:
            if k > 0:  # under these impulses no step has a solution
                contact_state.record_failure(c, contact_state.NO_ROUNDS, c.active[0])
            return state, turn, impulse, turn.error
        guess = turn.w
        error = law(system, c, E.h, t, (x, R), (new[0], new[2]))
        if not 1.0 < error < np.inf:
            break
    if not error <= _ENLARGED:
        if error < np.inf:
            contact_state.record_failure(c, contact_state.NO_ROUNDS, c.active[0])
        return state, turn, impulse, 1e-12 * error
    is_counted = has_other_work(c)
    x, Q, R_1, w_0, u_0, V1 = new
    if is_counted:
        w_0, u_0 = turn_frames(system, c, t + E.h, state, new)
    else:
        give(c, 0.0, 2.0)
    w, u = project_velocity(system, c, R_1, w_0, u_0)
    if is_counted or vec.size(vec.sub(w, w_0)) + abs(u[0] - u_0[0]) + abs(u[1] - u_0[1]) > _STOPS:
        energy = rod_on_cart.energy(system, R_1, w, u)
        c.work[1] += energy - rod_on_cart.energy(system, R_1, w_0, u_0)
    V1 = rod_on_cart.center_velocity(system, R_1, w, u)
    impulse = vec.scale(-E.h, maximal_rod.forces(system, m.inputs.load, R_1)[0])
    for a in range(c.count[0]):
        if c.rho[c.active[a]] != world.ON_CART:
            impulse = vec.sub(impulse, vector(c.given, c.active[a]))
    change = vec.scale(system.rod_mass, vec.sub(V1, V))
    return (x, Q, R_1, w, u, V1), turn, vec.add(change, impulse), turn.error


@part
def solve_part(m, E, t, state, guess):
    """Call `solve` for all but the loop, where a step is faster without a call."""
    return solve(m, E, t, state, guess)
