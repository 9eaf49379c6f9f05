"""The plant near upright against finite differences of the nonlinear one, and against the numbers
of a study.
"""

import math

import numpy as np
import pytest

from rbdyn_ros.control import linearization
from rbdyn_ros.integrators import rk4
from rbdyn_ros.integrators.select import select
from rbdyn_ros.integrators.step import step
from rbdyn_ros.numerics.finite_difference import jacobian
from rbdyn_ros.pendulum import rod_on_cart, spherical_pendulum
from rbdyn_ros.pendulum.tilt import tilt
from rbdyn_ros.types import State

DAMPED = spherical_pendulum.Params(cart_damping=0.5, joint_damping=0.005)
PLANTS = {
    "damped": DAMPED,
    "massless cart": DAMPED._replace(cart_mass=0.0),
    "fixed cart": DAMPED._replace(cart_fixed=True),
    "heavy tip": DAMPED._replace(
        rod_center_of_mass=2.0, rod_inertia=(0.2, 0.2, 0.01), joint_damping=0.3
    ),
    "no gravity": DAMPED._replace(gravity=0.0),
}


def state_of(e: np.ndarray) -> State:
    """The state with coordinates e (8,) = (x, x', th, th') of axis x, then of axis y; no spin."""
    (x, dx, th_x, dth_x), (y, dy, th_y, dth_y) = e[:4], e[4:]
    th = math.hypot(th_x, th_y)
    s = 0.5 * np.sinc(0.5 * th / math.pi)
    Q = np.array((math.cos(0.5 * th), -s * th_y, s * th_x, 0.0))
    n_x, n_y, k_z = np.sinc(th / math.pi) * th_x, np.sinc(th / math.pi) * th_y, math.cos(th)
    W = np.array((-dth_y, dth_x, (dth_y * n_x - dth_x * n_y) / k_z))  # normal to the rod
    R = np.array(
        (
            (1 - 2 * Q[2] ** 2, 2 * Q[1] * Q[2], n_x),
            (2 * Q[1] * Q[2], 1 - 2 * Q[1] ** 2, n_y),
            (-n_x, -n_y, k_z),
        )
    )
    return State(0.0, np.array((x, y, *Q)), np.array((dx, dy, *(R.T @ W))))


def coordinates_of(state: State) -> np.ndarray:
    th_x, th_y, dth_x, dth_y = tilt(state.q, state.v)
    return np.array((state.q[0], state.v[0], th_x, dth_x, state.q[1], state.v[1], th_y, dth_y))


def both_axes(matrix: np.ndarray) -> np.ndarray:
    return np.kron(np.eye(2), matrix)


def with_force(u) -> object:
    return spherical_pendulum.no_input()._replace(force=np.array(u, float))


def test_the_coordinates_are_inverse_to_each_other():
    e = np.array((0.1, -0.2, 0.5, 0.3, -0.4, 0.6, -0.7, 0.9))
    np.testing.assert_allclose(coordinates_of(state_of(e)), e, atol=1e-15)


@pytest.mark.parametrize("name", PLANTS)
def test_a_and_b_are_the_jacobians_of_the_nonlinear_accelerations(name):
    system = spherical_pendulum.build(PLANTS[name])

    def accelerations(e_u):
        state = state_of(e_u[:8])
        load = rod_on_cart.load(with_force(e_u[8:]))
        Q, w, dx = tuple(state.q[2:]), tuple(state.v[2:]), tuple(system.cart_free * state.v[:2])
        _, _, dw, ddx = rk4.rates(system, load, (0.0, 0.0), Q, w, dx)
        return np.array((ddx[0], dw[1], ddx[1], -dw[0]))  # at upright R = 1: th'' = (W'_y, -W'_x)

    A, B = linearization.upright(system)
    numeric = jacobian(accelerations, np.zeros(10))
    expected = np.hstack((both_axes(A)[1::2], both_axes(B)[1::2]))
    np.testing.assert_allclose(numeric.value, expected, atol=1e-9)


@pytest.mark.parametrize(
    ("integrator", "tolerance"), [("rk4", 1e-11), ("quaternion_midpoint", 1e-6)]
)
def test_sampled_is_the_jacobian_of_one_step(integrator, tolerance):
    """To the stepper's own error per step: h^5 for rk4, h^3 for the midpoint."""
    system, h = spherical_pendulum.build(DAMPED), 0.005
    method = select(integrator, tolerance=1e-15)

    def flow(e_u):
        return coordinates_of(
            step(method, system, state_of(e_u[:8]), with_force(e_u[8:]), h).state
        )

    A, B = linearization.discretize(*linearization.upright(system), h)
    numeric = jacobian(flow, np.zeros(10))
    np.testing.assert_allclose(
        numeric.value, np.hstack((both_axes(A), both_axes(B))), atol=tolerance
    )


def test_the_numbers_of_the_control_study():
    """M = 2, m = 1, 2.4 m, transverse inertia 0.4801, b = 0.5, d = 0.005: printed there with six
    decimals.
    """
    A, B = linearization.upright(spherical_pendulum.build(DAMPED))
    np.testing.assert_allclose(A[1], (0.0, -0.222218, -3.269773, 0.001389), atol=1.5e-6)
    np.testing.assert_allclose(A[3], (0.0, 0.138879, 8.174432, -0.003472), atol=1.5e-6)
    np.testing.assert_allclose(B[:, 0], (0.0, 0.444437, 0.0, -0.277758), atol=1.5e-6)
    np.testing.assert_allclose(
        sorted(np.linalg.eigvals(A)), (-2.8905, -0.1665, 0.0, 2.8313), atol=1e-4
    )


def test_sampling_twice_is_sampling_at_twice_the_period():
    A, B = linearization.upright(spherical_pendulum.build(DAMPED))
    A1, B1 = linearization.discretize(A, B, 0.05)
    A2, B2 = linearization.discretize(A, B, 0.1)
    np.testing.assert_allclose(A2, A1 @ A1, rtol=1e-13, atol=1e-15)
    np.testing.assert_allclose(B2, A1 @ B1 + B1, rtol=1e-13)
