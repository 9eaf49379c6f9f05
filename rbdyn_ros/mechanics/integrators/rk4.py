"""Classical Runge-Kutta on the coupled state: cart, quaternion and both velocities in every stage.

    J_p w' + m c x R^T (x'', 0)           = tau - d w - w x J_p w                           (1.7)
    (M + m) x'' + m [R (w' x c)]_xy       = U - b x' - m [R (w x (w x c))]_xy               (1.8)
    q' = q o (0, w) / 2

Fourth order in every component, the attitude too. Explicit: it drifts in energy and momenta,
slowly. A spin that the joint's friction stops within less than a step would grow: it is refused.
"""

from typing import NamedTuple

import numpy as np

from rbdyn_ros.geometry import unit_quaternion, vec, vec2
from rbdyn_ros.kernel import inlined, kernel
from rbdyn_ros.mechanics.integrators import boundary
from rbdyn_ros.mechanics.pendulum import rod_on_cart

ORDER = 4
SYMMETRIC = False
STABLE = 2.785  # h d / I_3 beyond which w_3' = -(d / I_3) w_3 grows


class Options(NamedTuple):
    """No options: no equation is solved."""


def explain(q: np.ndarray, v: np.ndarray) -> str:
    """Return why a step has failed."""
    if v[4] == 0.0:
        return "numbers overflowed"
    return (
        f"with a spin below {STABLE:g} rod.inertia[2] / joint.damping, a limit that other "
        "integrators do not have"
    )


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
    P = (
        U[0] - system.cart_damping * u[0] - m * vec.dot(R[0], a),
        U[1] - system.cart_damping * u[1] - m * vec.dot(R[1], a),
    )
    dw, du = rod_on_cart.velocities(system, R, p, P)
    return u, unit_quaternion.rate(q, w), dw, du


@inlined
def accelerations(system, load, f, q, w, u):
    """Return (w', x'') of the coupled equations (1.7), (1.8), which all integrators but `tqdl`
    step.
    """
    _, _, dw, du = rates(system, load, f, q, w, u)
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
def stage(system, load, forces, h, state):
    """Take one step from (x, q, w, u) under the sines' forces at its start, its middle and its
    end.
    """
    _, q, w, u = state
    k1 = rates(system, load, forces[0], q, w, u)
    _, q, w, u = move(state, 0.5 * h, k1)
    k2 = rates(system, load, forces[1], q, w, u)
    _, q, w, u = move(state, 0.5 * h, k2)
    k3 = rates(system, load, forces[1], q, w, u)
    _, q, w, u = move(state, h, k3)
    k4 = rates(system, load, forces[2], q, w, u)
    x, q, w, u = move(move(state, h / 6.0, k1), h / 3.0, k2)
    x, q, w, u = move(move((x, q, w, u), h / 3.0, k3), h / 6.0, k4)
    return x, unit_quaternion.normalize(q), w, u


@kernel
def steps(system, input, sines, h, n, state, reaction):
    """Take the steps of `advance` for sines whose type shows whether there are any: None compiles
    to a plain loop.
    """
    load, (t, q, v) = rod_on_cart.load(input), state
    x, Q, w, u = boundary.read_plant(system, q, v)
    for i in range(n):
        here, s = (x, Q, w, u), t + i * h
        f0 = rod_on_cart.sines_at(sines, s)
        f1 = rod_on_cart.sines_at(sines, s + 0.5 * h)
        f2 = rod_on_cart.sines_at(sines, s + h)
        x, Q, w, u = stage(system, load, (f0, f1, f2), h, here)
        if not boundary.is_finite(x, Q, w, u):
            boundary.write(q, v, *here)
            return i, 0, np.inf
        if i == n - 1:
            boundary.write_reaction(
                reaction, rod_on_cart.joint_force(system, load, here[1:], (Q, w, u), h)
            )
    boundary.write(q, v, x, Q, w, u)
    return n, 0, 0.0


@kernel
def advance(system, options, input, h, n, state, reaction):
    """Take n steps of size h in place; return (steps done, 0 iterations, residual 0).

    Only an overflow stops it, and a spin that would grow.
    """
    if state.v[4] != 0.0 and h * system.joint_damping > STABLE * system.inertia[2]:
        return 0, 0, np.inf
    if len(input.sines) == 0:
        return steps(system, input, None, h, n, state, reaction)
    return steps(system, input, input.sines, h, n, state, reaction)
