"""One step of rod and cart in maximal coordinates: constraints with multipliers, midpoint
quaternion.

Coordinates (r, q, x): the rod as a floating body and the cart, joined by Phi = r - R c - (x, 0) =
0 and |q| = 1; momenta p_r = m V, p_w = I w [body], pi = M x'. A step solves, with half-step
impulses ell of the joint (doc/mathematics.md, section 3; f_r, tau_c: force and torque about the
center of mass),

    m Dr/h  - p_r - (h/2) f_r   - ell           = 0                                           (3.2)
    (2/h) (s + v x J v) + d v - p_w - (h/2) tau_c + c x R_k^T ell = 0
    M D/h + b D/2 - pi - (h/2) u + ell_xy       = 0
    Dr - D - R_k (F - 1) c                      = 0

not as a dense system: ell, Dr and D are linear and are eliminated, which leaves the 3x3 Newton of
`discrete_rod` with the kinetic-energy parameter gamma. The momenta at k+1 take the same ell from
the other side. Then the velocities are projected on the joint (RATTLE): [M A^T; A 0] [v; nu] = [p;
0], which changes no position and makes a small gamma usable. The joint's force over the step is (2
ell + nu) / h.
"""

from typing import NamedTuple

from rbdyn_ros.geometry import unit_quaternion, vec, vec2
from rbdyn_ros.integrators import discrete_rod
from rbdyn_ros.kernel import inlined
from rbdyn_ros.pendulum import rod_on_cart


class StepInputs(NamedTuple):
    """The forces during a step, and how exactly its equations are solved."""

    load: rod_on_cart.Load  # the wrench on the rod
    u0: tuple  # (2,) cart force at the start of the step [N]
    u1: tuple  # and at its end
    gamma: float  # [kg m^2] kinetic-energy parameter
    tolerance: float  # relative residual of the discrete equations
    max_iterations: int


@inlined
def forces(system, load, R):
    """Return (f_r, tau_c): weight and wrench on the rod, force [world] and torque about the center
    of mass [body].
    """
    f_r = vec.sub(load.F, (0.0, 0.0, system.rod_mass * system.gravity))
    if vec.size(load.F) + vec.size(load.T) == 0.0:
        return f_r, (0.0, 0.0, 0.0)
    arm = vec.sub(load.r, (0.0, 0.0, system.center))
    moment = vec.cross(arm, vec.transposed_matvec(R, load.F))
    return f_r, vec.add(vec.transposed_matvec(R, load.T), moment)


@inlined
def about_joint(l, R, p_w, p_r):
    """Return p_w + c x R^T p_r, a momentum or torque about the joint [body]."""
    return (
        p_w[0] - l * vec.dot(p_r, column(R, 1)),
        p_w[1] + l * vec.dot(p_r, column(R, 0)),
        p_w[2],
    )


@inlined
def column(R, i):
    """Return R e_i."""
    return (R[0][i], R[1][i], R[2][i])


@inlined
def stage(system, E, inputs, state, guess):
    """Take one step of (3.2), the momenta and the projection; return (state, turn, impulse of the
    joint on the rod). `guess` is the scalar part of the turn.
    """
    x, Q, R, w, u, V = state
    load, u0, u1 = inputs.load, inputs.u0, inputs.u1
    h, m, l, I, M = E.h, system.rod_mass, system.center, system.inertia, system.cart_mass
    half, i_h = 0.5 * h, 0.5 * E.f
    f_r, tau_c = forces(system, load, R)
    p_r = vec.axpy(half, f_r, vec.scale(m, V))
    p_w = vec.axpy(half, tau_c, vec.times(I, w))
    pi = vec2.axpy(M, u, vec2.scale(half, u0))

    b = about_joint(l, R, p_w, p_r)
    p_xh = vec2.add(pi, p_r)
    turn = discrete_rod.solve(E, R, p_xh, b, guess, inputs.tolerance, inputs.max_iterations)
    e = vec.matvec(R, vec.scale(l, turn.e))
    D = vec2.sub(vec2.scale(E.X, p_xh), vec2.scale(E.chi, e))
    Dr = (*vec2.add(D, e), e[2])
    ell = vec.sub(vec.scale(m * i_h, Dr), p_r)

    Q = unit_quaternion.product(Q, (turn.w, *turn.v))
    R = unit_quaternion.matrix(Q)
    Q = unit_quaternion.renormalize(Q)
    f_r, tau_c = forces(system, load, R)
    p_r = vec.axpy(m * i_h, Dr, vec.axpy(half, f_r, ell))
    v, Jv = turn.v, vec.sub(vec.scale(E.f, vec.times(I, turn.v)), vec.scale(E.gamma, turn.v))
    p_w = vec.sub(vec.axpy(turn.w, Jv, vec.scale(E.gamma - E.damping, v)), vec.cross(v, Jv))
    p_w = vec.sub(p_w, turn.r)
    p_w = about_joint(l, R, vec.axpy(half, tau_c, p_w), vec.scale(-1.0, ell))
    f = M * i_h - 0.5 * E.cart_damping
    pi = vec2.sub(vec2.axpy(f, D, vec2.scale(half, u1)), ell)
    w, u = rod_on_cart.velocities(system, R, about_joint(l, R, p_w, p_r), vec2.add(pi, p_r))
    V = rod_on_cart.center_velocity(system, R, w, u)
    nu = vec.axpy(m, V, vec.scale(-1.0, p_r))
    impulse = vec.axpy(2.0, ell, nu)
    return (vec2.add(x, D), Q, R, w, u, V), turn, impulse
