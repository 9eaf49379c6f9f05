"""Newton's method for the step's equations, with the friction problem inside (doc/nonsmooth.md, Q.21, Q.22).

Linearised, R and Phi give dy = -J^-1 (residual + B dP) for y = (x, ell), and the contact velocities become u = W P + q_f:

    W = N - c^T J^-1 B,    q_f = u + w e_N - c^T J^-1 residual - W P

a friction problem in P alone, solved as such; dy follows. Quadratic, because every gradient is exact.
"""

import numpy as np

from rbdyn_ros.constraints.jacobian import rates
from rbdyn_ros.integrators.multibody import assembly, detection, equations
from rbdyn_ros.kernel import kernel
from rbdyn_ros.numerics import linear
from rbdyn_ros.solvers import fc3d, fc3d_hybrid

FRICTION = 1e-12  # residual of the inner friction problem, relative
FRICTION_ITERATIONS = 500
ROUND_OFF = 20 * np.finfo(float).eps


@kernel
def jacobian(w, dp, dF, h):
    """[dp_m - (h/2) dF_m, -A_{k-1}^T; A_k, 0]."""
    N, M = len(w.p), len(w.ell)
    J = np.zeros((N + M, N + M))
    J[:N, :N] = dp - 0.5 * h * dF
    J[:N, N:] = -w.A_before.T
    J[N:, :N] = w.A
    return J


@kernel
def correct(plant, w, h, q, response):
    """One Newton step in place."""
    N, M, size = len(w.p), len(w.ell), 3 * w.count[0]
    dp, dF = np.zeros((N, N)), np.zeros((N, N))
    equations.fill_midpoint_gradients(plant, w, h, q, dp, dF)
    found = np.zeros((N + M, 1 + size))
    found[:N, 0], found[N:, 0] = w.residual, w.phi
    found[:N, 1:] = -w.D_before[:size].T
    linear.solve_columns(jacobian(w, dp, dF, h), found)
    dy, by_P = -found[:, 0], np.ascontiguousarray(found[:, 1:])
    if size > 0:
        P = friction(plant, w, equations.contact_gradient(plant, w, h, q, dp, dF, response), dy, by_P)
        dy -= by_P @ (P - w.P[:size])
        w.P[:size] = P
    w.x.reshape(-1)[:] += dy[:N]
    w.ell[:] += dy[N:]


@kernel
def friction(plant, w, gradient, dy, by_P):
    """The impulses of the linearised problem: the step is dy (N + M,) if they stay, and by_P (N + M, 3 count) less for each that is added."""
    (C, own), N, size = gradient, len(w.p), 3 * w.count[0]
    W = own - C @ by_P[:N]
    q_f = w.u[:size] + C @ dy[:N] - W @ w.P[:size]
    mu = np.empty(w.count[0])
    for at in range(len(mu)):
        mu[at] = plant.pairs.mu[w.active[at]]
        q_f[3 * at] += w.bias[w.active[at]]
    r = w.P[:size].copy()
    most = np.int64(FRICTION_ITERATIONS)  # as a literal it would compile the solver once more
    fc3d_hybrid.iterate(fc3d.Problem(W, q_f, mu), r, np.empty_like(r), FRICTION, most)
    return r


@kernel
def prepare(plant, w, h, q, v):
    """Momentum, rows and directions where the step starts; x ahead as a guess; no impulses."""
    pairs, rate = plant.pairs, rates(q, v)
    assembly.fill_mass(plant.bodies, plant.gamma, q, w.mass)
    w.p_before[:] = w.mass @ rate.reshape(-1)
    assembly.fill_rows(plant.rows, q, w.A_before)
    assembly.fill_directions(pairs, w, q, w.D_before)
    w.x[:] = detection.moved(q, v, h)
    w.ell[:] = 0.0
    w.P[:] = 0.0


@kernel
def solve(plant, options, w, h, q, v):
    """(iterations, error, ok) of the step of h from (q, v) with the contacts that are active; the end is in w.

    More contacts than are needed, some of them slipping by nanometres, leave friction's Newton at a kink: an error below
    `options.stalled` that falls no more is taken. The momentum at the end leaves R out: what round-off puts into x/h does not reach the velocity.
    """
    prepare(plant, w, h, q, v)
    enough = max(options.tolerance, ROUND_OFF * (1.0 + np.abs(q).max()) / h)
    before = np.inf
    for iteration in range(options.max_iterations + 1):
        response = equations.evaluate(plant, w, h, q)
        error = equations.error(plant, w, h)
        if error <= enough or (error <= options.stalled and error > 0.5 * before):
            equations.fill_velocity(w, w.p - w.residual)
            return iteration, error, True
        if iteration == options.max_iterations or not np.isfinite(error):
            break
        before = error
        correct(plant, w, h, q, response)
    return iteration, error, False
