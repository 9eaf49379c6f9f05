"""The rod on the cart: momenta, energy and forces against sums over its bodies and against virtual
work.
"""

import newton_euler
import numpy as np
import pytest
from hypothesis import given
from plants import PENDULUM, inputs, motions, multiply, spinning, states, systems

from rbdyn_ros.geometry import unit_quaternion
from rbdyn_ros.pendulum import rod_on_cart
from rbdyn_ros.pendulum.spherical_pendulum import no_input, upright


def rows(q) -> tuple:
    return unit_quaternion.matrix(tuple(q[2:].tolist()))


def momenta(system, q, v) -> np.ndarray:
    """(p, P) as one array (5,)."""
    p, P = rod_on_cart.momenta(system, rows(q), tuple(v[2:].tolist()), tuple(v[:2].tolist()))
    return np.array([*p, *P])


@given(motions())
def test_velocities_invert_momenta_for_every_cart(motion):
    system, (_, q, v) = motion
    p = momenta(system, q, v)
    w, x = rod_on_cart.velocities(system, rows(q), tuple(p[:3].tolist()), tuple(p[3:].tolist()))
    condition = (1.0 + system.rod_mass * (1.0 + system.center) ** 2) / min(system.inertia)
    assert np.abs(np.array([*x, *w]) - v).max() <= 1e-15 * condition * (1.0 + np.abs(v).max())


@given(motions())
def test_energy_and_momenta_are_the_sums_over_the_bodies(motion):
    system, (_, q, v) = motion
    ours, sums = (
        np.array(rod_on_cart.quantities(system, q, v)),
        newton_euler.quantities(system, q, v),
    )
    scale = 1.0 + newton_euler.kinetic_energy(system, np.abs(q), 20.0 * np.ones(5))
    assert np.abs(ours - sums).max() <= 1e-14 * scale


@given(motions())
def test_momenta_are_the_derivatives_of_the_kinetic_energy(motion):
    system, (_, q, v) = motion
    T = lambda e: newton_euler.kinetic_energy(system, q, v + e)  # noqa: E731
    derivative = np.array([0.5 * (T(e) - T(-e)) for e in np.eye(5)])  # exact: T is quadratic in v
    p = momenta(system, q, v)
    scale = 1.0 + newton_euler.kinetic_energy(system, q, 20.0 * np.ones(5))
    assert np.abs(np.array([*p[3:], *p[:3]]) - derivative).max() <= 1e-13 * scale


@given(systems, states, inputs)
def test_generalized_forces_do_the_virtual_work_of_weight_and_wrench(system, state, input):
    """tau.eta + U.xi = F.dp + T.(R eta) - dV, dp the way of the wrench's point, for every (xi,
    eta).
    """
    q, load = state.q, rod_on_cart.load(input)
    F, T, r = np.split(input.disturbance, 3)
    tau = rod_on_cart.torque(system, load, rows(q))
    U = rod_on_cart.horizontal(load, (0.0, 0.0))
    R, h = newton_euler.rotation(q), 1e-5

    def moved(eta):
        turn = np.concatenate([[np.cos(h / 2.0)], np.sin(h / 2.0) * eta])
        return np.concatenate([q[:2], multiply(q[2:], turn)])

    for i, eta in enumerate(np.eye(3)):
        V = [newton_euler.potential_energy(system, moved(s * eta)) for s in (1.0, -1.0)]
        way = [newton_euler.rotation(moved(s * eta)) @ r for s in (1.0, -1.0)]
        work = F @ (way[0] - way[1]) / (2.0 * h) + T @ R @ eta - (V[0] - V[1]) / (2.0 * h)
        assert tau[i] == pytest.approx(work, abs=1e-7)
    assert U == pytest.approx(
        newton_euler.cart_force(input._replace(sines=np.zeros((0, 4))), 0.0) + F[:2]
    )


@given(inputs)
def test_sines_of_both_axes_are_summed(input):
    force = rod_on_cart.sines_at(input.sines, 0.37)
    assert force == pytest.approx(newton_euler.cart_force(input, 0.37) - input.force)


def test_joint_carries_a_rod_at_rest():
    state = upright()
    Q, zero = tuple(state.q[2:].tolist()), (0.0, 0.0, 0.0)
    load = rod_on_cart.load(no_input())
    at_rest = Q, zero, (0.0, 0.0)
    force = rod_on_cart.joint_force(PENDULUM, load, at_rest, at_rest, 0.01)
    assert force == pytest.approx((0.0, 0.0, 9.81))


def test_center_velocity_of_a_spinning_rod():
    state = spinning()
    w, x = tuple(state.v[2:].tolist()), tuple(state.v[:2].tolist())
    V = rod_on_cart.center_velocity(PENDULUM, rows(state.q), w, x)
    assert V == pytest.approx(newton_euler.center_velocity(PENDULUM, state.q, state.v), abs=1e-14)
