"""The roll forward without attitude against the full rod."""

import math

import numpy as np
import pytest

from rbdyn_ros.integrators.select import select
from rbdyn_ros.integrators.step import step
from rbdyn_ros.pendulum import sphere_state, spherical_pendulum
from rbdyn_ros.types import State

PLANT = spherical_pendulum.Params(cart_damping=0.5, joint_damping=0.0)


@pytest.mark.parametrize("spin", (0.0, 30.0))
def test_three_seconds_of_the_full_rod(spin):
    system, h, u = spherical_pendulum.build(PLANT), 0.001, (3.0, -1.0)
    Q = np.array((0.4, -0.5, 0.7, 0.3))
    state = State(
        0.0,
        np.array((0.3, -0.2, *(Q / np.linalg.norm(Q)))),
        np.array((0.5, -0.8, 1.1, -0.7, spin)),
    )
    reduced, p3 = sphere_state.of_state(state.q, state.v), system.inertia[2] * spin
    method, input = select("rk4"), spherical_pendulum.no_input()._replace(force=np.array(u))
    for _ in range(3000):
        state = step(method, system, state, input, h).state
        reduced = sphere_state.step(system, p3, u, reduced, h)
    for a, b in zip(reduced, sphere_state.of_state(state.q, state.v)):
        np.testing.assert_allclose(
            a, b, atol=1e-6
        )  # the error of the full rod, whose spin a step must follow


def test_the_rate_is_tangent_and_the_direction_unit():
    system = spherical_pendulum.build(PLANT)
    k, dk, *_ = sphere_state.step(
        system, 0.0, (20.0, 5.0), ((0.6, 0.0, 0.8), (0.8, 2.0, -0.6), (0.0, 0.0), (1.0, 0.0)), 0.05
    )
    assert math.hypot(*k) == pytest.approx(1.0, abs=1e-15)
    assert np.dot(k, dk) == pytest.approx(0.0, abs=1e-15)
