"""The rod slides over a ball and over a round post: the normal turns and the point that touches
moves along the rod.
"""

import numpy as np
import pytest

from rbdyn_ros.integrators.select import select
from rbdyn_ros.pendulum import obstacles, world
from rbdyn_ros.pendulum.spherical_pendulum import Params, build, no_input, quantities, upright
from rbdyn_ros.types import Contacts

LYING = (np.sqrt(0.5), np.sqrt(0.5), 0.0, 0.0)  # the axis of a post, along y


def ball(mu):
    return Contacts(
        obstacle=world.SPHERE,
        obstacle_point=(0.9, 0.0, 0.6),
        obstacle_radius=0.25,
        obstacle_friction=mu,
    )


def post(mu):
    shape = obstacles.Obstacle(
        "post", "cylinder", (1.2, 0.0, -1.0), LYING, (0.8, 3.0), friction=mu
    )
    return Contacts(obstacles=obstacles.candidates((shape,)))


def leaning_on(contacts):
    """The state of least tilt in which the rod touches."""
    low, high = (
        0.0,
        next(
            a
            for a in np.arange(0.0, 3.0, 1e-3)
            if min(world.gaps(contacts, upright(a, 0.1)).values()) < 0
        ),
    )
    for _ in range(60):
        middle = 0.5 * (low + high)
        is_open = min(world.gaps(contacts, upright(middle, 0.1)).values()) > 0.0
        low, high = (middle, high) if is_open else (low, middle)
    return upright(low, 0.1)


def slide(contacts, v, h, seconds=0.4):
    """(q at the end, gap [m] and energy [J] after each step)."""
    system = build(Params(contacts=contacts))
    integrator = select("quaternion_midpoint", max_iterations=50)
    options, state, reaction = integrator.options(system), leaning_on(contacts), np.zeros(3)
    state.v[:], rows = v, []
    for k in range(round(seconds / h)):
        now = state._replace(t=k * h)
        assert integrator.advance(system, options, no_input(), h, 1, now, reaction)[0] == 1
        assert options.contact.closed.any()
        gap = min(world.gaps(contacts, state).values())
        rows.append((gap, quantities(system, state.q, state.v)[0]))
    return state.q.copy(), *np.array(rows).T


@pytest.mark.parametrize(
    "contacts, v, most",
    [
        (post(0.0), (1.0, 1.0, 0.3, 0.5, 3.0), 4e-6),
        (post(0.3), (1.0, 1.0, 0.3, 0.5, 3.0), 1.8e-6),
        (ball(0.3), (0.0, 0.0, 0.0, 1.0, 0.0), 3e-6),
    ],
)
def test_sliding_over_a_curved_side_is_of_order_2(contacts, v, most):
    reference, *_ = slide(contacts, v, 2.5e-4)
    errors = [np.abs(slide(contacts, v, h)[0] - reference).max() for h in (8e-3, 4e-3, 2e-3)]
    assert errors[0] < most
    np.testing.assert_array_less(1.8, np.log2(np.divide(errors[:-1], errors[1:])))


@pytest.mark.parametrize("contacts", [post(0.0), post(0.3)])
def test_what_slides_over_a_curved_side_neither_leaves_nor_enters_it(contacts):
    """Kept to the tangent plane of the step's start it would rise by 6e-4 m here; the rod has a
    radius of 1e-12 m.
    """
    _, gaps, _ = slide(contacts, (1.0, 1.0, 0.3, 0.5, 3.0), 8e-3)
    assert np.abs(gaps).max() < 2e-12


def test_sliding_over_a_curved_side_without_friction_loses_energy_of_order_2_only():
    """The frame of the step's start took 2.8e-5 J in a step of 8 ms, of order 1 in all."""
    lost = []
    for h in (8e-3, 4e-3, 2e-3):
        energy = slide(post(0.0), (1.0, 1.0, 0.3, 0.5, 3.0), h)[2]
        assert np.abs(np.diff(energy)).max() < 3.0 * h**3
        lost.append(abs(energy[-1] - energy[0]))
    assert lost[0] < 4e-5
    np.testing.assert_array_less(1.85, np.log2(np.divide(lost[:-1], lost[1:])))
