"""The coupled equations of motion against Newton and Euler with an explicit joint force, and
against the Lagrangian.
"""

import newton_euler
import numpy as np
import pytest
from hypothesis import given
from plants import FORCED, PLANTS, inputs, motions, multiply, spinning, start

from rbdyn_ros.mechanics.integrators import rk4
from rbdyn_ros.mechanics.integrators.select import select
from rbdyn_ros.mechanics.integrators.step import step
from rbdyn_ros.mechanics.pendulum import rod_on_cart
from rbdyn_ros.mechanics.pendulum.spherical_pendulum import no_input
from rbdyn_ros.numerics.finite_difference import jacobian


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
