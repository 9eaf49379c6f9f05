"""The linearization of the stepper itself: the effect of a small change of the state and of the
force in one step.

The derivatives are those of `integrators.derivatives`, in the tangent space at the
state: R changes by R dtheta^. Nothing is approximated but the solve itself; contacts are open, no
wrench acts on the rod, and u is held during the step.
"""

from typing import NamedTuple

import numpy as np

from rbdyn_ros.integrators import derivatives
from rbdyn_ros.integrators.select import Integrator, select
from rbdyn_ros.pendulum import coulomb_friction
from rbdyn_ros.types import Array, Contacts, Input, State, System

STEP = 0.001  # [s] of `upright`, the simulator's default


class LinearStep(NamedTuple):
    """The matrices of xi_1 = A xi + B du, with xi = (dx, dtheta, dx', dw): cart [world], rotation
    and angular velocity [body].
    """

    A: Array  # (10, 10)
    B: Array  # (10, 2)


def along(
    integrator: Integrator, system: System, state: State, force: Array, h: float, n: int = 1
) -> tuple[LinearStep, State]:
    """Return (Linear, state) after n steps of h [s] from `state` under the held `force` (2,) [N]:
    the product along the way.

    Raise ValueError where the integrator does not apply, and where a step does not converge.
    """
    input = Input(np.array(force, float), np.zeros((0, 4)), np.zeros(9))
    system = system._replace(contacts=Contacts())
    found = derivatives.along(integrator, system, state, input, h, n)
    A, B, _ = derivatives.total(found)
    end = found.states[-1]
    return LinearStep(A, B), State(state.t + n * h, end[:6].copy(), end[6:].copy())


def on_sphere(linear: LinearStep, after: State) -> tuple[Array, Array]:
    """Return (A (8, 8), B (8, 2)) in (dx, dk, dx', dk'), k = R e3 on the sphere S^2, for a rod
    with I1 = I2 and its spin kept.

    The tangent plane at k has the axes R e1, R e2 of the body; dk' is the change of k' = R (w x
    e3) seen in them:

        dk = (dtheta_2, -dtheta_1),    dk' = (dw_2 + w_1 dtheta_3, -dw_1 + w_2 dtheta_3).     (K.6)
    """
    S = _sphere(*after.v[2:4])
    lift = _sphere(0.0, 0.0).T  # changes of the body, not turned about its axis
    return S @ linear.A @ lift, S @ linear.B


def upright(system: System, period: float, h: float = STEP) -> tuple[Array, Array]:
    """Return A (4, 4), B (4, 1) of e = (x, x', th, th') near upright, one axis, u held for
    `period` [s], in steps of at most h [s].

    At rest gamma drops out of (2.10), so `moser_veselov` and `quaternion_midpoint` share this
    linearization. I1 != I2 enter with their mean. Coulomb friction is left out.
    """
    mean = 0.5 * (system.inertia[0] + system.inertia[1])
    system = coulomb_friction.without(system)._replace(inertia=(mean, mean, system.inertia[2]))
    rest = State(0.0, np.array((0.0, 0.0, 1.0, 0.0, 0.0, 0.0)), np.zeros(5))
    n = max(1, int(np.ceil(period / h - 1e-9)))
    one, _ = along(select("moser_veselov"), system, rest, np.zeros(2), period / n)
    A, B = on_sphere(one, rest)
    axis = [0, 4, 2, 6]  # x, x', k_x, k'_x
    A, B = A[np.ix_(axis, axis)], B[axis, :1]
    return np.linalg.matrix_power(A, n), sum(
        (np.linalg.matrix_power(A, i) @ B for i in range(n)), np.zeros_like(B)
    )


def _sphere(w1: float, w2: float) -> Array:
    """Return (8, 10), the matrix of (K.6)."""
    S = np.zeros((8, 10))
    S[:2, :2] = S[4:6, 5:7] = np.eye(2)
    S[2, 3], S[3, 2] = 1.0, -1.0
    S[6, 8], S[6, 4] = 1.0, w1
    S[7, 7], S[7, 4] = -1.0, w2
    return S
