"""An impact at an instant: the velocity jumps, nothing moves (doc/nonsmooth.md, Q.24).

    M (x'+ - x'-) = A^T nu + D^T P,   A x'+ = 0,    K_mu  in  P  _|_  u+ + (e min(u_N-, 0) + mu |u_T+|) e_N  in  K_mu*

over all contacts that are closed at that instant, those that rested before included.
"""

import numpy as np

from rbdyn_ros.bodies import quaternion_body as body
from rbdyn_ros.constraints import jacobian
from rbdyn_ros.constraints.rows import change, place
from rbdyn_ros.contacts import pairs as contacts
from rbdyn_ros.integrators.multibody import assembly, detection, equations, reaction
from rbdyn_ros.integrators.multibody.newton import FRICTION, FRICTION_ITERATIONS
from rbdyn_ros.kernel import kernel
from rbdyn_ros.solvers import fc3d, fc3d_hybrid

RESTING = 1e-9  # [m/s] a normal velocity after which a contact stays closed
SOLVED = 1e-8  # [m/s] residual of the friction problem that is good enough


@kernel
def record(w, t, i, P, before, after):
    """Append one impact; counted also when the rows are full."""
    k = w.recorded[0]
    if k < len(w.events):
        e = w.events[k]
        e[0], e[1], e[2], e[3], e[4], e[5], e[6] = t, i, P[0], P[1], P[2], before, after
    w.recorded[0] = k + 1


@kernel
def closed_now(plant, w, q, v):
    """Make active what touches at q, and set `w.closed` to say so; whether anything approaches there."""
    rate, approaching = jacobian.rates(q, v), False
    w.count[0] = 0
    for i in range(len(plant.pairs.kind)):
        touch = contacts.touch(plant.pairs, i, q)
        if touch.gap <= detection.TOUCHING or w.closed[i] == 1:
            detection.engage(plant.pairs, w, q, touch, i, rate)
            w.persistent[i] = 0
            approaching = approaching or w.before[i] < -RESTING
    return approaching


@kernel
def problem(plant, w, q, v, elastic):
    """(friction problem, d(x', nu)/dP (N + M, 3 count)) of the impact at (q, v); elastic = 0 leaves restitution out."""
    count, size = w.count[0], 3 * w.count[0]
    w.x[:] = q
    assembly.fill_mass(plant.bodies, plant.gamma, q, w.mass)
    assembly.fill_rows(plant.rows, q, w.A)
    assembly.fill_directions(plant.pairs, w, q, w.D)
    before = jacobian.rates(q, v).reshape(-1)
    response = equations.fill_velocity(w, w.mass @ before)
    w.rate.reshape(-1)[:] = before
    w.u[:size] = w.D[:size] @ before
    mu, q_f = np.empty(count), w.u[:size].copy()
    for at in range(count):
        mu[at] = plant.pairs.mu[w.active[at]]
        q_f[3 * at] += elastic * plant.pairs.e[w.active[at]] * min(w.u[3 * at], 0.0)
    return fc3d.Problem(w.D[:size] @ response[: len(before)], q_f, mu), response


@kernel
def apply(plant, w, t, q, v, W, response, P):
    """v after the impulses P; contacts that do not part stay closed, those that approached are written down."""
    jump, N = response @ P, len(w.p)
    w.rate.reshape(-1)[:] += jump[:N]
    reaction.add(plant, w, q, -1.0, jump[N:])
    after = w.u[: len(P)] + W @ P
    for at in range(w.count[0]):
        i = w.active[at]
        w.closed[i] = 1 if after[3 * at] <= RESTING else 0
        if w.u[3 * at] < -RESTING:
            record(w, t, i, P[3 * at : 3 * at + 3], w.u[3 * at], after[3 * at])
    write_velocity(w, q, v)


def strike(plant, w, t, q, v, elastic):
    """Resolve the impact at (q, v) in place; whether its friction problem was solved."""
    friction, response = problem(plant, w, q, v, elastic)
    P = np.zeros(len(friction.q))
    _, residual = fc3d_hybrid.iterate(friction, P, np.empty_like(P), FRICTION, FRICTION_ITERATIONS)
    apply(plant, w, t, q, v, friction.W, response, P)
    return residual * np.sqrt(np.sum(friction.q**2)) <= SOLVED


@kernel
def write_velocity(w, q, v):
    """v (n, 6) := (r', 2 L(q) q') of w.rate."""
    for i in range(len(q)):
        d = change(w.rate, i)
        v[i, :3] = w.rate[i, :3]
        Omega = body.L(place(q, i)[1], d[1])
        for j in range(3):
            v[i, 3 + j] = 2.0 * Omega[j]
