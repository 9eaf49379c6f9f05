"""The eliminated step against the full system in maximal coordinates, solved by SciPy without
elimination.
"""

import newton_euler
import numpy as np
import pytest
from measure import advanced, attitude_angle, distance
from newton_euler import hat
from plants import PENDULUM, PLANTS, PUSHED, multiply, start
from scipy.optimize import fsolve

from rbdyn_ros.integrators.select import select
from rbdyn_ros.pendulum.spherical_pendulum import no_input
from rbdyn_ros.types import Input, State, System


def wrench_at_center(system: System, input: Input, R) -> tuple:
    """(f_r [world], tau_c [body]) of weight and disturbance."""
    F, T, r = np.split(input.disturbance, 3)
    weight = np.array([0.0, 0.0, system.rod_mass * system.gravity])
    return F - weight, R.T @ T + np.cross(r - (0.0, 0.0, system.center), R.T @ F)


def horizontal(a) -> np.ndarray:
    return np.array([a[0], a[1], 0.0])


class MaximalCoordinates:
    """One step of (3.2), (3.4), (3.5) with rod and cart apart: 11 unknowns (Dr, v, D, ell), then a
    dense projection.
    """

    def __init__(self, system: System, gamma: float, input: Input, h: float, state: State):
        self.system, self.gamma, self.input, self.h, self.state = system, gamma, input, h, state
        self.R = newton_euler.rotation(state.q)
        self.I, self.c = np.array(system.inertia), np.array([0.0, 0.0, system.center])
        self.p_r = system.rod_mass * newton_euler.center_velocity(system, state.q, state.v)
        self.p_w = self.I * state.v[2:]
        self.pi = system.cart_mass * state.v[:2]

    def turn(self, v) -> tuple:
        """(s, a, g, F) of the relative rotation v: its scalar part, the two momenta's halves, its
        matrix.
        """
        s, J = np.sqrt(1.0 - v @ v), self.I - self.gamma
        F = np.eye(3) + 2.0 * s * hat(v) + 2.0 * hat(v) @ hat(v)
        return s, s * J * v + self.gamma * v, np.cross(v, J * v), F

    def residual(self, z) -> np.ndarray:
        S, h, R = self.system, self.h, self.R
        Dr, v, D, ell = z[:3], z[3:6], z[6:8], z[8:]
        f_r, tau_c = wrench_at_center(S, self.input, R)
        u = newton_euler.cart_force(self.input, self.state.t)
        _, a, g, F = self.turn(v)
        rod = S.rod_mass * Dr / h - self.p_r - 0.5 * h * f_r - ell
        turning = (
            2.0 / h * (a + g)
            + S.joint_damping * v
            - self.p_w
            - 0.5 * h * tau_c
            + np.cross(self.c, R.T @ ell)
        )
        cart = (S.cart_mass / h + 0.5 * S.cart_damping) * D - self.pi - 0.5 * h * u + ell[:2]
        joint = Dr - horizontal(D) - R @ (F - np.eye(3)) @ self.c
        return np.concatenate([rod, turning, cart if S.cart_free else D, joint])

    def step(self) -> tuple:
        """(q, v, mean joint force) at the end of the step."""
        S, h, q, v0 = self.system, self.h, self.state.q, self.state.v
        guess = np.concatenate(
            [h * self.p_r / S.rod_mass, 0.5 * h * v0[2:], h * v0[:2], np.zeros(3)]
        )
        z, _, status, message = fsolve(self.residual, guess, xtol=1e-14, full_output=True)
        assert status == 1 or np.abs(self.residual(z)).max() < 1e-12, message
        Dr, v, D, ell = z[:3], z[3:6], z[6:8], z[8:]
        s, a, g, F = self.turn(v)
        R = self.R @ F
        f_r, tau_c = wrench_at_center(S, self.input, R)
        u = newton_euler.cart_force(self.input, self.state.t + h)
        p_r = S.rod_mass * Dr / h + 0.5 * h * f_r + ell
        p_w = (
            2.0 / h * (a - g) - S.joint_damping * v + 0.5 * h * tau_c - np.cross(self.c, R.T @ ell)
        )
        pi = (S.cart_mass / h - 0.5 * S.cart_damping) * D + 0.5 * h * u - ell[:2]
        end = np.concatenate([q[:2] + D, multiply(q[2:], np.append(s, v))])
        V, w, x, nu = self.project(R, p_r, p_w, pi)
        return end, np.concatenate([x, w]), (2.0 * ell + nu) / h

    def project(self, R, p_r, p_w, pi) -> tuple:
        """(V, w, x', nu): [M A^T; A 0] (velocities, -nu) = (p, 0) as one dense system."""
        S = self.system
        M = np.diag(np.concatenate([[S.rod_mass] * 3, self.I, [S.cart_mass] * 2]))
        A = np.hstack([np.eye(3), R @ hat(self.c), -np.eye(3)[:, :2]])  # V - R (w x c) - x'
        p = np.concatenate([p_r, p_w, pi])
        if not S.cart_free:
            M, A, p = M[:6, :6], A[:, :6], p[:6]
        n = len(p)
        saddle = np.block([[M, A.T], [A, np.zeros((3, 3))]])
        y = np.linalg.solve(saddle, np.append(p, np.zeros(3)))
        x = y[6:8] if S.cart_free else np.zeros(2)
        return y[:3], y[3:6], x, -y[n:]


@pytest.mark.parametrize("gamma", [4.0 / 3.0, 20.0])
@pytest.mark.parametrize("plant", PLANTS)
def test_elimination_equals_the_dense_system_in_maximal_coordinates(plant, gamma):
    system, state, h = PLANTS[plant], start(PLANTS[plant]), 0.01
    integrator = select("quaternion_midpoint", gamma=gamma)
    for _ in range(3):
        dense = MaximalCoordinates(system, gamma * min(system.inertia), PUSHED, h, state)
        q, v, force = dense.step()
        ours_q, ours_v, reaction = advanced(integrator, system, state, PUSHED, h, 1)
        assert ours_q == pytest.approx(q, abs=1e-13)
        assert ours_v == pytest.approx(v, abs=1e-9)  # p / I_3 magnifies SciPy's residual by 5000
        assert reaction == pytest.approx(force, abs=1e-8)
        state = State(state.t + h, ours_q, ours_v)


@pytest.mark.parametrize("plant", PLANTS)
def test_gamma_zero_is_moser_veselov(plant):
    system, state = PLANTS[plant], start(PLANTS[plant])
    midpoint = advanced(select("quaternion_midpoint", gamma=0.0), system, state, PUSHED, 0.01, 50)
    reduced = advanced(select("moser_veselov"), system, state, PUSHED, 0.01, 50)
    apart = distance(*midpoint[:2], *reduced[:2])
    assert max(apart["cart"], apart["attitude"], apart["cart velocity"]) < 1e-11, apart
    assert apart["angular velocity"] < 1e-9


def spin_angle_error(gamma: float, h: float) -> float:
    """Of a steadily spinning upright rod after one second at 50 rad/s [rad]."""
    state = State(
        0.0, np.array([0.0, 0.0, 1.0, 0.0, 0.0, 0.0]), np.array([0.0, 0.0, 0.0, 0.0, 50.0])
    )
    q, _, _ = advanced(
        select("quaternion_midpoint", gamma=gamma), PENDULUM, state, no_input(), h, round(1.0 / h)
    )
    return float(attitude_angle(q[2:], np.array([np.cos(25.0), 0.0, 0.0, np.sin(25.0)])))


def test_default_gamma_turns_a_spinning_rod_with_order_four():
    order = {
        gamma: np.log2(spin_angle_error(gamma, 0.005) / spin_angle_error(gamma, 0.0025))
        for gamma in (0.0, 4.0 / 3.0)
    }
    assert order[0.0] == pytest.approx(2.0, abs=0.05)
    assert order[4.0 / 3.0] == pytest.approx(4.0, abs=0.1)
