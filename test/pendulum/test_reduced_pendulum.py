"""The equations on the sphere against those of the full rod: two derivations, one acceleration."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rbdyn_ros.geometry import unit_quaternion
from rbdyn_ros.integrators import rk4
from rbdyn_ros.pendulum import reduced_pendulum, rod_on_cart, spherical_pendulum

PLANTS = [
    spherical_pendulum.Params(cart_damping=0.5, joint_damping=0.005),
    spherical_pendulum.Params(cart_mass=0.0, joint_damping=0.2),
    spherical_pendulum.Params(rod_center_of_mass=0.3, rod_inertia=(0.5, 0.5, 0.4), rod_mass=7.0),
]
attitudes = st.tuples(*[st.floats(-1.0, 1.0)] * 4).filter(lambda q: np.linalg.norm(q) > 0.1)
vectors = st.tuples(*[st.floats(-5.0, 5.0)] * 3)


@pytest.mark.parametrize("params", PLANTS)
@settings(max_examples=50, deadline=None)  # the first example compiles
@given(attitudes, vectors, st.floats(-200.0, 200.0), vectors, vectors)
def test_the_sphere_and_the_full_rod_accelerate_alike(params, Q, w, spin, dx, u):
    system = spherical_pendulum.build(params)
    Q, w = tuple(np.array(Q) / np.linalg.norm(Q)), np.array((w[0], w[1], spin))
    load = rod_on_cart.load(spherical_pendulum.no_input()._replace(force=np.array(u[:2])))
    _, _, dw, ddx = rk4.rates(system, load, (0.0, 0.0), Q, tuple(w), dx[:2])

    e3, R = np.array((0.0, 0.0, 1.0)), np.array(unit_quaternion.matrix(Q))
    k, dk = R @ e3, R @ np.cross(w, e3)
    ddk = R @ (np.cross(dw, e3) + np.cross(w, np.cross(w, e3)))
    a, reduced = reduced_pendulum.accelerations(
        system, system.inertia[2] * spin, u[:2], tuple(k), tuple(dk), dx[:2]
    )
    np.testing.assert_allclose(a, ddx, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(reduced, ddk, rtol=1e-9, atol=1e-9)


def test_the_force_gives_the_acceleration_that_was_asked_for():
    system, p3, a = spherical_pendulum.build(PLANTS[0]), 0.02, (1.7, -0.6)
    k, dk, dx = (0.6, 0.0, -0.8), (0.8, 2.0, 0.6), (0.3, -0.2)
    u = reduced_pendulum.force(system, p3, a, k, dk, dx)
    np.testing.assert_allclose(
        reduced_pendulum.accelerations(system, p3, u, k, dk, dx)[0], a, rtol=1e-12
    )
