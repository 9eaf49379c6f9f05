"""Obstacles that move jam the pendulum: the run stops, names a contact, and nothing passes."""

import numpy as np
import pytest

from rbdyn_ros.integrators.select import select
from rbdyn_ros.pendulum import world
from rbdyn_ros.pendulum.bodies import explain_failure
from rbdyn_ros.pendulum.obstacles import Obstacle, candidates
from rbdyn_ros.pendulum.spherical_pendulum import Params, build, no_input, upright
from rbdyn_ros.types import Contacts, State

L, H, V = 2.4, 2.0**-9, 0.5


def wall(at, normal, speed=V, **law):
    """A plane that moves along its normal."""
    velocity = tuple(speed * np.array(normal))
    return Obstacle("wall", "wall", at, normal=normal, velocity=velocity, **law)


def ball(at, **law):
    return Obstacle("ball", "sphere", at, size=(0.25,), velocity=(0.0, 0.0, -V), **law)


def run(start, seconds, obstacle, fixed=True, floor=None):
    """(seconds until the run stopped, memory, deepest overlap [m])."""
    contacts = Contacts(length=L, obstacles=candidates((obstacle,)))
    if floor is not None:
        contacts = contacts._replace(floor=1.0, floor_height=-0.1, floor_friction=floor)
    system = build(Params(contacts=contacts, cart_fixed=fixed))
    integrator = select("quaternion_midpoint", max_iterations=50)
    options, deepest = integrator.options(system), 0.0
    for k in range(round(seconds / H)):
        now = start._replace(t=k * H)
        if integrator.advance(system, options, no_input(), H, 1, now, np.zeros(3))[0] < 1:
            return k * H, options.contact, deepest
        gaps = world.gaps(contacts, State(0.0, start.q, start.v), (k + 1) * H)
        deepest = max(deepest, -min(gaps.values()))
    return seconds, options.contact, deepest


@pytest.mark.parametrize("law", [{}, {"friction": 0.8, "restitution": 0.5}])
def test_a_wall_at_the_foot_of_a_rod_on_a_fixed_cart_jams_it(law):
    """It is there at the end of a step, up to round-off."""
    obstacle = wall((1.0 - 1e-9, 0.0, 0.0), (-1.0, 0.0, 0.0), **law)
    end, memory, deepest = run(upright(np.pi), 3.0, obstacle)
    assert end == pytest.approx(2.0, abs=1.5 * H) and deepest < 1e-9
    said = explain_failure(memory)
    assert said.startswith("no impulses were found at obstacle.wall (")
    assert said.endswith("or free what is pressed there")


@pytest.mark.parametrize("fixed", [False, True])
@pytest.mark.parametrize("law", [{}, {"friction": 0.5, "restitution": 0.5}])
@pytest.mark.parametrize(
    "obstacle, when",
    [(wall((0.0, 0.0, 2.9), (0.0, 0.0, -1.0)), 1.0), (ball((0.0, 0.0, 3.0)), 0.7)],
)
def test_what_comes_down_on_an_upright_rod_jams_it(obstacle, when, law, fixed):
    """A contact that cannot follow once stuck, and the obstacle passed through the rod."""
    end, memory, deepest = run(upright(0.0), 1.5, obstacle._replace(**law), fixed)
    assert end == pytest.approx(when, abs=1.5 * H) and deepest < 1e-9
    named = f"no impulses were found at obstacle.{obstacle.name} (the rod on an obstacle)"
    assert explain_failure(memory).startswith(named)


def test_two_contacts_that_press_jam_the_rod():
    """A sphere presses the rod on a floor; the cart is fixed."""
    obstacle = ball((1.0, 0.0, 0.8), friction=0.5)
    end, memory, deepest = run(upright(1.612), 1.5, obstacle, floor=0.5)
    assert end == pytest.approx(1.182, abs=0.01) and deepest < 1e-9
    said = explain_failure(memory)
    assert "contact.floor (the rod on the world)" in said or "obstacle.ball" in said


@pytest.mark.parametrize("friction", [0.0, 1.5])
def test_friction_locks_a_rod_on_a_fixed_cart(friction):
    """The wall went 0.08 m into the rod, whose tip cannot follow it: it moves along the rod, too.
    Without friction the tip slides out.
    """
    normal = np.array((0.9, -0.32, 0.29))
    normal /= np.linalg.norm(normal)
    obstacle = wall(tuple(-3.0 * normal), tuple(normal), friction=friction)
    end, memory, deepest = run(upright(1.78), 4.0, obstacle)
    assert deepest < 1e-9 and (end == 4.0) == (friction == 0.0)
    if friction > 0.0:
        said = "no impulses were found at obstacle.wall (the rod on an obstacle); "
        assert explain_failure(memory).startswith(said)


@pytest.mark.parametrize("speed", [0.2, -1.0, 1e-4])
def test_a_belt_slides_along_a_rod_on_a_fixed_cart(speed):
    """It rubs with all of its friction, along its motion; the tip stuck, with any force."""
    belt = Obstacle("belt", "box", (0.0, 0.0, -0.6), size=(20.0, 20.0, 1.0), friction=0.8)
    belt = belt._replace(velocity=(speed, 0.0, 0.0))
    start = upright(np.arccos(-0.1 / L))
    end, memory, deepest = run(start, 0.5, belt)
    assert end == 0.5 and deepest < 1e-12 and np.abs(start.v).max() < 1e-9
    f = memory.force.sum(axis=0)
    assert f[0] == pytest.approx(np.sign(speed) * 0.8 * f[2], rel=1e-9) and abs(f[1]) < 1e-6
    # levers about the joint, where half of the weight of 1 kg is at half of the length
    reach = np.sqrt(L * L - 0.01)
    assert reach * f[2] + 0.1 * f[0] == pytest.approx(0.5 * reach * 9.81, rel=1e-9)
