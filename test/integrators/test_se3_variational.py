"""CGDVIE3, honest: joint, momenta and energy over 1000 s, its saddle matrix, its order, and the
spin that its logarithm loses.
"""

import numpy as np
import pytest
from measure import advanced, attitude_angle
from plants import FORCED, PLANTS, PUSHED, REFERENCE, THICK, start

from rbdyn_ros.experiments import pendulum_run
from rbdyn_ros.geometry import increments
from rbdyn_ros.mechanics.integrators import se3_variational
from rbdyn_ros.mechanics.integrators.select import select
from rbdyn_ros.mechanics.pendulum.spherical_pendulum import build, no_input, upright
from rbdyn_ros.numerics.finite_difference import jacobian
from rbdyn_ros.types import State

CART = PLANTS["cart"]


def at_origin(system) -> State:
    """`start`, its joint at the origin, about which L_z of a fixed pivot is taken."""
    state = start(system)
    state.q[:2] = 0.0
    return state


@pytest.mark.parametrize(
    "plant, h, energy",
    [
        ("cart", 0.01, 5.7e-3),
        ("cart", 0.03, 6.2e-2),
        ("fixed pivot", 0.01, 1.8e-3),
        ("fixed pivot", 0.03, 2.0e-2),
    ],
)
def test_energy_is_bounded_and_momenta_exact_over_a_thousand_seconds(plant, h, energy):
    system = PLANTS[plant]
    every = 10 if h == 0.01 else 3
    record = pendulum_run.simulate(
        select("se3_variational"), system, at_origin(system), h, 999.99, every * h
    )
    kept = pendulum_run.conservation(record, system, every)
    assert record.ok and kept.energy == pytest.approx(energy, rel=0.2)
    assert kept.trend < 6e-8 and kept.vertical_momentum < 1.1e-10
    assert kept.horizontal_momentum < 1e-11 and kept.spin_momentum < 4e-12
    assert kept.iterations <= 3.7


@pytest.mark.parametrize("plant", PLANTS)
def test_saddle_matrix_is_the_derivative_of_the_equations(plant):
    system, h = PLANTS[plant], 0.05
    rng = np.random.default_rng(7)
    Q = tuple((lambda a: a / np.linalg.norm(a))(rng.normal(size=4)).tolist())
    z0 = rng.normal(size=11)
    left, pi = ((0.1, 0.2, 0.3), (0.4, 0.5, 0.6)), (0.7, 0.8)

    def split(z):
        z = np.asarray(z, float).tolist()
        return (tuple(z[:3]), tuple(z[3:6])), tuple(z[6:8]), tuple(z[8:])

    def equations(z):
        V, w, lam = split(z)
        r1, r2, r3, _ = se3_variational.residual(system, h, V, w, lam, Q, left, pi)
        return np.array([*r1[0], *r1[1], *(w if system.cart_free == 0.0 else r2), *r3])

    V, w, lam = split(z0)
    F = se3_variational.residual(system, h, V, w, lam, Q, left, pi)[3][0]
    S, K = np.empty((11, 11)), np.empty((6, 6))
    se3_variational.saddle(system, h, V, Q, F, K, S)
    assert S == pytest.approx(jacobian(equations, z0).value, abs=1e-8)


@pytest.mark.parametrize("plant", PLANTS)
def test_joint_force_is_the_multiplier(plant):
    """The momentum balance of the rod, (1.11), against the lambda that holds the joint: two roads,
    equal as h -> 0.
    """
    system, state, h = PLANTS[plant], start(PLANTS[plant]), 1e-4
    _, _, reaction = advanced(select("se3_variational"), system, state, PUSHED, h, 1)
    _, _, theirs = advanced(select("rk4"), system, state, PUSHED, h, 1)
    assert reaction == pytest.approx(theirs, abs=2e-4 * (1.0 + np.abs(theirs).max()))


@pytest.mark.parametrize("input", [no_input(), FORCED, PUSHED], ids=["free", "forced", "pushed"])
@pytest.mark.parametrize("damping", [0.0, 0.05])
def test_order_2_on_a_stout_rod_with_forces_and_friction(input, damping):
    system = build(
        REFERENCE._replace(
            rod_inertia=THICK, cart_damping=0.5 * (damping > 0.0), joint_damping=damping
        )
    )
    q_end, v_end, _ = advanced(select("rk4"), system, start(system), input, 1e-4, 10_000)
    errors = []
    for n in (50, 100, 200):
        q, v, _ = advanced(select("se3_variational"), system, start(system), input, 1.0 / n, n)
        errors.append(
            np.linalg.norm(q[:2] - q_end[:2])
            + attitude_angle(q[2:], q_end[2:])
            + np.linalg.norm(v - v_end)
        )
    slopes = np.log2(np.array(errors[:-1]) / errors[1:])
    assert slopes == pytest.approx([2.0, 2.0], abs=0.05)


@pytest.mark.parametrize("h", [0.005, 0.01, 0.02])
def test_the_logarithm_adds_an_axial_inertia(h):
    """Discrete spin = p3/(I_a + h^2/12 (J - I_a)|w_perp|^2), J = I_t + m l^2: a thin rod's spin
    lags.
    """
    system = PLANTS["fixed pivot"]
    state = start(system)
    state.v[2:5] = 4.0, -3.0, 5.0
    q, _, _ = advanced(select("se3_variational"), system, state, no_input(), h, 1)
    turn = increments.angular_velocity(state.q[2:], q[2:], h)
    across, axial = system.inertia[0] + system.rod_mass * system.center**2, system.inertia[2]
    expected = (
        axial * 5.0 / (axial + h * h / 12.0 * (across - axial) * (turn[0] ** 2 + turn[1] ** 2))
    )
    assert turn[2] == pytest.approx(expected, rel=1e-3)
    q, _, _ = advanced(select("moser_veselov"), system, state, no_input(), h, 1)
    assert increments.angular_velocity(state.q[2:], q[2:], h)[2] == pytest.approx(5.0, rel=0.02)


def test_a_rod_without_spin_follows_moser_veselov_to_second_order():
    """Same limit, different discretizations: their distance shrinks by 4 with the step's half."""
    distances = []
    for n in (100, 200):
        ends = [
            advanced(select(name), CART, upright(0.3, 0.4), no_input(), 1.0 / n, n)[0]
            for name in ("se3_variational", "moser_veselov")
        ]
        distances.append(np.abs(ends[0] - ends[1]).max())
    assert distances[0] / distances[1] == pytest.approx(4.0, rel=0.02)


def test_momenta_are_exact_whatever_the_tolerance():
    record = pendulum_run.simulate(
        select("se3_variational", tolerance=1e-8), CART, at_origin(CART), 0.01, 100.0, 1.0
    )
    kept = pendulum_run.conservation(record, CART, 100)
    assert kept.horizontal_momentum < 1e-11


def test_a_step_too_large_is_reported_and_keeps_the_last_state():
    state = start(CART)
    state.v[2:4] = 40.0, 20.0
    integrator = select("se3_variational")
    done, iterations, residual = integrator.advance(
        CART, integrator.options(CART), no_input(), 0.3, 3, state, np.zeros(3)
    )
    assert done < 3 and not residual <= 1e-13 and iterations > 0
    assert np.isfinite(state.q).all() and np.isfinite(state.v).all()
