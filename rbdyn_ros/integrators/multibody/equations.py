"""The discrete equations of one step of several bodies with joints and contacts (doc/nonsmooth.md, Q.15 to Q.20).

x_m, v_m: midpoint and mean rate; F_m = dT/dx + forces there. With half-step impulses ell (rows) and P (contacts)

    R  = M(x_m) v_m - p_{k-1} - (h/2) F_m - A_{k-1}^T ell - D_{k-1}^T P = 0,     Phi(x_k) = 0
    p_k = M(x_m) v_m + (h/2) F_m + A_k^T ell + D_k^T P
    [M_k A_k^T; A_k 0] [x'_k; nu] = [p_k; 0]
    u = D_k x'_k (impact),  T (r(x_k) - r(x_{k-1}))/h (persistent);   K_mu  in  P  _|_  u + (w + mu |u_T|) e_N  in  K_mu*
"""

from typing import NamedTuple

import numpy as np

from rbdyn_ros.bodies import quaternion_body as body
from rbdyn_ros.constraints.rows import change, place, vector
from rbdyn_ros.geometry import vec
from rbdyn_ros.integrators.multibody import assembly, detection
from rbdyn_ros.kernel import kernel
from rbdyn_ros.numerics import linear
from rbdyn_ros.solvers import fc3d


class Midpoint(NamedTuple):
    """Rotational terms of one body at the middle of the step."""

    q: tuple  # q_m
    v: tuple  # v_m
    p: tuple  # M(q_m) v_m
    F: tuple  # dT/dq + 2 L^T tau


@kernel
def midpoint(J, gamma, q0, q1, h, torque):
    """The Midpoint of a body that turns from q0 to q1 under a torque [N m, body]."""
    q = body.scaled(0.5, body.plus(q0, q1))
    v = body.scaled(1.0 / h, body.plus(q1, body.scaled(-1.0, q0)))
    F = body.plus(body.energy_gradient(J, gamma, q, v), body.scaled(2.0, body.LT(q, torque)))
    return Midpoint(q, v, body.momentum(J, gamma, q, v), F)


@kernel
def fill_momenta(plant, w, h, q):
    """w.residual := p_m - p_{k-1} - (h/2) F_m,  w.p := p_m + (h/2) F_m: the bodies alone."""
    bodies = plant.bodies
    for i in range(len(q)):
        k, m, J = 7 * i, bodies.mass[i], vector(bodies.inertia, i)
        for j in range(3):
            p, F = m * (w.x[i, j] - q[i, j]) / h, m * bodies.gravity[j] + w.wrench[i, j]
            w.residual[k + j] = p - w.p_before[k + j] - 0.5 * h * F
            w.p[k + j] = p + 0.5 * h * F
        mid = midpoint(J, plant.gamma[i], place(q, i)[1], place(w.x, i)[1], h, vector(w.wrench[:, 3:], i))
        for j in range(4):
            w.residual[k + 3 + j] = mid.p[j] - w.p_before[k + 3 + j] - 0.5 * h * mid.F[j]
            w.p[k + 3 + j] = mid.p[j] + 0.5 * h * mid.F[j]


@kernel
def saddle(w):
    """[M A^T; A 0] at the end of the step."""
    N, M = len(w.p), len(w.ell)
    S = np.zeros((N + M, N + M))
    S[:N, :N] = w.mass
    S[N:, :N] = w.A
    S[:N, N:] = w.A.T
    return S


@kernel
def fill_velocity(w, p):
    """x' and nu of a momentum p (N,) at the end of the step; returns S^-1 [D^T; 0] (N + M, 3 count)."""
    N, size = len(p), 3 * w.count[0]
    found = np.zeros((N + len(w.ell), 1 + size))
    found[:N, 0] = p
    found[:N, 1:] = w.D[:size].T
    linear.solve_columns(saddle(w), found)
    w.rate.reshape(-1)[:] = found[:N, 0]
    w.nu[:] = found[N:, 0]
    return np.ascontiguousarray(found[:, 1:])


@kernel
def fill_contact_velocities(plant, w, h, q):
    """w.u: the velocities that the contact law speaks of."""
    for at in range(w.count[0]):
        i = w.active[at]
        if w.persistent[i] == 1:
            d = vec.sub(assembly.separation(plant.pairs, w, w.x, i), assembly.separation(plant.pairs, w, q, i))
            for k in range(3):
                w.u[3 * at + k] = vec.dot(vector(w.frame[i], k), d) / h
        else:
            w.u[3 * at], w.u[3 * at + 1], w.u[3 * at + 2] = detection.velocity(plant.pairs, w, w.x, w.rate, i)


@kernel
def evaluate(plant, w, h, q):
    """Everything at (w.x, w.ell, w.P) for a step of h from q; returns S^-1 [D^T; 0]."""
    size = 3 * w.count[0]
    assembly.fill_rows(plant.rows, w.x, w.A)
    assembly.fill_values(plant.rows, w.x, w.phi)
    assembly.fill_directions(plant.pairs, w, w.x, w.D)
    assembly.fill_mass(plant.bodies, plant.gamma, w.x, w.mass)
    fill_momenta(plant, w, h, q)
    w.residual[:] -= w.A_before.T @ w.ell + w.D_before[:size].T @ w.P[:size]
    w.p[:] += w.A.T @ w.ell + w.D[:size].T @ w.P[:size]
    response = fill_velocity(w, w.p)
    fill_contact_velocities(plant, w, h, q)
    return response


@kernel
def error(plant, w, h):
    """The largest of R over the mass, Phi over h, and the contact law's natural map, as a velocity; nan stays nan."""
    worst = 0.0
    for i in range(len(w.x)):
        m, J = plant.bodies.mass[i], plant.bodies.inertia[i]
        largest = 4.0 * max(J[0], J[1], J[2])
        for j in range(7):
            e = abs(w.residual[7 * i + j]) / (m if j < 3 else largest)
            worst = e if not e <= worst else worst
    for i in range(len(w.phi)):
        e = abs(w.phi[i]) / h
        worst = e if not e <= worst else worst
    for at in range(w.count[0]):
        i = w.active[at]
        u = w.u[3 * at] + w.bias[i], w.u[3 * at + 1], w.u[3 * at + 2]
        e = vec.norm(fc3d.natural(fc3d.part(w.P, at), u, plant.pairs.mu[i], 1.0 / plant.bodies.mass[plant.pairs.a[i]]))
        worst = e if not e <= worst else worst
    return worst


@kernel
def fill_midpoint_gradients(plant, w, h, q, dp, dF):
    """dp := dp_m/dx_k,  dF := dF_m/dx_k (N, N), x_m and v_m moving by 1/2 and 1/h."""
    for i in range(len(q)):
        k, J, gamma = 7 * i, vector(plant.bodies.inertia, i), plant.gamma[i]
        torque = vector(w.wrench[:, 3:], i)
        mid = midpoint(J, gamma, place(q, i)[1], place(w.x, i)[1], h, torque)
        for j in range(7):
            r, d = assembly.unit(j)
            half, rate = body.scaled(0.5, d), body.scaled(1.0 / h, d)
            by_p = body.plus(body.momentum(J, gamma, mid.q, rate), body.momentum_gradient(J, gamma, mid.q, mid.v, half))
            by_F = body.energy_gradient_rate(J, gamma, mid.q, mid.v, half, rate)
            by_F = body.plus(by_F, body.scaled(2.0, body.LT(half, torque)))
            assembly.accumulate(dp[:, k + j], i, vec.scale(plant.bodies.mass[i] / h, r), by_p)
            assembly.accumulate(dF[:, k + j], i, (0.0, 0.0, 0.0), by_F)


@kernel
def contact_gradient(plant, w, h, q, dp, dF, response):
    """(c^T, N): du = c^T dx + N dP (3 count, N), (3 count, 3 count), with x'_k moving by the saddle system."""
    n_x, size, pairs = len(w.p), 3 * w.count[0], plant.pairs
    C, own, G = np.zeros((size, n_x)), np.zeros((size, size)), np.empty((3, n_x))
    through = w.D[:size] @ response[:n_x]
    E = dp + 0.5 * h * dF
    assembly.add_curvature(plant.rows, w.x, w.ell - w.nu, E)
    assembly.add_contact_curvature(pairs, w, w.x, E)
    subtract_mass_gradient(plant, w, E)
    V = np.empty_like(w.A)
    assembly.fill_row_rates(plant.rows, w.x, w.rate, V)
    moving = response[:n_x].T @ E - response[n_x:].T @ V
    for at in range(w.count[0]):
        rows = slice(3 * at, 3 * at + 3)
        if w.persistent[w.active[at]] == 1:
            assembly.fill_displacements(pairs, w, w.x, at, G)
            C[rows] = G / h
        else:
            assembly.fill_velocity_gradient(pairs, w, w.x, w.rate, at, G)
            C[rows] = moving[rows] + G
            own[rows] = through[rows]
    return C, own


@kernel
def subtract_mass_gradient(plant, w, E):
    """E -= d(M x'_k)/dx."""
    for i in range(len(w.x)):
        J, Q, v = vector(plant.bodies.inertia, i), place(w.x, i)[1], change(w.rate, i)[1]
        for j in range(3, 7):
            d = assembly.unit(j)[1]
            change_of_p = body.momentum_gradient(J, plant.gamma[i], Q, v, d)
            assembly.accumulate(E[:, 7 * i + j], i, (0.0, 0.0, 0.0), body.scaled(-1.0, change_of_p))
