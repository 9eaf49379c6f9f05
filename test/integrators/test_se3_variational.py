"""CGDVIE3, honest: joint, momenta and energy over 1000 s, Newton's step, its order, and the
spin that its logarithm loses.
"""

import numpy as np
import pytest
from measure import advanced, attitude_angle
from plants import FORCED, PLANTS, PUSHED, REFERENCE, THICK, start

from rbdyn_ros.experiments import apparatus
from rbdyn_ros.geometry import increments, twist, unit_quaternion, vec
from rbdyn_ros.integrators import discrete_twist, se3_variational
from rbdyn_ros.integrators.select import select
from rbdyn_ros.numerics.finite_difference import jacobian
from rbdyn_ros.pendulum import rod_on_cart
from rbdyn_ros.pendulum.spherical_pendulum import build, no_input, upright
from rbdyn_ros.types import State

NAME, CART = "se3_variational", PLANTS["cart"]


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
    record = apparatus.simulate(select(NAME), system, at_origin(system), h, 999.99, every * h)
    kept = apparatus.conservation(record, system, every)
    assert record.ok and kept.energy == pytest.approx(energy, rel=0.2)
    assert kept.trend < 6e-8 and kept.vertical_momentum < 1.1e-10
    assert kept.horizontal_momentum < 1e-11 and kept.spin_momentum < 4e-12
    assert kept.iterations <= 3.7


@pytest.mark.parametrize("plant", PLANTS)
def test_newton_step_is_that_of_the_equations(plant):
    system, h = PLANTS[plant], 0.05
    rng = np.random.default_rng(7)
    a, z0 = rng.normal(size=4), rng.normal(size=5)
    R = unit_quaternion.matrix(tuple((a / np.linalg.norm(a)).tolist()))
    p, P = (0.1, 0.2, 0.3), (0.7, 0.8)

    def residual(z):
        z = np.asarray(z, float).tolist()
        return se3_variational.residual(system, h, R, tuple(z[:3]), tuple(z[3:]), p, P)

    q1, q2, place, _ = residual(z0)
    J = se3_variational.jacobian(system, h, R, place)
    dw, dc = se3_variational.newton_step(system, h, R, J, q1, q2)
    by_z = jacobian(lambda z: np.concatenate(residual(z)[:2]), z0).value
    assert by_z @ (*dw, *dc) == pytest.approx((*q1, *q2), abs=1e-8)
    momentum = jacobian(lambda z: np.array(residual(z)[3][1]), z0).value
    assert np.array(J.f_w) == pytest.approx(momentum[:, :3], abs=1e-8)
    assert np.array(J.f_c).T == pytest.approx(momentum[:, 3:], abs=1e-8)


@pytest.mark.parametrize("plant", PLANTS)
def test_the_joint_holds_and_what_it_takes_is_missing_in_the_momenta(plant):
    """(8.5), with the joint's force as a multiplier, at a solution of (8.7)."""
    system, h = PLANTS[plant], 0.05
    R, options = unit_quaternion.matrix((0.5, -0.5, 0.5, 0.5)), select(NAME).options(system)
    guess = (1.1, -0.7, 0.5), (system.cart_free * 0.5, system.cart_free * -0.8)
    p, P = rod_on_cart.momenta(system, R, *guess)
    w, c, n, f, _, error = se3_variational.solve(system, options, h, R, p, P, guess)
    assert error < 1e-13 and vec.size(w) > 1.0
    V = se3_variational.residual(system, h, R, w, c, p, P)[2][1]
    arm = (0.0, 0.0, system.center)
    turn, moved = twist.exp(twist.scale(h, V))
    joint = np.array(vec.sub(vec.add(moved, arm), unit_quaternion.rotate(turn, arm)))
    assert joint == pytest.approx(h * np.array(n), abs=1e-14)
    GV = discrete_twist.metric(system.inertia, system.rod_mass, V)
    mu, linear = twist.dlog_transposed(twist.scale(h, V), GV)
    assert linear == pytest.approx(f, abs=1e-14)
    d = 0.5 * h * system.joint_damping
    assert vec.axpy(d, w, vec.add(mu, vec.cross(arm, linear))) == pytest.approx(p, abs=1e-13)


@pytest.mark.parametrize("plant", PLANTS)
def test_joint_force_is_the_multiplier(plant):
    """The momentum balance of the rod, (1.11), against the lambda that holds the joint: two roads,
    equal as h -> 0.
    """
    system, state, h = PLANTS[plant], start(PLANTS[plant]), 1e-4
    _, _, reaction = advanced(select(NAME), system, state, PUSHED, h, 1)
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
        q, v, _ = advanced(select(NAME), system, start(system), input, 1.0 / n, n)
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
    q, _, _ = advanced(select(NAME), system, state, no_input(), h, 1)
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
    record = apparatus.simulate(
        select(NAME, tolerance=1e-8), CART, at_origin(CART), 0.01, 100.0, 1.0
    )
    kept = apparatus.conservation(record, CART, 100)
    assert kept.horizontal_momentum < 1e-11


def test_a_step_too_large_is_reported_and_keeps_the_last_state():
    state = start(CART)
    state.v[2:4] = 40.0, 20.0
    integrator = select(NAME)
    done, iterations, residual = integrator.advance(
        CART, integrator.options(CART), no_input(), 0.3, 3, state, np.zeros(3)
    )
    assert done < 3 and not residual <= 1e-13 and iterations > 0
    assert np.isfinite(state.q).all() and np.isfinite(state.v).all()
