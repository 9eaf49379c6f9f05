"""RATTLE for a rod without spin: the cart on the plane, the rod's direction k on the sphere.

Explicit, order 2.

For w_3 = 0 the rod is its direction k = R e3, and with J = I_t + m l^2 its Lagrangian has a
constant mass matrix,

    L = (M + m)/2 |x'|^2 + m l x'.k'_xy + J/2 |k'|^2 - m g l k_3,      |k| = 1.               (5.1)

A step solves, with the multiplier lam of |k| = 1 and the cart eliminated, Mt = M + m + b h/2,

    K Dk / h = c + lam k_0,   K = J + d h/2 - (m l)^2/Mt diag(1, 1, 0),
    c = p_k + (h/2) f_k - (m l/Mt) (p_xh, 0)                                                  (5.2)

|k_0 + Dk| = 1 makes this one quadratic equation for lam. The momenta are carried on as they come,

    p_k' = p_k + (h/2) (f_k + f_k') + lam k_0 - d Dk,
    p_x' = p_x + (h/2) (U_k + U_{k+1}) - b Dx,                                                (5.3)

and become velocities, on k.k' = 0, where they are needed. The map equals that of Moser and
Veselov at v_3 = 0. It is the discrete pitch-cone integrator without its chart.
"""

from math import sqrt
from typing import NamedTuple

import numpy as np

from rbdyn_ros.geometry import unit_quaternion, vec, vec2
from rbdyn_ros.integrators import boundary, friction_steps
from rbdyn_ros.kernel import inlined, kernel
from rbdyn_ros.pendulum import coulomb_friction, rod_on_cart
from rbdyn_ros.types import Array, Input, State, System

ORDER = 2
SYMMETRIC = True
FRICTION = True  # `advance` has that of cart and joint


class Options(NamedTuple):
    """Options of the method; `weights` are the stages of a symmetric composition; nothing is
    iterated.
    """

    weights: Array | tuple[float]  # (s,) fractions of h
    # 1 carries R along without spin, 0 only the direction k (then R is the shortest turn over the
    # call)
    attitude: int


def check(system: System, state: State, input: Input) -> None:
    """Raise ValueError unless the rod is axisymmetric, does not spin, and nothing would make it
    spin.
    """
    I, F = system.inertia, input.disturbance
    if abs(I[0] - I[1]) > 1e-12 * max(I):
        raise ValueError(f"rattle_s2 needs an axisymmetric rod; rod.inertia is {I}")
    if abs(state.v[4]) > 1e-12:
        raise ValueError(
            "rattle_s2 is for a rod without spin; initial.angular_velocity[2] is "
            f"{state.v[4]:g} rad/s"
        )
    if np.any(F[3:6] != 0.0) or np.any(F[6:8] != 0.0):
        raise ValueError("rattle_s2 takes a disturbance force on the rod's axis only, no torque")


class RattleEquations(NamedTuple):
    """The numbers of (5.2) for a step of h [s]."""

    h: float
    i_K: tuple  # h K^-1 [s/(kg m^2)]
    ml: float  # m l [kg m]
    i_Mt: float  # 1/Mt [1/kg], 0 for a fixed cart
    damping: float  # d
    cart_damping: float  # b


@inlined
def equations(system, h):
    """Return the numbers of a step of size h."""
    m, l, d = system.rod_mass, system.center, system.joint_damping
    i_Mt = system.cart_free / (system.cart_mass + m + 0.5 * h * system.cart_damping)
    K = system.inertia[0] + m * l * l + 0.5 * h * d
    across = h / (K - (m * l) * (m * l) * i_Mt)
    return RattleEquations(h, (across, across, h / K), m * l, i_Mt, d, system.cart_damping)


@inlined
def velocities(system, k, p_k, p_x):
    """Return (k', x') of the momenta, on k.k' = 0: K_0 k' = p_k - (m l/(M + m)) (p_x, 0) + nu k,
    K_0 = K at h = 0.
    """
    m, l = system.rod_mass, system.center
    ml = m * l
    J = system.inertia[0] + ml * l
    i_M = system.cart_free / (system.cart_mass + m)
    i_K = (1.0 / (J - ml * ml * i_M), 1.0 / (J - ml * ml * i_M), 1.0 / J)
    free = vec.times(i_K, (p_k[0] - ml * i_M * p_x[0], p_k[1] - ml * i_M * p_x[1], p_k[2]))
    i_Kk = vec.times(i_K, k)
    dk = vec.axpy(-vec.dot(k, free) / vec.dot(k, i_Kk), i_Kk, free)
    return dk, vec2.scale(i_M, vec2.sub(p_x, vec2.scale(ml, dk)))


@inlined
def momenta(system, dk, u):
    """Return (p_k, p_x) of the velocities."""
    ml = system.rod_mass * system.center
    J = system.inertia[0] + ml * system.center
    p_x = vec2.axpy(system.cart_mass + system.rod_mass, u, vec2.scale(ml, dk))
    return vec.axpy(J, dk, (ml * u[0], ml * u[1], 0.0)), p_x


@inlined
def stage(E, f_k, U0, U1, x, k, p_k, p_x):
    """Take one step of (5.2), (5.3); return (x, k, p_k, p_x) at its end, nan where the quadratic
    equation has no root.
    """
    half, g = 0.5 * E.h, E.ml * E.i_Mt
    p_xh = vec2.axpy(half, U0, p_x)
    p_h = vec.axpy(half, f_k, p_k)
    # with a = k + h K^-1 c, e = h K^-1 k:  |a + lam e| = 1,  e.e lam^2 + 2 a.e lam + a.a - 1 = 0
    Kc = vec.times(E.i_K, (p_h[0] - g * p_xh[0], p_h[1] - g * p_xh[1], p_h[2]))
    e, a, k_k = vec.times(E.i_K, k), vec.add(k, Kc), vec.dot(k, k) - 1.0
    A, B, C = vec.dot(e, e), vec.dot(a, e), vec.dot(Kc, vec.axpy(2.0, k, Kc)) + k_k
    root = sqrt(B * B - A * C)
    lam = -C / (B + (root if B > 0.0 else -root))
    Dk = vec.axpy(lam, e, Kc)
    D = vec2.sub(vec2.scale(E.h * E.i_Mt, p_xh), vec2.scale(g, Dk))
    p_k = vec.axpy(-E.damping, Dk, vec.axpy(lam, k, vec.axpy(half, f_k, p_h)))
    p_x = vec2.axpy(half, U1, vec2.sub(p_xh, vec2.scale(E.cart_damping, D)))
    return vec2.add(x, D), vec.axpy(lam, e, a), p_k, p_x


@inlined
def turn(k0, k1):
    """Return the shortest rotation from k0 to k1 as a world quaternion: (1 + k0.k1, k0 x k1),
    normalized.
    """
    c = vec.cross(k0, k1)
    return unit_quaternion.normalize((1.0 + vec.dot(k0, k1), c[0], c[1], c[2]))


@inlined
def write(system, q, v, x, Q, k, p_k, p_x):
    """Write positions and the velocities of the momenta; return the center of mass's velocity
    [m/s, world].
    """
    dk, u = velocities(system, k, p_k, p_x)
    Q, l = unit_quaternion.normalize(Q), system.center
    w = unit_quaternion.inverse_rotate(Q, vec.cross(k, dk))  # w = R^T (k x k'), without spin
    boundary.write(q, v, x, Q, (w[0], w[1], 0.0), u)
    return (u[0] + l * dk[0], u[1] + l * dk[1], l * dk[2])


@kernel
def steps(system, options, input, sines, h, n, state, reaction):
    """Take the steps of `advance` for weights and sines whose type gives their number: (1.0,) and
    None compile to a plain loop.
    """
    weights, attitude = options
    load, (t, q, v) = rod_on_cart.load(input), state
    x, Q, w, u = boundary.read_plant(system, q, v)
    R = unit_quaternion.matrix(Q)
    d = vec.transpose(R)[2]
    p_k, p_x = momenta(system, vec.matvec(R, (w[1], -w[0], 0.0)), u)
    f_k = vec.axpy(
        load.r[2], load.F, (0.0, 0.0, -system.rod_mass * system.gravity * system.center)
    )
    U1 = rod_on_cart.horizontal(load, rod_on_cart.sines_at(sines, t))
    first, Q_first = d, Q
    for i in range(n):
        x0, Q0, d0, p0, p_x0, s = x, Q, d, p_k, p_x, t + i * h
        for j in range(len(weights)):
            hj = h * weights[j]
            s += hj
            U0, before = U1, d
            U1 = rod_on_cart.horizontal(load, rod_on_cart.sines_at(sines, s))
            x, d, p_k, p_x = stage(equations(system, hj), f_k, U0, U1, x, d, p_k, p_x)
            if attitude == 1:
                Q = unit_quaternion.product(turn(before, d), Q)
        failed = not vec.size(d) < 4.0
        if failed or i == n - 1:
            if attitude == 0:
                Q0, Q = (
                    unit_quaternion.product(turn(first, d0), Q_first),
                    unit_quaternion.product(turn(first, d), Q_first),
                )
            if i > 0 or not failed:  # else q, v are the start itself, to the last bit
                V0 = write(system, q, v, x0, Q0, d0, p0, p_x0)
            if failed:
                return i, 0, np.nan
            V1 = write(system, q, v, x, Q, d, p_k, p_x)
            weight = vec.sub((0.0, 0.0, system.rod_mass * system.gravity), load.F)
            boundary.write_reaction(
                reaction, vec.axpy(system.rod_mass / h, vec.sub(V1, V0), weight)
            )
    return n, 0, 0.0


@inlined
def free_of_friction(system, options, input, h, n, state, reaction):
    """Take the steps of `advance` where there is no friction."""
    if len(options.weights) == 1 and len(input.sines) == 0:
        plain = Options((options.weights[0],), options.attitude)
        return steps(system, plain, input, None, h, n, state, reaction)
    return steps(system, options, input, input.sines, h, n, state, reaction)


with_friction = friction_steps.around("rattle_s2", free_of_friction)


@kernel
def advance(system, options, input, h, n, state, reaction):
    """Take n steps of size h in place; return (steps done, 0 iterations, residual 0).

    A step so large that (5.2) has no solution stops it: residual nan.
    """
    if coulomb_friction.acts(system):
        return with_friction(system, options, input, h, n, state, reaction)
    return free_of_friction(system, options, input, h, n, state, reaction)
