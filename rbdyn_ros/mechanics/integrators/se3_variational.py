"""CGDVIE3 as it was meant: variational steps on SE(3) in the logarithm, the joint held by a
multiplier.

The rod's pose T = (R, r) at its center of mass and the cart x, joined by phi = r - R c - (x, 0) =
0. With A_T = [R c^, R] (its left-trivialized derivative) a step solves for V (6), the cart's mean
velocity w (2) and lam (3)

    r1 = dlog_{hV}^T G V + (d/2) h w - mu_k - (h/2) F_k - h A_T(T_k)^T lam                    (8.5)
    r2 = (M + b h/2) w - pi_k - (h/2) u_k + h lam_xy
    r3 = phi(T_k exp(hV), x_k + h w) / h

by Newton on the 11 x 11 matrix; lam is the joint's force on the rod. The momenta at k+1 are freed
of their part along the joint by the velocities that they belong to. Order 2, exact momenta,
bounded energy. For a thin rod it is a poor choice: the logarithm adds the axial inertia h^2/12
(I_t + m l^2 - I_a) |w_perp|^2, and the spin lags (use moser_veselov).
"""

import math
from typing import NamedTuple

import numpy as np

from rbdyn_ros.geometry import twist, unit_quaternion, vec
from rbdyn_ros.kernel import inlined, kernel
from rbdyn_ros.mechanics.integrators import boundary, discrete_twist
from rbdyn_ros.mechanics.pendulum import rod_on_cart
from rbdyn_ros.numerics import linear
from rbdyn_ros.types import Array

ORDER = 2
SYMMETRIC = True


class Options(NamedTuple):
    """What the solve needs; `weights` are the stages of a symmetric composition, ones sum."""

    weights: Array  # (s,) fractions of h
    tolerance: float  # relative residual of the discrete equations
    max_iterations: int


@inlined
def wrench(system, load, Q):
    """F - T*dP at the centre of mass [body]: (R^T T + (r - c) x R^T F, R^T (F - m g e3))."""
    F = unit_quaternion.inverse_rotate(Q, load.F)
    arm = vec.sub(load.r, (0.0, 0.0, system.center))
    f = unit_quaternion.inverse_rotate(
        Q, (load.F[0], load.F[1], load.F[2] - system.rod_mass * system.gravity)
    )
    return vec.add(unit_quaternion.inverse_rotate(Q, load.T), vec.cross(arm, F)), f


@inlined
def joint_wrench(system, Q, lam):
    """A_T^T lam = (R^T lam x c, R^T lam) [body]: the joint's force at -c from the centre of
    mass.
    """
    f = unit_quaternion.inverse_rotate(Q, lam)
    l = system.center
    return (l * f[1], -l * f[0], 0.0), f


@kernel
def residual(system, h, V, w, lam, Q, left, pi):
    """(r1, r2, r3, exp(hV)) of (8.5); left = mu_k + (h/2) F_k, pi = pi_k + (h/2) u_k.

    The state at k satisfies the joint.
    """
    I, m, l = system.inertia, system.rod_mass, system.center
    xi = discrete_twist.scale(h, V)
    mu = twist.dlog_transposed(xi, discrete_twist.metric(I, m, V))
    J = joint_wrench(system, Q, vec.scale(h, lam))
    damping = vec.scale(0.5 * h * system.joint_damping, V[0])
    r1 = (
        vec.add(damping, vec.sub(vec.sub(mu[0], left[0]), J[0])),
        vec.sub(vec.sub(mu[1], left[1]), J[1]),
    )
    Mb = system.cart_mass + 0.5 * h * system.cart_damping
    r2 = (Mb * w[0] - pi[0] + h * lam[0], Mb * w[1] - pi[1] + h * lam[1])
    F, Dr = twist.exp(xi)
    moved = vec.sub(vec.add(Dr, (0.0, 0.0, l)), unit_quaternion.rotate(F, (0.0, 0.0, l)))
    gap = vec.sub(unit_quaternion.rotate(Q, moved), (h * w[0], h * w[1], 0.0))
    return r1, r2, vec.scale(1.0 / h, gap), (F, Dr)


@kernel
def saddle(system, h, V, Q, F, K, S):
    """S (11, 11) := the Jacobian of (8.5) in (V, w, lam); K (6, 6) is scratch."""
    l = system.center
    discrete_twist.momentum_jacobian(system.inertia, system.rod_mass, h, V, K)
    S[:] = 0.0
    S[:6, :6] = K
    for i in range(3):
        S[i, i] += 0.5 * h * system.joint_damping
    R0 = unit_quaternion.matrix(Q)
    R1 = unit_quaternion.matrix(unit_quaternion.product(Q, F))
    back = discrete_twist.scale(-h, V)
    for i in range(3):
        # - h A_T(T_k)^T: column i is minus h times the joint wrench of e_i
        f = R0[i]
        S[0, 8 + i], S[1, 8 + i] = -h * l * f[1], h * l * f[0]
        S[3, 8 + i], S[4, 8 + i], S[5, 8 + i] = -h * f[0], -h * f[1], -h * f[2]
    for j in range(6):
        # A_T(T_{k+1}) dexp_{-hV}: dphi = R (b + c x a) for the body variation (a, b)
        a, b = twist.dexp(back, discrete_twist.basis(j))
        d = vec.matvec(R1, vec.add(b, (-l * a[1], l * a[0], 0.0)))
        S[8, j], S[9, j], S[10, j] = d
    Mb = system.cart_mass + 0.5 * h * system.cart_damping
    for i in range(2):
        S[6 + i, 6 + i] = Mb
        S[6 + i, 8 + i] = h
        S[8 + i, 6 + i] = -1.0
        if system.cart_free == 0.0:
            S[6 + i, :] = 0.0
            S[6 + i, 6 + i] = 1.0


@kernel
def solve(system, options, h, Q, left, pi, guess, work):
    """Solve (8.5) by Newton's method from the guess (V, w, lam): ((V, w, lam), exp(hV), (r1, r2),
    iterations, relative residual).

    The joint's gap is measured against the rod's length, the momenta against their own size. work
    is room for matrices (6, 6), (11, 11) and a right-hand side (11,).
    """
    (V, w, lam), (K, S, z), iterations = guess, work, 0
    i_scale = 1.0 / (vec.size(left[0]) + vec.size(left[1]) + abs(pi[0]) + abs(pi[1]) + 1e-300)
    while True:
        r1, r2, r3, step = residual(system, h, V, w, lam, Q, left, pi)
        if system.cart_free == 0.0:
            r2 = w
        gap = abs(h) * vec.size(r3) / (system.center + abs(h) * vec.size(V[1]) + 1e-300)
        error = max((vec.size(r1[0]) + vec.size(r1[1]) + abs(r2[0]) + abs(r2[1])) * i_scale, gap)
        if not error > options.tolerance or iterations == options.max_iterations:
            return (V, w, lam), step, (r1, r2), iterations, error
        saddle(system, h, V, Q, step[0], K, S)
        z[0], z[1], z[2] = r1[0]
        z[3], z[4], z[5] = r1[1]
        z[6], z[7] = r2
        z[8], z[9], z[10] = r3
        linear.solve_in_place(S, z)
        V = (vec.sub(V[0], (z[0], z[1], z[2])), vec.sub(V[1], (z[3], z[4], z[5])))
        w = (w[0] - z[6], w[1] - z[7])
        lam = vec.sub(lam, (z[8], z[9], z[10]))
        iterations += 1


@inlined
def stage(system, options, load, h, forces, state, guess, work):
    """Take one step of (8.5) from the state (x, Q, w, u) under the cart's forces at its two ends:
    (state, (V, w, lam), iterations, error).

    What Newton leaves of r1 and r2 is handed on to the momenta at k+1: they are exact whatever the
    tolerance.
    """
    (x, Q, w, u), (u0, u1) = state, forces
    m, half, d = system.rod_mass, 0.5 * h, system.joint_damping
    R = unit_quaternion.matrix(Q)
    Vc = unit_quaternion.inverse_rotate(Q, rod_on_cart.center_velocity(system, R, w, u))
    mu = discrete_twist.metric(system.inertia, m, (w, Vc))
    left = discrete_twist.sum(mu, discrete_twist.scale(half, wrench(system, load, Q)))
    pi = (system.cart_mass * u[0] + half * u0[0], system.cart_mass * u[1] + half * u0[1])
    guess, step, (r1, r2), iterations, error = solve(system, options, h, Q, left, pi, guess, work)
    V, c, _ = guess
    x = (x[0] + h * c[0], x[1] + h * c[1])
    Q = unit_quaternion.renormalize(unit_quaternion.product(Q, step[0]))
    R = unit_quaternion.matrix(Q)
    mu = twist.dlog_transposed(
        discrete_twist.scale(-h, V), discrete_twist.metric(system.inertia, m, V)
    )
    mu = discrete_twist.sum(mu, discrete_twist.scale(half, wrench(system, load, Q)))
    mu = discrete_twist.sum(mu, discrete_twist.scale(-1.0, twist.Ad_transposed(step, r1)))
    p = vec.axpy(-half * d, V[0], vec.add(mu[0], vec.cross((0.0, 0.0, system.center), mu[1])))
    f = vec.matvec(R, mu[1])
    b = half * system.cart_damping
    Mb = system.cart_mass - b
    P = (Mb * c[0] + half * u1[0] + f[0] - r2[0], Mb * c[1] + half * u1[1] + f[1] - r2[1])
    w, u = rod_on_cart.velocities(system, R, p, P)
    return (x, Q, w, u), guess, iterations, error


@kernel
def advance(system, options, input, h, n, state, reaction):
    """Take n steps of size h in place; returns (steps done, iterations, largest relative
    residual).

    A step that turns the rod by pi rad or more stops it: residual inf, and the state before it.
    """
    t, q, v = state
    x, Q, w, u = boundary.read(q, v)
    load, sines, weights = rod_on_cart.load(input), input.sines, options.weights
    work = np.empty((6, 6)), np.empty((11, 11)), np.empty(11)
    u = (system.cart_free * u[0], system.cart_free * u[1])
    u1 = rod_on_cart.cart_force(load, rod_on_cart.sines_at(sines, t))
    V = unit_quaternion.inverse_rotate(
        Q, rod_on_cart.center_velocity(system, unit_quaternion.matrix(Q), w, u)
    )
    guess = ((w, V), u, (0.0, 0.0, 0.5 * system.rod_mass * system.gravity))
    here, iterations, worst = (x, Q, w, u), 0, 0.0
    for i in range(n):
        start, s = here, t + i * h
        for j in range(weights.shape[0]):
            hj = h * weights[j]
            s += hj
            u0 = u1
            if sines.shape[0] > 0:
                u1 = rod_on_cart.cart_force(load, rod_on_cart.sines_at(sines, s))
            here, guess, count, error = stage(
                system, options, load, hj, (u0, u1), here, guess, work
            )
            iterations += count
            if not abs(hj) * vec.size(guess[0][0]) < math.pi:
                error = math.inf  # the logarithm of such a turn is that of a shorter one
            if not error <= options.tolerance:
                boundary.write(q, v, *start)
                return i, iterations, error
            worst = max(worst, error)
        if i == n - 1:
            boundary.write_reaction(
                reaction, rod_on_cart.joint_force(system, load, start[1:], here[1:], h)
            )
    boundary.write(q, v, *here)
    return n, iterations, worst
