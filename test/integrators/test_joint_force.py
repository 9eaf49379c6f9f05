"""The joint's force on the rod: multipliers and momentum balance against the continuous
equations.
"""

import newton_euler
import numpy as np
import pytest
from measure import advanced
from plants import FORCED, PENDULUM, PLANTS, PUSHED, start

from rbdyn_ros.integrators.select import select
from rbdyn_ros.pendulum.spherical_pendulum import no_input, upright

NAMES = ["rk4", "moser_veselov", "quaternion_midpoint"]
STEPS = np.array([4e-3, 2e-3, 1e-3])


@pytest.mark.parametrize("name", NAMES)
def test_joint_carries_the_weight_of_a_rod_at_rest(name):
    for tilt in (0.0, np.pi):
        _, _, reaction = advanced(
            select(name), PLANTS["fixed pivot"], upright(tilt), no_input(), 0.01, 1
        )
        assert reaction == pytest.approx([0.0, 0.0, 9.81], abs=1e-12)


def force_in_the_middle(system, input, h: float) -> np.ndarray:
    """Joint force half a step before 0.5 s, by Newton and Euler."""
    times = [0.0, 0.5 - 0.5 * h]
    q, v = newton_euler.trajectory(system, input, start(system), times)
    return newton_euler.accelerations(system, input, times[1], q[1], v[1])[2]


@pytest.mark.parametrize("plant", PLANTS)
@pytest.mark.parametrize("name", NAMES)
def test_reaction_of_a_falling_rod_is_the_joint_force_at_midpoint(name, plant):
    """Second order: the mean over a step is the force at its middle up to O(h^2)."""
    system, integrator = PLANTS[plant], select(name)
    errors = []
    for h in STEPS:
        _, _, reaction = advanced(integrator, system, start(system), PUSHED, h, round(0.5 / h))
        errors.append(np.abs(reaction - force_in_the_middle(system, PUSHED, h)).max())
    assert errors[-1] < 1e-3
    assert np.log2(errors[0] / errors[-1]) / 2.0 > 1.9, errors


def test_cart_feels_the_opposite_of_the_joint_force():
    """M (x'_1 - x'_0)/h = mean u - b mean x' - reaction_xy, to the order of the trapezoid."""
    system, h = PLANTS["damped"], 1e-3
    q0, v0, _ = advanced(select("quaternion_midpoint"), system, start(system), FORCED, h, 499)
    q1, v1, reaction = advanced(
        select("quaternion_midpoint"), system, start(system), FORCED, h, 500
    )
    u = 0.5 * (newton_euler.cart_force(FORCED, 0.499) + newton_euler.cart_force(FORCED, 0.5))
    balance = (
        system.cart_mass * (v1[:2] - v0[:2]) / h
        - u
        + system.cart_damping * 0.5 * (v0[:2] + v1[:2])
        + reaction[:2]
    )
    assert np.abs(balance).max() < 1e-5


def test_composed_reaction_is_the_mean_over_all_stages():
    h = 0.01
    _, _, reaction = advanced(
        select("quaternion_midpoint", "kahan_li8"), PENDULUM, start(PENDULUM), FORCED, h, 50
    )
    states = [
        advanced(
            select("quaternion_midpoint", "kahan_li8"), PENDULUM, start(PENDULUM), FORCED, h, n
        )[:2]
        for n in (49, 50)
    ]
    V = [newton_euler.center_velocity(PENDULUM, q, v) for q, v in states]
    assert reaction == pytest.approx((V[1] - V[0]) / h + [0.0, 0.0, 9.81], abs=1e-9)
