"""Obstacles that move jam the pendulum: the message says what is proved, and nothing passes."""

import numpy as np
import pytest

from rbdyn_ros.mechanics.integrators.select import select
from rbdyn_ros.mechanics.pendulum import rod_on_cart as body
from rbdyn_ros.mechanics.pendulum import world
from rbdyn_ros.mechanics.pendulum.obstacles import Obstacle, candidates
from rbdyn_ros.mechanics.pendulum.spherical_pendulum import Params, build, no_input, upright
from rbdyn_ros.mechanics.pendulum_contact import contact_law, contact_state, failures
from rbdyn_ros.mechanics.solvers import existence
from rbdyn_ros.types import Contacts, State

L, H, V = 2.4, 2.0**-9, 0.5


def wall(at, normal, speed=V, **law):
    """A plane that moves along its normal."""
    velocity = tuple(speed * np.array(normal))
    return Obstacle("wall", "wall", at, normal=normal, velocity=velocity, **law)


def ball(at, **law):
    return Obstacle("ball", "sphere", at, size=(0.25,), velocity=(0.0, 0.0, -V), **law)


def run(start, seconds, split, obstacle, fixed=True, floor=None):
    """(seconds until the run stopped, state of the contacts, deepest overlap [m])."""
    contacts = Contacts(length=L, obstacles=candidates((obstacle,)))
    if floor is not None:
        contacts = contacts._replace(floor=1.0, floor_height=-0.1, floor_friction=floor)
    system = build(Params(contacts=contacts, cart_fixed=fixed))
    integrator = select("quaternion_midpoint", max_iterations=50, split_at_impact=split)
    options, deepest = integrator.options(system), 0.0
    for k in range(round(seconds / H)):
        now = start._replace(t=k * H)
        if integrator.advance(system, options, no_input(), H, 1, now, np.zeros(3))[0] < 1:
            return k * H, options.contact, deepest
        gaps = world.gaps(contacts, State(0.0, start.q, start.v), (k + 1) * H)
        deepest = max(deepest, -min(gaps.values()))
    return seconds, options.contact, deepest


def check_certificate(c):
    """Its impulses move nothing, and the obstacles' velocities do work on them."""
    verdict = failures.judge(c)
    assert verdict.kind == existence.JAMMED and verdict.rest < 1e-14
    R, rate = tuple(map(tuple, c.attitude.tolist())), 0.0
    p, P = np.zeros(3), np.zeros(2)
    for i, impulse in zip(c.active[: c.count[0]], verdict.P):
        f = impulse * c.axes[i, 0]
        dp, dP = body.momenta_of_impulse(R, tuple(f.tolist()), float(c.rho[i]))
        p, P = p + dp, P + dP
        rate += f @ (c.axes[i].T @ c.moving[i])
    assert np.abs(p).max() < 1e-14 and (c.fixed[0] == 1 or np.abs(P).max() < 1e-14)
    assert rate == pytest.approx(verdict.rate) and rate > 0.1 * V


@pytest.mark.parametrize("split", [False, True])
@pytest.mark.parametrize("law", [{}, {"friction": 0.8, "restitution": 0.5}])
def test_a_jam_that_leaves_no_impulse_is_proved(law, split):
    """A wall comes to the foot of a hanging rod, the cart is fixed; it is there at the end of a
    step, up to round-off, so that nothing needs to be lifted.
    """
    obstacle = wall((1.0 - 1e-9, 0.0, 0.0), (-1.0, 0.0, 0.0), **law)
    end, c, deepest = run(upright(np.pi), 3.0, split, obstacle)
    assert end == pytest.approx(2.0, abs=1.5 * H) and deepest < 1e-9
    assert c.trouble[0] == contact_state.NO_LAW
    said = failures.explain_failure(c)
    assert said.startswith("no impulse exists: obstacle.wall presses and nothing gives way")
    assert said.endswith("the pendulum is jammed there")
    check_certificate(c)


@pytest.mark.parametrize("split", [False, True])
@pytest.mark.parametrize("fixed", [False, True])
@pytest.mark.parametrize("law", [{}, {"friction": 0.5, "restitution": 0.5}])
@pytest.mark.parametrize(
    "obstacle, when",
    [(wall((0.0, 0.0, 2.9), (0.0, 0.0, -1.0)), 1.0), (ball((0.0, 0.0, 3.0)), 0.7)],
)
def test_what_comes_down_on_an_upright_rod_jams_it(obstacle, when, law, fixed, split):
    """Where the cart is fixed it passed through the rod: a contact that cannot follow stuck."""
    end, c, deepest = run(upright(0.0), 1.5, split, obstacle._replace(**law), fixed)
    if not (fixed or obstacle.shape == "wall"):  # a sphere on the tip, which the cart lets slip
        assert deepest < 1e-9
        return
    assert end == pytest.approx(when, abs=1.5 * H) and deepest < 1e-9
    assert failures.explain_failure(c).endswith("the pendulum is jammed there")
    check_certificate(c)


@pytest.mark.parametrize("split", [False, True])
def test_two_contacts_that_press_are_proved(split):
    """A sphere presses the rod on a floor; the cart is fixed."""
    obstacle = ball((1.0, 0.0, 0.8), friction=0.5)
    end, c, deepest = run(upright(1.612), 1.5, split, obstacle, floor=0.5)
    assert end == pytest.approx(1.182, abs=0.01) and deepest < 1e-9
    assert c.count[0] == 2
    check_certificate(c)


@pytest.mark.parametrize("split", [False, True])
@pytest.mark.parametrize("friction", [0.0, 1.5])
def test_friction_locks_a_rod_on_a_fixed_cart(friction, split):
    """The wall went 0.08 m into the rod, whose tip cannot follow it: it moves along the rod, too.
    Without friction the tip slides out.
    """
    normal = np.array((0.9, -0.32, 0.29))
    normal /= np.linalg.norm(normal)
    obstacle = wall(tuple(-3.0 * normal), tuple(normal), friction=friction)
    end, c, deepest = run(upright(1.78), 4.0, split, obstacle)
    assert deepest < 1e-9 and (end == 4.0) == (friction == 0.0)
    if friction > 0.0:
        assert failures.explain_failure(c) == (
            "no impulse exists: friction locks obstacle.wall (certificate: no take-off, sticking "
            "or direction of sliding obeys the law)"
        )


@pytest.mark.parametrize("split", [False, True])
@pytest.mark.parametrize("speed", [0.2, -1.0, 1e-8])
def test_a_belt_slides_along_a_rod_on_a_fixed_cart(speed, split):
    """It rubs with all of its friction, along its motion; the tip stuck, with any force."""
    belt = Obstacle("belt", "box", (0.0, 0.0, -0.6), size=(20.0, 20.0, 1.0), friction=0.8)
    belt = belt._replace(velocity=(speed, 0.0, 0.0))
    start = upright(np.arccos(-0.1 / L))
    end, c, deepest = run(start, 0.5, split, belt)
    assert end == 0.5 and deepest < 1e-12 and np.abs(start.v).max() < 1e-9
    f = c.force.sum(axis=0)
    assert f[0] == pytest.approx(np.sign(speed) * 0.8 * f[2], rel=1e-9) and abs(f[1]) < 1e-6
    # levers about the joint, where half of the weight of 1 kg is at half of the length
    reach = np.sqrt(L * L - 0.01)
    assert reach * f[2] + 0.1 * f[0] == pytest.approx(0.5 * reach * 9.81, rel=1e-9)


def test_impulses_that_exist_are_not_called_a_jam():
    """A wall at a rod that hangs can push it away."""
    obstacle = wall((1.0, 0.0, 0.0), (-0.8, 0.0, 0.6), friction=0.3)
    contacts = Contacts(length=L, obstacles=candidates((obstacle,)))
    system, c = build(Params(contacts=contacts)), contact_state.create(world.candidates(contacts))
    R = ((-1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, -1.0))
    i = world.FIXED + 1  # the tip's
    c.count[0], c.law[i, 0] = 1, 0.3
    contact_state.aim(c, i, 0, obstacle.normal, L, obstacle.velocity)
    contact_law.couple(system, c, R)
    verdict = failures.judge(c)
    assert verdict.kind == existence.EXISTS
    found = failures.problem(c)
    u = found.D @ verdict.v + found.b
    assert u[0] > 0.3 * np.hypot(u[1], u[2])
    contact_state.record_failure(c, contact_state.NO_LAW, i)
    assert failures.explain_failure(c) == (
        "no impulse was found that obeys the law of obstacle.wall; one exists, for all contacts "
        "can open at once"
    )
