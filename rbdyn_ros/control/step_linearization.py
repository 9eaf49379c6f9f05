"""The linearization of the stepper itself: what one step makes of a small change of the state and
of the force.

The step of `moser_veselov` (gamma = 0) and of `quaternion_midpoint` is the solution v of r(v; R,
p, P) = 0, (2.10), put into (2.11). Its derivative follows from the implicit function theorem, dv =
-(dr/dv)^-1 (dr/d(R, p, P)), in the tangent space at the state: R changes by R dtheta^, so that
d(R^T a) = (R^T a)^ dtheta. Nothing is approximated but the solve itself; contacts are open, no
wrench acts on the rod, and u is held during the step.
"""

from typing import NamedTuple

import numpy as np

from rbdyn_ros.geometry import unit_quaternion
from rbdyn_ros.mechanics.integrators import discrete_rod
from rbdyn_ros.mechanics.integrators.select import Integrator
from rbdyn_ros.mechanics.integrators.step import step
from rbdyn_ros.types import Array, Input, State, System

_E3 = np.array((0.0, 0.0, 1.0))
_XY = np.eye(3)[:, :2]  # a horizontal vector as one of three components
_SHARED = ("moser_veselov", "quaternion_midpoint")  # the steppers of (2.10)
STEP = 0.001  # [s] of `upright`, the simulator's default


class Linear(NamedTuple):
    """xi_1 = A xi + B du, with xi = (dx, dtheta, dx', dw): cart [world], rotation and angular
    velocity [body].
    """

    A: Array  # (10, 10)
    B: Array  # (10, 2)


def along(
    integrator: Integrator, system: System, state: State, force: Array, h: float, n: int = 1
) -> tuple[Linear, State]:
    """(Linear, state) after n steps of h [s] from `state` under the held `force` (2,) [N]: the
    product along the way.

    ValueError for an integrator that is not a step of (2.10), and where a step does not converge.
    """
    if integrator.name not in _SHARED:
        raise ValueError(
            f"integrator.name is '{integrator.name}'; the linearization is that of "
            f"{' or '.join(_SHARED)}"
        )
    options = integrator.options(system)
    gamma, input = (
        getattr(options, "gamma", 0.0),
        Input(np.array(force, float), np.zeros((0, 4)), np.zeros(9)),
    )
    one = integrator._replace(options=lambda system: options._replace(weights=np.ones(1)))
    total = Linear(np.eye(10), np.zeros((10, 2)))
    for weight in np.tile(options.weights, n):
        taken = step(one, system, state, input, weight * h)
        if not taken.ok:
            raise ValueError(
                f"{integrator.name} did not converge at t = {state.t:g} s (residual "
                f"{taken.residual:.3g}); take a smaller h"
            )
        part = of_step(system, gamma, weight * h, state, taken.state, force)
        total = Linear(part.A @ total.A, part.A @ total.B + part.B)
        state = taken.state
    return total, state


def of_step(
    system: System, gamma: float, h: float, before: State, after: State, force: Array
) -> Linear:
    """The derivative of the step of h [s] that leads from `before` to `after` under `force` (2,)
    [N].

    `gamma` [kg m^2] as in the stepper's Options. Source: doc/control.md, (K.1) to (K.6).
    """
    l, b = system.center, system.cart_damping
    E = discrete_rod.equations(system, gamma, h)
    c = np.array((0.0, 0.0, l))
    R, R1 = _rotation(before), _rotation(after)
    w, v = _turn(before, after)
    F, k, k1 = R.T @ R1, R[2], R1[2]
    A, G, d = np.diag(E.A), E.gamma + E.damping, E.damping
    e, T = F @ _E3 - _E3, 2.0 * (w * np.eye(3) + np.outer(v, v) / w - _hat(v))
    de = -F @ _hat(_E3) @ T
    # columns: (dx, dtheta, dx', dw, du)
    I = np.eye(12)
    theta, du = I[2:5], I[10:12]
    p, P = _momenta(system, R, before.v, theta, I[5:7], I[7:10])
    u = system.cart_free * np.asarray(force, float)
    Ph, dPh = _horizontal(system, R, before.v) + 0.5 * h * u, P + 0.5 * h * du
    passed, dpassed = _passed(R, Ph, theta, dPh)
    dB = p + 0.5 * h * _dtorque(system, k, theta) - E.mu * _hat(c) @ dpassed
    dAv = w * A - np.outer(A @ v, v) / w
    dcross = _hat(v) @ A - _hat(A @ v)
    dr = dAv + dcross + G * np.eye(3) + E.s * np.outer(np.cross(_E3, k), k @ de)
    lever = E.s * _hat(_E3) @ (np.outer(k, e) + (k @ e) * np.eye(3)) @ _hat(k) @ theta
    dv = np.linalg.solve(dr, dB - lever)
    theta1 = F.T @ theta + T @ dv
    dke = e @ _hat(k) @ theta + k @ de @ dv
    dD = E.X * dPh - E.mu * l * _XY.T @ R @ (de @ dv - _hat(e) @ theta)
    p1 = (dAv - dcross + (G - 2.0 * d) * np.eye(3)) @ dv
    p1 += E.s * _hat(_E3) @ (np.outer(k1, dke) + (k @ e) * _hat(k1) @ theta1)
    p1 += E.mu * _hat(c) @ _passed(R1, Ph, theta1, dPh)[1] + 0.5 * h * _dtorque(system, k1, theta1)
    P1 = dPh - b * dD + 0.5 * h * du
    dx1, dw1 = _velocities(system, R1, after.v, theta1, p1, P1)
    return Linear(*np.split(np.vstack((I[:2] + dD, theta1, dx1, dw1)), (10,), axis=1))


def on_sphere(linear: Linear, before: State, after: State) -> tuple[Array, Array]:
    """(A (8, 8), B (8, 2)) in (dx, dk, dx', dk'), k = R e3 on the sphere S^2, for a rod with I1 =
    I2 and its spin kept.

    The tangent plane at k has the axes R e1, R e2 of the body; dk' is the change of k' = R (w x
    e3) seen in them:

        dk = (dtheta_2, -dtheta_1),    dk' = (dw_2 + w_1 dtheta_3, -dw_1 + w_2 dtheta_3).     (K.6)
    """
    S = _sphere(after)
    return S @ linear.A @ _lift(), S @ linear.B


def upright(system: System, period: float, h: float = STEP) -> tuple[Array, Array]:
    """A (4, 4), B (4, 1) of e = (x, x', th, th') near upright, one axis, u held for `period` [s],
    in steps of at most h [s].

    At rest gamma drops out of (2.10), so both steppers have this one. I1 != I2 enter with their
    mean.
    """
    mean = 0.5 * (system.inertia[0] + system.inertia[1])
    system = system._replace(inertia=(mean, mean, system.inertia[2]))
    rest = State(0.0, np.array((0.0, 0.0, 1.0, 0.0, 0.0, 0.0)), np.zeros(5))
    n = max(1, int(np.ceil(period / h - 1e-9)))
    one = of_step(system, 0.0, period / n, rest, rest, np.zeros(2))
    A, B = on_sphere(one, rest, rest)
    axis = [0, 4, 2, 6]  # x, x', k_x, k'_x
    A, B = A[np.ix_(axis, axis)], B[axis, :1]
    return np.linalg.matrix_power(A, n), sum(
        (np.linalg.matrix_power(A, i) @ B for i in range(n)), np.zeros_like(B)
    )


def _hat(a: Array) -> Array:
    """a^ b = a x b."""
    return np.array(((0.0, -a[2], a[1]), (a[2], 0.0, -a[0]), (-a[1], a[0], 0.0)))


def _rotation(state: State) -> Array:
    return np.array(unit_quaternion.matrix(tuple(state.q[2:].tolist())))


def _turn(before: State, after: State) -> tuple[float, Array]:
    """(w, v) of q_k^-1 o q_{k+1}, with w > 0."""
    (w, *v), Q1 = before.q[2:].tolist(), tuple(after.q[2:].tolist())
    turn = np.array(unit_quaternion.product((w, -v[0], -v[1], -v[2]), Q1))
    turn *= np.sign(turn[0])
    return turn[0], turn[1:]


def _passed(R: Array, P: Array, theta: Array, dP: Array) -> tuple[Array, Array]:
    """R^T (P, 0) and its change."""
    a = R.T @ _XY @ P
    return a, R.T @ _XY @ dP + _hat(a) @ theta


def _dtorque(system: System, k: Array, theta: Array) -> Array:
    """d tau of tau = -m g c x k."""
    return -system.rod_mass * system.gravity * system.center * _hat(_E3) @ _hat(k) @ theta


def _horizontal(system: System, R: Array, v: Array) -> Array:
    """P of (1.4)."""
    m, M = system.rod_mass, system.cart_mass
    return (M + m) * v[:2] + m * _XY.T @ R @ np.cross(v[2:], (0.0, 0.0, system.center))


def _mass(system: System, R: Array) -> Array:
    """d(p, P)/d(w, x'), (5, 5)."""
    m, c = system.rod_mass, _hat(np.array((0.0, 0.0, system.center)))
    coupling = m * c @ R.T @ _XY
    return np.block(
        [
            [np.diag(system.inertia) - m * c @ c, coupling],
            [coupling.T, (system.cart_mass + m) * np.eye(2)],
        ]
    )


def _attitude(system: System, R: Array, v: Array, theta: Array) -> Array:
    """The part of d(p, P), (1.3) and (1.4), that a change of R makes, (5, n)."""
    m, c = system.rod_mass, np.array((0.0, 0.0, system.center))
    dp = m * _hat(c) @ _hat(R.T @ _XY @ v[:2]) @ theta
    return np.vstack((dp, -m * _XY.T @ R @ _hat(np.cross(v[2:], c)) @ theta))


def _momenta(
    system: System, R: Array, v: Array, theta: Array, dx: Array, dw: Array
) -> tuple[Array, Array]:
    """(dp, dP) of (1.3), (1.4); a fixed cart does not move."""
    v = np.concatenate((system.cart_free * v[:2], v[2:]))
    total = _mass(system, R) @ np.vstack((dw, system.cart_free * dx)) + _attitude(
        system, R, v, theta
    )
    return total[:3], total[3:]


def _velocities(
    system: System, R: Array, v: Array, theta: Array, dp: Array, dP: Array
) -> tuple[Array, Array]:
    """(dx', dw): the inverse of `_momenta`."""
    change, mass = np.vstack((dp, dP)) - _attitude(system, R, v, theta), _mass(system, R)
    if not system.cart_free:
        return np.zeros_like(dP), np.linalg.solve(mass[:3, :3], change[:3])
    change = np.linalg.solve(mass, change)
    return change[3:], change[:3]


def _sphere(state: State) -> Array:
    """(8, 10) of (K.6)."""
    S, (w1, w2) = np.zeros((8, 10)), state.v[2:4]
    S[:2, :2] = S[4:6, 5:7] = np.eye(2)
    S[2, 3], S[3, 2] = 1.0, -1.0
    S[6, 8], S[6, 4] = 1.0, w1
    S[7, 7], S[7, 4] = -1.0, w2
    return S


def _lift() -> Array:
    """(10, 8): the change of the body, not turned about its axis, that makes a change on the
    sphere.
    """
    L = np.zeros((10, 8))
    L[:2, :2] = L[5:7, 4:6] = np.eye(2)
    L[3, 2], L[2, 3], L[8, 6], L[7, 7] = 1.0, -1.0, 1.0, -1.0
    return L
