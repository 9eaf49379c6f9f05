"""A step with contacts: more rows on the same equations (doc/nonsmooth.md, section 1).

The contacts' half-step impulses P push at both ends of the step of `maximal_rod.stage`. An IMPACT (not touching in
the step before) obeys Newton's law at the end velocity, a PERSISTENT contact keeps its gap over the step,

    u = D_{k+1} v_{k+1},  w = e_n min(u_N^-, 0)      impact                                               (P.1)
    u = T (r_{k+1} - r_k)/h,  w = beta min(g_k, 0)/h   persistent                                         (P.2)
    K_mu  contains  P  orthogonal to  u + (w + mu |u_T|) e_N  in  K_mu*                                   (P.3)

The smooth step is solved for given P; then P follows from (P.3) with the Delassus matrix W at k, u = u(P_old) + c W (P - P_old),
c = 2 at an impact (both half impulses reach the end velocity), 1 else. W is off by O(h), which is the factor of each round.

A persistent contact leaves the end velocity swinging about its mean. The oblique projection of the velocities on the closed
rows, along directions that keep P_T/P_N (so no friction is invented), removes that and nothing else.
"""

from typing import NamedTuple

import numpy as np

from rbdyn_ros.bodies import rod_on_cart as body
from rbdyn_ros.contacts import rod_on_cart as touching
from rbdyn_ros.contacts import world
from rbdyn_ros.geometry import vec
from rbdyn_ros.integrators import maximal_rod
from rbdyn_ros.kernel import inlined, kernel
from rbdyn_ros.numerics import linear
from rbdyn_ros.solvers import fc3d_one_contact
from rbdyn_ros.types import Array

IMPACT, PERSISTENT = 0, 1
ROUNDS, SWEEPS = 50, 200
TOLERANCE = 1e-13  # of the impulses, relative
_ROUND_OFF = 2e-15  # of a position, relative


class Memory(NamedTuple):
    """What the contacts remember from step to step, and where a step works. One row for each candidate."""

    closed: Array  # (4,) 1 it touched in the last step
    force: Array  # (4, 3) mean force on the pendulum over the last step [N, world]
    events: Array  # (m, 8) t, contact, P_n, P_t1, P_t2 [N s], u_n before, after [m/s], status
    recorded: Array  # (1,) int: impacts so far; those beyond m rows are counted only
    active: Array  # (4,) int, the contacts of this step
    mode: Array  # (4,) int
    T: Array  # (4, 3, 3) contact frames, rows n t1 t2
    rho: Array  # (4,)
    law: Array  # (4, 2) mu, w
    before: Array  # (4, 3) u^-
    P: Array  # (4, 3) half-step impulses [N s, contact frame]
    q: Array  # (4, 3)
    status: Array  # (4,) int
    A: Array  # (12, 12)
    z: Array  # (12,)


def memory(events: int = 1000) -> Memory:
    """Nothing touches, nothing happened yet; room for so many `events`."""
    n = world.COUNT
    return Memory(
        np.zeros(n), np.zeros((n, 3)), np.zeros((events, 8)), np.zeros(1, np.int64), np.zeros(n, np.int64),
        np.zeros(n, np.int64), np.zeros((n, 3, 3)), np.zeros(n), np.zeros((n, 2)), np.zeros((n, 3)), np.zeros((n, 3)),
        np.zeros((n, 3)), np.zeros(n, np.int64), np.zeros((3 * n, 3 * n)), np.zeros(3 * n),
    )  # fmt: skip


@inlined
def vector(a, i):
    """Row i of an (n, 3) array as a tuple."""
    return a[i, 0], a[i, 1], a[i, 2]


@inlined
def frame(c, i):
    """The frame of contact i as three rows."""
    return vector(c.T[i], 0), vector(c.T[i], 1), vector(c.T[i], 2)


@inlined
def put(a, i, v):
    """Row i := v."""
    a[i, 0], a[i, 1], a[i, 2] = v


@inlined
def on_world(c, i):
    """The half-step impulse of contact i in world axes, T^T P."""
    return vec.transposed_matvec(frame(c, i), vector(c.P, i))


@inlined
def push(c, count):
    """(f, g, f_cart) of all half-step impulses: sum f on the rod, sum rho f (its lever), sum f_xy on the cart."""
    f, g, cart = (0.0, 0.0, 0.0), (0.0, 0.0, 0.0), (0.0, 0.0)
    for a in range(count):
        i = c.active[a]
        F = on_world(c, i)
        if c.rho[i] == world.ON_CART:
            cart = (cart[0] + F[0], cart[1] + F[1])
        else:
            f, g = vec.add(f, F), vec.axpy(c.rho[i], F, g)
    return f, g, cart


@kernel
def detect(system, C, c, h, x, R, w, u):
    """How many contacts are active: closed at the configuration half a step ahead. Their data go into c."""
    d, count = (R[0][2], R[1][2], R[2][2]), 0
    rate = vec.matvec(R, (w[1], -w[0], 0.0))
    ahead = vec.axpy(0.5 * h, rate, d)
    ahead = vec.scale(1.0 / vec.norm(ahead), ahead)
    x_ahead = (x[0] + 0.5 * h * u[0], x[1] + 0.5 * h * u[1])
    for i in range(world.COUNT):
        if not world.exists(C, i):
            continue
        g, n, rho = world.touch(C, i, x_ahead, ahead)
        if g > 0.0:
            c.closed[i] = 0.0
            continue
        g_now = world.touch(C, i, x, d)[0]
        T = world.frame(n)
        for j in range(3):
            put(c.T[i], j, T[j])
        c.rho[i], c.active[count] = rho, i
        before = vec.matvec(T, touching.point_velocity(R, w, u, rho))
        put(c.before, i, before)
        put(c.P, i, (0.0, 0.0, 0.0))
        mu, e = world.law(C, i)
        c.mode[i] = PERSISTENT if c.closed[i] == 1.0 else IMPACT
        c.law[i, 0] = mu
        c.law[i, 1] = C.bias * min(g_now, 0.0) / h if c.closed[i] == 1.0 else e * min(before[0], 0.0)
        c.closed[i] = 1.0
        count += 1
    return count


@kernel
def law(system, c, count, h, x0, R0, x1, R1, w1, u1):
    """One round of (P.3): u at the present P, then P by Gauss-Seidel over the contacts; returns its change, 1 is allowed.

    The change is measured against 1e-12 of P and against the round-off of (P.2), whose u is a difference of positions.
    """
    for a in range(count):
        i = c.active[a]
        T, rho, P = frame(c, i), c.rho[i], vector(c.P, i)
        scale = 0.5
        u = touching.point_velocity(R1, w1, u1, rho)
        if c.mode[i] == PERSISTENT:
            scale = 1.0
            D = (x1[0] - x0[0], x1[1] - x0[1], 0.0)
            if rho != world.ON_CART:
                D = vec.axpy(rho, (R1[0][2] - R0[0][2], R1[1][2] - R0[1][2], R1[2][2] - R0[2][2]), D)
            u = vec.scale(1.0 / h, D)
        u = vec.matvec(T, u)
        q = vec.scale(scale, (u[0] + c.law[i, 1], u[1], u[2]))
        for b in range(count):
            j = c.active[b]
            W = touching.delassus(system, R0, T, rho, frame(c, j), c.rho[j])
            q = vec.sub(q, vec.matvec(W, vector(c.P, j)))
        put(c.q, i, q)
    change, size = 0.0, 1e-300
    first = True
    for _ in range(SWEEPS):
        moved = 0.0
        for a in range(count):
            i = c.active[a]
            T, rho, q = frame(c, i), c.rho[i], vector(c.q, i)
            W = touching.delassus(system, R0, T, rho, T, rho)
            for b in range(count):
                j = c.active[b]
                if j != i:
                    S = touching.delassus(system, R0, T, rho, frame(c, j), c.rho[j])
                    q = vec.add(q, vec.matvec(S, vector(c.P, j)))
            solved = fc3d_one_contact.contact(W, q, c.law[i, 0], vector(c.P, i))
            if solved.kind == fc3d_one_contact.NONE:
                return np.inf
            moved += vec.size(vec.sub(solved.r, vector(c.P, i)))
            put(c.P, i, solved.r)
            c.status[i] = solved.kind
        if first:
            change, first = moved, False
        size = 1e-300
        for a in range(count):
            size += vec.size(vector(c.P, c.active[a]))
        if not moved > TOLERANCE * size or count == 1:
            reach = system.contacts.length + abs(x1[0]) + abs(x1[1])
            allowed = 1e-12 * size + _ROUND_OFF * (system.cart_mass + system.rod_mass) * reach / h
            return change / allowed
    return np.inf


@kernel
def settle(system, c, count, R, w, u):
    """The oblique projection of (w, x') on the rows of the closed persistent contacts; adds its impulse to P / 2 each."""
    n = 0
    for a in range(count):
        i = c.active[a]
        if c.mode[i] == PERSISTENT and c.P[i, 0] > 0.0:
            n += rows(c, i)
    if n == 0:
        return w, u
    row = 0
    for a in range(count):
        i = c.active[a]
        if c.mode[i] != PERSISTENT or not c.P[i, 0] > 0.0:
            continue
        T, rho = frame(c, i), c.rho[i]
        v = vec.matvec(T, touching.point_velocity(R, w, u, rho))
        for k in range(rows(c, i)):
            c.z[row] = v[k]
            column = 0
            for b in range(count):
                j = c.active[b]
                if c.mode[j] != PERSISTENT or not c.P[j, 0] > 0.0:
                    continue
                for l in range(rows(c, j)):
                    c.A[row, column] = touching.response(system, R, T, rho, direction(c, j, l), c.rho[j])[k]
                    column += 1
            row += 1
    linear.solve_consistent(c.A[:n, :n], c.z[:n])
    column = 0
    for b in range(count):
        j = c.active[b]
        if c.mode[j] != PERSISTENT or not c.P[j, 0] > 0.0:
            continue
        for l in range(rows(c, j)):
            f = vec.scale(-c.z[column], direction(c, j, l))
            dw, du = touching.kick(system, R, f, c.rho[j])
            w, u = vec.add(w, dw), (u[0] + du[0], u[1] + du[1])
            put(c.P, j, vec.axpy(0.5, vec.matvec(frame(c, j), f), vector(c.P, j)))
            column += 1
    return w, u


@inlined
def rows(c, i):
    """3 for a sticking contact, 1 for a sliding one."""
    mu, P = c.law[i, 0], vector(c.P, i)
    return 3 if P[1] * P[1] + P[2] * P[2] < (1.0 - 1e-9) * (mu * P[0]) ** 2 else 1


@inlined
def direction(c, i, k):
    """The k-th impulse direction of contact i [world]: n, t1, t2 sticking; n + (P_T/P_N) t sliding."""
    T = frame(c, i)
    if rows(c, i) == 3:
        return T[k]
    P = vector(c.P, i)
    return vec.axpy(P[1] / P[0], T[1], vec.axpy(P[2] / P[0], T[2], T[0]))


@kernel
def stage(system, load, E, tolerance, max_iterations, u0, u1, state, guess, push):
    """`maximal_rod.stage`, compiled once for all that call it here."""
    return maximal_rod.stage(E, system, load, tolerance, max_iterations, u0, u1, state, guess, push)


@kernel
def solve(system, load, E, tolerance, max_iterations, u0, u1, state, guess, c, count):
    """One step with `count` active contacts: (state, turn, joint impulse, relative error of turn and of P)."""
    x, Q, R, w, u, V = state
    for _ in range(ROUNDS):
        f = push(c, count)
        new, turn, impulse = stage(system, load, E, tolerance, max_iterations, u0, u1, state, guess, f)
        if not turn.error <= tolerance:
            return state, turn, impulse, turn.error
        guess = turn.w
        error = law(system, c, count, E.h, x, R, new[0], new[2], new[3], new[4])
        if error <= 1.0:
            break
    x, Q, R, w, u, V1 = new
    w, u = settle(system, c, count, R, w, u)
    V1 = body.center_velocity(system, R, w, u)
    f_r = maximal_rod.forces(system, load, R)[0]
    f = push(c, count)[0]
    impulse = vec.axpy(-2.0, f, vec.axpy(-E.h, f_r, vec.scale(system.rod_mass, vec.sub(V1, V))))
    return (x, Q, R, w, u, V1), turn, impulse, turn.error if error <= 1.0 else 1e-12 * error


@kernel
def record(c, count, t, h, R, w, u):
    """Write the mean forces of the step and its impacts."""
    for a in range(count):
        i = c.active[a]
        put(c.force, i, vec.scale(2.0 / h, on_world(c, i)))
        if c.mode[i] == IMPACT and c.P[i, 0] > 0.0:
            event(c, t, i, vec.scale(2.0, vector(c.P, i)), vec.dot(vector(c.T[i], 0), touching.point_velocity(R, w, u, c.rho[i])))


@kernel
def event(c, t, i, P, after):
    """Append one impact; counted even when the rows are full."""
    k = c.recorded[0]
    if k < c.events.shape[0]:
        c.events[k, 0], c.events[k, 1] = t, i
        c.events[k, 2], c.events[k, 3], c.events[k, 4] = P
        c.events[k, 5], c.events[k, 6], c.events[k, 7] = c.before[i, 0], after, c.status[i]
    c.recorded[0] = k + 1
