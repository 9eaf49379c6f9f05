"""The coupled equations of motion against Newton and Euler with an explicit joint force, and
against the Lagrangian.
"""

import newton_euler
import numpy as np
import pytest
from hypothesis import given
from plants import FORCED, PLANTS, PUSHED, REFERENCE, inputs, motions, multiply, spinning, start
from scipy.integrate import simpson

from rbdyn_ros.integrators import rk4
from rbdyn_ros.integrators.select import select
from rbdyn_ros.integrators.step import step
from rbdyn_ros.numerics.finite_difference import jacobian
from rbdyn_ros.pendulum import rod_on_cart
from rbdyn_ros.pendulum.spherical_pendulum import build, no_input, quantities, upright


def rates(system, input, t, q, v) -> np.ndarray:
    """d(q, v)/dt (11,) as rk4 computes it."""
    f = rod_on_cart.sines_at(input.sines, t)
    Q, w, u = tuple(q[2:].tolist()), tuple(v[2:].tolist()), tuple(v[:2].tolist())
    dx, dq, dw, du = rk4.rates(system, rod_on_cart.load(input), f, Q, w, u)
    return np.array([*dx, *dq, *du, *dw])


@given(motions(), inputs)
def test_rates_are_those_of_newton_and_euler(motion, input):
    system, (_, q, v) = motion
    ours = rates(system, input, 0.4, q, v)
    theirs = newton_euler.rates(system, input, 0.4, np.concatenate([q, v]))
    condition = (1.0 + system.rod_mass * (1.0 + system.center) ** 2) / min(system.inertia)
    assert np.abs(ours - theirs).max() <= 1e-13 * condition * (1.0 + np.abs(theirs).max())


def lagrangian(system, q, v) -> float:
    return newton_euler.kinetic_energy(system, q, v) - newton_euler.potential_energy(system, q)


def moved(q, e) -> np.ndarray:
    """The cart moved by e[:2] and the rod turned by e[2:] [body]."""
    half = 0.5 * e[2:]
    return np.concatenate(
        [q[:2] + e[:2], multiply(q[2:], np.append(np.sqrt(1.0 - half @ half), half))]
    )


@pytest.mark.parametrize("plant", PLANTS)
def test_accelerations_satisfy_the_euler_poincare_equations(plant):
    """d/dt dL/dw + w x dL/dw = dL/dR - d w,  d/dt dL/dx' = u - b x': every derivative is a
    difference of L.
    """
    system, (_, q, v) = PLANTS[plant], start(PLANTS[plant])

    def p(q, v):
        return jacobian(lambda v: lagrangian(system, q, v), v).value.ravel()

    acceleration = rates(system, FORCED, 0.0, q, v)[6:]

    # to second order in t
    def way(t):
        return moved(q, t * v + 0.5 * t * t * acceleration)

    dp = jacobian(lambda t: p(way(t), v + t * acceleration), np.zeros(1), step=0.01).value.ravel()
    dL = jacobian(lambda e: lagrangian(system, moved(q, e), v), np.zeros(5)).value.ravel()
    u, w = newton_euler.cart_force(FORCED, 0.0), v[2:]
    assert dp[2:] + np.cross(w, p(q, v)[2:]) == pytest.approx(
        dL[2:] - system.joint_damping * w, abs=1e-8
    )
    if system.cart_free:
        assert dp[:2] == pytest.approx(u - system.cart_damping * v[:2], abs=1e-8)


def test_keeps_the_last_state_when_numbers_overflow():
    state = spinning()
    state.v[4] = 1e200
    result = step(select("rk4"), PLANTS["cart"], state, no_input(), 0.01)
    assert not result.ok and result.residual == np.inf
    assert (
        (result.state.q == state.q).all()
        and (result.state.v == state.v).all()
        and result.state.t == 0.0
    )


LIGHT = build(  # its friction stops a spin within 0.125 ms
    REFERENCE._replace(
        rod_mass=0.05,
        rod_length=0.1,
        rod_radius=0.005,
        rod_center_of_mass=None,
        rod_inertia=None,
        joint_damping=0.005,
    )
)


def run(system, input, state, h: float, n: int):
    """The states after each of n steps."""
    states, method = [state], select("rk4")
    for _ in range(n):
        result = step(method, system, states[-1], input, h)
        assert result.ok
        states.append(result.state)
    return states


@pytest.mark.parametrize("h", [1e-5, 1e-4, 1e-3, 0.002, 0.01])
@pytest.mark.parametrize("spin", [5.0, 1e-16])
def test_the_friction_on_the_spin_is_exact_at_any_step(h, spin):
    """Also where it stops the spin within less than a step, for a spin of round-off, too."""
    state = upright(0.2, 0.3)
    state.v[4] = spin
    ends = np.array([each.v[4] for each in run(LIGHT, no_input(), state, h, 10)])
    decay = np.exp(-LIGHT.joint_damping / LIGHT.inertia[2] * h * np.arange(11))
    np.testing.assert_allclose(ends, spin * decay, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("h", [1e-4, 1e-3, 0.01])
def test_a_spin_under_a_constant_torque_is_exact(h):
    """w_3 = (T / d) (1 - e^-st): the end is the balance of torque and friction."""
    input, T = no_input(), 1e-4
    input.disturbance[5] = T
    ends = np.array([each.v[4] for each in run(LIGHT, input, upright(), h, 20)])
    s = LIGHT.joint_damping / LIGHT.inertia[2]
    exact = T / LIGHT.joint_damping * (1.0 - np.exp(-s * h * np.arange(21)))
    np.testing.assert_allclose(ends, exact, rtol=1e-11)


DAMPED = {
    "slow": build(REFERENCE._replace(cart_damping=0.5, joint_damping=0.005)),
    "fast": build(REFERENCE._replace(cart_damping=0.5, joint_damping=0.05)),  # 250/s
    "asymmetric": PLANTS["asymmetric"]._replace(cart_damping=0.5, joint_damping=1.2),
}


@pytest.mark.parametrize("plant", DAMPED)
def test_the_order_is_4_with_friction_and_torque_on_the_spin(plant):
    system, T, errors = DAMPED[plant], 0.2, []
    q, v = newton_euler.trajectory(system, PUSHED, spinning(), [0.0, T])
    exact = np.concatenate((q[-1], v[-1]))
    for n in (80, 160, 320):
        end = run(system, PUSHED, spinning(), T / n, n)[-1]
        errors.append(np.abs(np.concatenate((end.q, end.v)) - exact).max())
    orders = np.log2(np.array(errors[:-1]) / errors[1:])
    assert (orders > 3.8).all() and errors[-1] < 1e-6, (errors, orders)


@pytest.mark.parametrize("plant", DAMPED)
def test_the_energy_that_is_lost_is_what_the_frictions_take(plant):
    """E(0) - E(T) against the integral of d |w|^2 + b |x'|^2 by Simpson's rule: order 4, too."""
    system, T, gaps = DAMPED[plant], 0.2, []
    for n in (100, 200, 400):
        states = run(system, no_input(), spinning(), T / n, n)
        energy = [quantities(system, each.q, each.v)[0] for each in states]
        v = np.array([each.v for each in states])
        loss = system.joint_damping * (v[:, 2:] ** 2).sum(1)
        loss += system.cart_damping * (v[:, :2] ** 2).sum(1)
        gaps.append(abs(energy[0] - energy[-1] - simpson(loss, dx=T / n)))
    assert gaps[0] / gaps[1] > 13.0 and gaps[1] / gaps[2] > 13.0, gaps
