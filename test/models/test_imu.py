"""Specific force against the second difference of the point's position, and at rest."""

import numpy as np
import pytest

from rbdyn_ros.geometry import unit_quaternion
from rbdyn_ros.integrators.select import select
from rbdyn_ros.models import spherical_pendulum
from rbdyn_ros.models.imu import specific_force
from rbdyn_ros.types import Input


def test_at_rest_it_is_g_upwards():
    system = spherical_pendulum.build(spherical_pendulum.Params())
    weight = np.array((0.0, 0.0, system.rod_mass * system.gravity))
    R = unit_quaternion.matrix((1.0, 0.0, 0.0, 0.0))
    felt = specific_force(system, R, (0.0, 0.0, 0.0), weight, np.zeros(9), 0.3)
    assert felt == pytest.approx((0.0, 0.0, 9.81))


@pytest.mark.parametrize("position", [0.0, 0.3, 1.2, 2.4])
def test_it_is_the_acceleration_of_the_point_minus_gravity(position):
    params = spherical_pendulum.Params(cart_damping=0.5, joint_damping=0.005)
    system, integrator, h = spherical_pendulum.build(params), select("rk4"), 1e-4
    input = Input(np.array((3.0, -1.0)), np.zeros((0, 4)), np.array((0.4, 0.2, -0.3, 0.02, 0.01, 0.03, 0.0, 0.0, 2.4)))
    q, v, reaction = np.array((0.0, 0.0, 0.96, 0.28, 0.0, 0.0)), np.array((0.2, -0.1, 0.5, -0.8, 3.0)), np.zeros(3)

    def step():
        integrator.advance(system, integrator.options(system), input, h, 1, 0.0, q, v, reaction)
        return spherical_pendulum.point(q, (0.0, 0.0, position))

    before, now = step(), step()
    R, w, force = unit_quaternion.matrix(tuple(q[2:].tolist())), tuple(v[2:].tolist()), reaction.copy()
    after = step()
    mean = 0.5 * (force + reaction)  # of the steps before and after
    acceleration = (after - 2.0 * now + before) / h**2
    expected = np.array(R).T @ (acceleration + np.array((0.0, 0.0, system.gravity)))
    assert specific_force(system, R, w, mean, input.disturbance, position) == pytest.approx(expected, abs=2e-4)
