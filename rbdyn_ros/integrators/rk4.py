"""Classical Runge-Kutta on the coupled state: cart, quaternion and both velocities in every stage.

    J_p w' + m c x R^T (x'', 0)           = tau - d w - w x J_p w                           (1.7)
    (M + m) x'' + m [R (w' x c)]_xy       = U - b x' - m [R (w x (w x c))]_xy               (1.8)
    q' = q o (0, w) / 2

Fourth order in every component, the attitude too. Explicit: it drifts in energy and momenta,
slowly.

The joint's friction stops the spin of a thin rod within I_3 / d, which may be less than a step:
then the classical step lets a spin grow, even one of round-off. So the friction on the spin, in

    w_3' = N - s w_3,    s = d / I_3,    N = (tau_3 + (I_1 - I_2) w_1 w_2) / I_3,

is integrated exactly, and N as Runge-Kutta does: the exponential step of Cox and Matthews. With
z = -s h, phi_0(z) = e^z, phi_j+1(z) = (phi_j(z) - 1 / j!) / z, from stage 1 to 4 and the end:

    w_2 = phi_0(z/2) w_3 + (h/2) phi_1(z/2) N_1     (the spin of stage 2; of stage 3 with N_2)
    w_4 = phi_0(z/2) w_2 + (h/2) phi_1(z/2) (2 N_3 - N_1)
    w_3 <- phi_0(z) w_3 + h (b_1 N_1 + b_2 (N_2 + N_3) + b_4 N_4),
    b_1 = phi_1 - 3 phi_2 + 4 phi_3,    b_2 = 2 phi_2 - 4 phi_3,    b_4 = 4 phi_3 - phi_2

Without friction that is the classical step: 1/6, 1/3, 1/6. A spin without torque decays as e^-st
at any step; one under a constant torque comes to rest at N / s.

Source: Cox, Matthews, Exponential time differencing for stiff systems, J. Comput. Phys. 176,
430-455, 2002, equations (26) to (29).
"""

import math
from typing import NamedTuple

import numpy as np

from rbdyn_ros.geometry import unit_quaternion, vec, vec2
from rbdyn_ros.integrators import boundary, friction_steps
from rbdyn_ros.kernel import inlined, kernel
from rbdyn_ros.pendulum import coulomb_friction, rod_on_cart

ORDER = 4
SYMMETRIC = False
FRICTION = True  # `advance` has that of cart and joint
STAGES = 4  # evaluations of the forces in a step


class Options(NamedTuple):
    """No options: no equation is solved."""


def explain(q: np.ndarray, v: np.ndarray) -> str:
    """Return why a step has failed."""
    return "numbers overflowed"


class SpinDecay(NamedTuple):
    """The coefficients of the spin's step, for one size of the step."""

    rate: float  # s [1/s]
    half: float  # phi_0(z/2)
    whole: float  # phi_0(z)
    middle: float  # (h/2) phi_1(z/2) [s]
    weights: tuple  # h b_1, h b_2, h b_4 [s]


@inlined
def rates(system, load, f, q, w, u):
    """Return (x', q', w', u') for the cart velocity u (2,), attitude q, angular velocity w [body]
    and the sines' force f.
    """
    R = unit_quaternion.matrix(q)
    m, l, I = system.rod_mass, system.center, system.inertia
    tau = rod_on_cart.torque(system, load, R)
    U = rod_on_cart.horizontal(load, f)
    J = (I[0] + m * l * l, I[1] + m * l * l, I[2])
    p = vec.sub(vec.axpy(-system.joint_damping, w, tau), vec.cross(w, vec.times(J, w)))
    a = (l * w[2] * w[0], l * w[2] * w[1], -l * (w[0] * w[0] + w[1] * w[1]))  # w x (w x c)
    p_x = (
        U[0] - system.cart_damping * u[0] - m * vec.dot(R[0], a),
        U[1] - system.cart_damping * u[1] - m * vec.dot(R[1], a),
    )
    dw, du = rod_on_cart.velocities(system, R, p, p_x)
    return u, unit_quaternion.rate(q, w), dw, du


@inlined
def accelerations(system, load, f, q, w, u):
    """Return (w', x'') of the coupled equations (1.7), (1.8), which all integrators but `tqdl`
    step, with the friction of cart and joint.
    """
    _, _, dw, du = rates(coulomb_friction.as_damping(system, w, u), load, f, q, w, u)
    return dw, du


@inlined
def move(state, h, rate):
    """Return state + h rate, of (x, q, w, u)."""
    x, q, w, u = state
    dx, dq, dw, du = rate
    return (
        vec2.axpy(h, dx, x),
        unit_quaternion.axpy(h, dq, q),
        vec.axpy(h, dw, w),
        vec2.axpy(h, du, u),
    )


@inlined
def phi(z):
    """Return phi_0 to phi_3 of z, by the series of phi_3 where the recursion would cancel."""
    if abs(z) < 1.0:
        p = 1.0 + 0.0 * z
        for n in range(18, 3, -1):
            p = 1.0 + z * p * (1.0 / n)
        p3 = p * (1.0 / 6.0)
        p2 = 0.5 + z * p3
        p1 = 1.0 + z * p2
        return 1.0 + z * p1, p1, p2, p3
    p0 = math.exp(z)
    p1 = (p0 - 1.0) / z
    p2 = (p1 - 1.0) / z
    return p0, p1, p2, (p2 - 0.5) / z


@inlined
def spin_decay(system, h):
    """Return the coefficients for steps of h."""
    rate = (1.0 / system.inertia[2]) * system.joint_damping
    half, middle, _, _ = phi(-0.5 * h * rate)
    whole, p1, p2, p3 = phi(-h * rate)
    weights = h * (p1 - 3.0 * p2 + 4.0 * p3), h * (2.0 * p2 - 4.0 * p3), h * (4.0 * p3 - p2)
    return SpinDecay(rate, half, whole, 0.5 * h * middle, weights)


@inlined
def drive(system, w, rate):
    """Return N, the part of the spin's rate that is no friction; 0.0 exactly where nothing else
    acts.
    """
    return rate[2][2] + (1.0 / system.inertia[2]) * (system.joint_damping * w[2])


@inlined
def stage(system, load, forces, h, decay, state):
    """Take one step from (x, q, w, u) under the sines' forces at its start, its middle and its
    end.
    """
    _, q, w, u = state
    spin = w[2]
    k1 = rates(system, load, forces[0], q, w, u)
    N1 = drive(system, w, k1)
    _, q, w, u = move(state, 0.5 * h, k1)
    spin2 = decay.half * spin + decay.middle * N1
    w = (w[0], w[1], spin2)
    k2 = rates(system, load, forces[1], q, w, u)
    N2 = drive(system, w, k2)
    _, q, w, u = move(state, 0.5 * h, k2)
    w = (w[0], w[1], decay.half * spin + decay.middle * N2)
    k3 = rates(system, load, forces[1], q, w, u)
    N3 = drive(system, w, k3)
    _, q, w, u = move(state, h, k3)
    w = (w[0], w[1], decay.half * spin2 + decay.middle * (2.0 * N3 - N1))
    k4 = rates(system, load, forces[2], q, w, u)
    N4 = drive(system, w, k4)
    x, q, w, u = move(move(state, h / 6.0, k1), h / 3.0, k2)
    x, q, w, u = move(move((x, q, w, u), h / 3.0, k3), h / 6.0, k4)
    b = decay.weights
    spin = decay.whole * spin + (b[0] * N1 + b[1] * (N2 + N3) + b[2] * N4)
    return x, unit_quaternion.normalize(q), (w[0], w[1], spin), u


@kernel
def steps(system, input, sines, h, n, state, reaction):
    """Take the steps of `advance` for sines whose type shows whether there are any: None compiles
    to a plain loop.
    """
    load, (t, q, v) = rod_on_cart.load(input), state
    x, Q, w, u = boundary.read_plant(system, q, v)
    decay = spin_decay(system, h)
    for i in range(n):
        here, s = (x, Q, w, u), t + i * h
        f0 = rod_on_cart.sines_at(sines, s)
        f1 = rod_on_cart.sines_at(sines, s + 0.5 * h)
        f2 = rod_on_cart.sines_at(sines, s + h)
        x, Q, w, u = stage(system, load, (f0, f1, f2), h, decay, here)
        if not boundary.is_finite(x, Q, w, u):
            boundary.write(q, v, *here)
            return i, 0, np.inf
        if i == n - 1:
            boundary.write_reaction(
                reaction, rod_on_cart.joint_force(system, load, here[1:], (Q, w, u), h)
            )
    boundary.write(q, v, x, Q, w, u)
    return n, 0, 0.0


@inlined
def free_of_friction(system, options, input, h, n, state, reaction):
    """Take the steps of `advance` where there is no friction."""
    if len(input.sines) == 0:
        return steps(system, input, None, h, n, state, reaction)
    return steps(system, input, input.sines, h, n, state, reaction)


with_friction = friction_steps.around("rk4", free_of_friction)


@kernel
def advance(system, options, input, h, n, state, reaction):
    """Take n steps of size h in place; return (steps done, 0 iterations, residual 0).

    Only an overflow stops it.
    """
    if coulomb_friction.acts(system):
        return with_friction(system, options, input, h, n, state, reaction)
    return free_of_friction(system, options, input, h, n, state, reaction)
