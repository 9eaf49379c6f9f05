"""The discrete equations: the Jacobian against differences, the step against the discrete
Lagrangian itself.
"""

from dataclasses import dataclass

import newton_euler
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from measure import advanced
from plants import PLANTS, PUSHED, multiply, quaternions, start, systems

from rbdyn_ros.integrators import discrete_rod
from rbdyn_ros.integrators.select import select
from rbdyn_ros.numerics.finite_difference import jacobian
from rbdyn_ros.types import System

steps = st.sampled_from([1e-4, 1e-2, 0.1, -1e-2])
relative_rotations = st.tuples(*[st.floats(-0.4, 0.4)] * 3)


@given(systems, steps, st.sampled_from([0.0, 2e-4, 0.5]), quaternions, relative_rotations)
def test_jacobian_against_differences(system, h, gamma, quaternion, v):
    R = newton_euler.rotation(np.concatenate([[0.0, 0.0], quaternion]))
    E, k = discrete_rod.equations(system, gamma, h), tuple(R[2].tolist())
    B = (0.3, -0.2, 0.1)

    def residual(v):
        v = tuple(v.tolist())
        w, Av, e = discrete_rod.terms(E, v)
        return np.array(discrete_rod.residual(E, k, v, w, Av, e, B))

    w, Av, _ = discrete_rod.terms(E, v)
    analytic = np.array(discrete_rod.jacobian(E, k, v, w, Av))
    numeric = jacobian(residual, np.array(v), step=0.05)
    assert np.abs(analytic - numeric.value).max() <= 1e-9 * np.abs(analytic).max()


@dataclass
class DiscreteLagrangian:
    """L_d(q_0, q_1) of (2.1), (2.2), written with two points of maximal coordinates and
    quaternions in R^4.
    """

    system: System
    gamma: float
    h: float

    def __call__(self, q0, q1) -> float:
        S, h = self.system, self.h
        r = [
            np.append(q[:2], 0.0) + newton_euler.rotation(q) @ (0.0, 0.0, S.center)
            for q in (q0, q1)
        ]
        D, Dr = (q1[:2] - q0[:2]) / h, (r[1] - r[0]) / h
        middle, rate = 0.5 * (q0[2:] + q1[2:]), (q1[2:] - q0[2:]) / h
        L = multiply(middle * [1.0, -1.0, -1.0, -1.0], rate)[1:]
        turning = (
            2.0 * L @ ((np.array(S.inertia) - self.gamma) * L) + 2.0 * self.gamma * rate @ rate
        )
        T = 0.5 * S.cart_mass * D @ D + 0.5 * S.rod_mass * Dr @ Dr + turning
        return h * T - 0.5 * h * S.rod_mass * S.gravity * (r[0][2] + r[1][2])

    def slope(self, q0, q1, end: int) -> np.ndarray:
        """Its derivatives (5,) in the cart's position and in body turns of q_0 (end 0) or q_1 (end
        1).
        """
        ends = [q0, q1]

        def value(e):
            q = ends[end]
            half = 0.5 * e[2:]
            turn = np.concatenate([[np.sqrt(1.0 - half @ half)], half])
            moved = np.concatenate([q[:2] + e[:2], multiply(q[2:], turn)])
            return self(*(moved if i == end else other for i, other in enumerate(ends)))

        return jacobian(value, np.zeros(5), step=0.05).value.ravel()


def relative_rotation(q0, q1) -> np.ndarray:
    """v of q_1 = q_0 o (s, v)."""
    return multiply(q0[2:] * [1.0, -1.0, -1.0, -1.0], q1[2:])[1:]


@pytest.mark.parametrize("gamma", [0.0, 4.0 / 3.0, 50.0])
@pytest.mark.parametrize("plant", PLANTS)
def test_steps_satisfy_the_discrete_euler_lagrange_equations(plant, gamma):
    """D2 L_d(q_0, q_1) + D1 L_d(q_1, q_2) + h f(q_1) - friction = 0: three positions, no
    momenta.
    """
    system, h = PLANTS[plant], 0.01
    integrator = (
        select("moser_veselov") if gamma == 0.0 else select("quaternion_midpoint", gamma=gamma)
    )
    first = start(system)
    q = [first.q] + [advanced(integrator, system, first, PUSHED, h, n)[0] for n in (1, 2)]
    L = DiscreteLagrangian(system, gamma * min(system.inertia), h)
    D2, D1 = L.slope(q[0], q[1], 1), L.slope(q[1], q[2], 0)

    R, (F, T, r) = newton_euler.rotation(q[1]), np.split(PUSHED.disturbance, 3)
    force = np.concatenate(
        [newton_euler.cart_force(PUSHED, h) + F[:2], R.T @ T + np.cross(r, R.T @ F)]
    )
    friction = np.concatenate(
        [
            0.5 * system.cart_damping * (q[2][:2] - q[0][:2]),
            system.joint_damping * (relative_rotation(q[0], q[1]) + relative_rotation(q[1], q[2])),
        ]
    )
    defect = D2 + D1 + h * force - friction
    if not system.cart_free:
        defect = defect[2:]
    assert np.abs(defect).max() < 1e-10
