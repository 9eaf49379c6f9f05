"""RATTLE for a rod without spin: the cart on the plane, the rod's direction n on the sphere. Explicit, order 2.

For w_3 = 0 the rod is its direction n = R e3, and with J = I_t + m l^2 its Lagrangian has a constant mass matrix,

    L = (M + m)/2 |x'|^2 + m l x'.n'_xy + J/2 |n'|^2 - m g l n_3,      |n| = 1.                          (5.1)

A step solves, with the multiplier lam of |n| = 1 and the cart eliminated, Mt = M + m + b h/2,

    K Dn / h = c + lam n_k,   K = J + d h/2 - (m l)^2/Mt diag(1, 1, 0),   c = p_n + (h/2) f_n - (m l/Mt) (P_h, 0)   (5.2)

|n_k + Dn| = 1 makes this one quadratic equation for lam; the velocity at k+1 is projected on n.n' = 0.
The map equals that of Moser and Veselov at v_3 = 0. It is the discrete pitch-cone integrator without its chart.
"""

from math import sqrt
from typing import NamedTuple

import numpy as np

from rbdyn_ros.bodies import rod_on_cart
from rbdyn_ros.geometry import unit_quaternion, vec
from rbdyn_ros.integrators import memory
from rbdyn_ros.kernel import inlined, kernel
from rbdyn_ros.types import Array, Input, State, System

ORDER = 2
SYMMETRIC = True


class Options(NamedTuple):
    """`weights` are the stages of a symmetric composition; nothing is iterated."""

    weights: Array  # (s,) fractions of h
    attitude: int  # 1 carries R along without spin, 0 only the direction n (then R is the shortest turn over the call)


def check(system: System, state: State, input: Input) -> None:
    """ValueError unless the rod is axisymmetric, does not spin, and nothing would make it spin."""
    I, F = system.inertia, input.disturbance
    if abs(I[0] - I[1]) > 1e-12 * max(I):
        raise ValueError(f"rattle_s2 needs an axisymmetric rod; rod.inertia is {I}")
    if abs(state.v[4]) > 1e-12:
        raise ValueError(f"rattle_s2 is for a rod without spin; initial.angular_velocity[2] is {state.v[4]:g} rad/s")
    if np.any(F[3:6] != 0.0) or np.any(F[6:8] != 0.0):
        raise ValueError("rattle_s2 takes a disturbance force on the rod's axis only, no torque")


@inlined
def constants(system, h):
    """(1/h, 1/Mt, K^-1, d/2, J) of (5.2) for a step of h; 1/Mt = 0 for a fixed cart."""
    m, l = system.rod_mass, system.center
    J = system.inertia[0] + m * l * l
    i_Mt = system.cart_free / (system.cart_mass + m + 0.5 * h * system.cart_damping)
    damped = J + 0.5 * h * system.joint_damping
    across = 1.0 / (damped - (m * l) * (m * l) * i_Mt)
    return 1.0 / h, i_Mt, (across, across, 1.0 / damped), J


@inlined
def velocities(system, n, p_n, P):
    """(n', x') of the momenta, on n.n' = 0: K_0 n' = p_n - (m l/(M + m)) (P, 0) + mu n, K_0 = K at h = 0."""
    m, l = system.rod_mass, system.center
    ml = m * l
    J = system.inertia[0] + ml * l
    i_M = system.cart_free / (system.cart_mass + m)
    i_K = (1.0 / (J - ml * ml * i_M), 1.0 / (J - ml * ml * i_M), 1.0 / J)
    free = vec.times(i_K, (p_n[0] - ml * i_M * P[0], p_n[1] - ml * i_M * P[1], p_n[2]))
    i_Kn = vec.times(i_K, n)
    dn = vec.axpy(-vec.dot(n, free) / vec.dot(n, i_Kn), i_Kn, free)
    return dn, (i_M * (P[0] - ml * dn[0]), i_M * (P[1] - ml * dn[1]))


@inlined
def momenta(system, dn, u):
    """(p_n, P) of the velocities."""
    ml = system.rod_mass * system.center
    J = system.inertia[0] + ml * system.center
    M = system.cart_mass + system.rod_mass
    return vec.axpy(J, dn, (ml * u[0], ml * u[1], 0.0)), (M * u[0] + ml * dn[0], M * u[1] + ml * dn[1])


@inlined
def stage(system, numbers, h, f_n, U0, U1, n, dn, u):
    """One step of (5.2) from the direction n, its rate and the cart velocity: (Dx, n, n', x', |quadratic residual|)."""
    i_h, i_Mt, i_K, J = numbers
    half = 0.5 * h
    ml, d, b = system.rod_mass * system.center, system.joint_damping, system.cart_damping
    p_n, P = momenta(system, dn, u)
    Ph = (P[0] + half * U0[0], P[1] + half * U0[1])
    c = vec.axpy(half, f_n, (p_n[0] - ml * i_Mt * Ph[0], p_n[1] - ml * i_Mt * Ph[1], p_n[2]))
    # |n + h K^-1 (c + lam n)| = 1 with a = n + h K^-1 c, e = h K^-1 n:  e.e lam^2 + 2 a.e lam + a.a - 1 = 0
    Kc, e = vec.scale(h, vec.times(i_K, c)), vec.scale(h, vec.times(i_K, n))
    a = vec.add(n, Kc)
    A, B, C = vec.dot(e, e), vec.dot(a, e), vec.dot(Kc, Kc) + 2.0 * vec.dot(n, Kc)
    root = sqrt(B * B - A * C)
    lam = -C / (B + root) if B > 0.0 else -C / (B - root)
    Dn = vec.axpy(lam, e, Kc)
    Dx = (i_Mt * (h * Ph[0] - ml * Dn[0]), i_Mt * (h * Ph[1] - ml * Dn[1]))
    n = vec.add(n, Dn)
    n = vec.scale(1.5 - 0.5 * vec.dot(n, n), n)
    f = J * i_h - 0.5 * d
    p_n = vec.axpy(f, Dn, vec.axpy(half, f_n, (ml * i_h * Dx[0], ml * i_h * Dx[1], 0.0)))
    P = (Ph[0] - b * Dx[0] + half * U1[0], Ph[1] - b * Dx[1] + half * U1[1])
    dn, u = velocities(system, n, p_n, P)
    return Dx, n, dn, u


@inlined
def turn(n0, n1):
    """The shortest rotation from n0 to n1 as a world quaternion: (1 + n0.n1, n0 x n1), normalised."""
    c = vec.cross(n0, n1)
    return unit_quaternion.normalized((1.0 + vec.dot(n0, n1), c[0], c[1], c[2]))


@kernel
def advance(system, options, input, h, n, t, q, v, reaction):
    """Take n steps of size h in place; returns (steps done, 0 iterations, residual 0).

    A step so large that (5.2) has no solution stops it: residual nan.
    """
    x, Q, w, u = memory.read(q, v)
    load, sines, weights = rod_on_cart.load(input), input.sines, options.weights
    R = unit_quaternion.matrix(Q)
    d = (R[0][2], R[1][2], R[2][2])
    u = (system.cart_free * u[0], system.cart_free * u[1])
    dd = vec.matvec(R, (w[1], -w[0], 0.0))
    f_n = vec.axpy(load.r[2], load.F, (0.0, 0.0, -system.rod_mass * system.gravity * system.center))
    U1 = rod_on_cart.horizontal(load, rod_on_cart.sines_at(sines, t))
    first = d
    for i in range(n):
        x0, Q0, d0, dd0, u0, s = x, Q, d, dd, u, t + i * h
        for j in range(weights.shape[0]):
            hj = h * weights[j]
            s += hj
            U0, before = U1, d
            if sines.shape[0] > 0:
                U1 = rod_on_cart.horizontal(load, rod_on_cart.sines_at(sines, s))
            Dx, d, dd, u = stage(system, constants(system, hj), hj, f_n, U0, U1, d, dd, u)
            x = (x[0] + Dx[0], x[1] + Dx[1])
            if options.attitude == 1:
                Q = unit_quaternion.product(turn(before, d), Q)
        if not vec.size(d) < 4.0:
            Q0 = Q0 if options.attitude == 1 else unit_quaternion.product(turn(first, d0), Q0)
            memory.write(q, v, x0, Q0, body_rate(Q0, d0, dd0), u0)
            return i, 0, np.nan
        if i == n - 1:
            l = system.center
            V0 = (u0[0] + l * dd0[0], u0[1] + l * dd0[1], l * dd0[2])
            V1 = (u[0] + l * dd[0], u[1] + l * dd[1], l * dd[2])
            weight = vec.sub((0.0, 0.0, system.rod_mass * system.gravity), load.F)
            memory.write_reaction(reaction, vec.axpy(system.rod_mass / h, vec.sub(V1, V0), weight))
    if options.attitude == 0:
        Q = unit_quaternion.product(turn(first, d), Q)
    Q = unit_quaternion.normalized(Q)
    memory.write(q, v, x, Q, body_rate(Q, d, dd), u)
    return n, 0, 0.0


@inlined
def body_rate(Q, d, dd):
    """w = R^T (n x n'), without spin."""
    w = unit_quaternion.rotated_back(Q, vec.cross(d, dd))
    return (w[0], w[1], 0.0)
