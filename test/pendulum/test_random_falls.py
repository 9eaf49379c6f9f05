"""The pendulum falls between close rail ends, over and over: no step fails, the tip ends on the
floor, no energy comes from nowhere.

The tip sticks on a rod that is almost flat while the cart leans on one or two rail ends: rows that
are nearly dependent, or dependent.
"""

import numpy as np
import pytest
import random_falls

from rbdyn_ros.bodies.contact.restitution import LAWS, NEWTON
from rbdyn_ros.integrators.select import select
from rbdyn_ros.pendulum import world
from rbdyn_ros.pendulum.bodies import explain_failure
from rbdyn_ros.pendulum.spherical_pendulum import Params, build, no_input, quantities, upright
from rbdyn_ros.types import Contacts, State

SECONDS = 4.0


def between_rails(wide, mu, e=0.0):
    """Rail ends at +- wide [m] in x and y, a floor 0.1 m below the joint."""
    return Contacts(1.0, -0.1, mu, e, stop_low=(-wide, -wide), stop_high=(wide, wide), length=2.4)


def fallen(contacts, h, tilt, azimuth, v):
    """(largest rise of the energy in a step [J], largest penetration of the last quarter [m]) of a
    fall; every step must hold.
    """
    system, state, reaction = build(Params(contacts=contacts)), upright(tilt, azimuth), np.zeros(3)
    integrator = select("quaternion_midpoint", max_iterations=50)
    options, state.v[:] = integrator.options(system), v
    energy, deepest, steps = [quantities(system, state.q, state.v)[0]], 0.0, round(SECONDS / h)
    for k in range(steps):
        done, _, residual = integrator.advance(
            system, options, no_input(), h, 1, state._replace(t=k * h), reaction
        )
        assert done == 1, f"t = {k * h:.3f} s: {explain_failure(options.contact) or residual}"
        energy.append(quantities(system, state.q, state.v)[0])
        if k > 0.75 * steps:
            deepest = max(
                deepest, -min(world.gaps(contacts, State(0.0, state.q, state.v)).values())
            )
    return np.diff(energy).max(), deepest


def numbered(seed, number, draw=random_falls.draw):
    """A fall that once went wrong, with the default cart."""
    rng = np.random.default_rng(seed)
    *_, fall = (draw(rng) for _ in range(number + 1))
    return fall._replace(params=fall.params._replace(cart_mass=Params().cart_mass))


def drawn(rng):
    """A start: (tilt, azimuth, v), half of them with spin."""
    spin = rng.choice([0.0, 10.0]) * rng.normal()
    return (
        rng.uniform(0.1, 1.2),
        rng.uniform(-np.pi, np.pi),
        np.concatenate([1.5 * rng.normal(size=2), 2.0 * rng.normal(size=2), [spin]]),
    )


@pytest.mark.parametrize("h, falls, gain", [(2e-2, 150, 2e-2), (5e-3, 40, 5e-3)])
def test_falls_that_land_without_rebound(h, falls, gain):
    rng = np.random.default_rng(7)
    for _ in range(falls):
        contacts = between_rails(rng.uniform(0.2, 1.0), rng.choice([0.0, 0.3, 0.8, 1.5]))
        rise, deepest = fallen(contacts, h, *drawn(rng))
        assert rise < gain and deepest < 1e-6


def test_falls_that_rebound():
    rng = np.random.default_rng(8)
    for _ in range(60):
        contacts = between_rails(rng.uniform(0.2, 1.0), rng.choice([0.0, 0.3, 1.5]), 0.5)
        rise, deepest = fallen(contacts, 5e-3, *drawn(rng))
        assert rise < 5e-3 and deepest < 1e-6


@pytest.mark.parametrize("e", [0.0, 0.5])
def test_a_rod_that_friction_wedges_under_a_sphere_goes_on(e):
    """Two to eight of these falls stopped, without impulses between floor and sphere."""
    rng = np.random.default_rng(12)
    for _ in range(100):
        contacts = between_rails(
            rng.uniform(0.2, 1.0), rng.choice([0.0, 0.3, 0.8, 1.5]), e
        )._replace(
            obstacle=world.SPHERE,
            obstacle_point=(*rng.uniform(-1.5, 1.5, 2), 0.2),
            obstacle_radius=0.25,
            obstacle_friction=0.5,
        )
        start = drawn(rng)
        if min(world.gaps(contacts, upright(*start[:2])).values()) > 0.02:
            fallen(contacts, 2e-2, *start)


def test_a_sample_of_random_falls_lands():
    """Floors from -0.1 to -2 m, rail ends, spheres, free and fixed carts:
    `random_falls.py` runs more of them.
    """
    rng = np.random.default_rng(5)
    for k in range(100):
        fall = random_falls.with_law(random_falls.draw(rng), float(k % len(LAWS)))
        outcome = random_falls.run(fall)
        assert not outcome.reason, (k, outcome)
        assert outcome.gain < 50.0 * fall.h**2, (k, outcome)
        # of a step in which friction begins to stick
        assert outcome.excess * fall.h < 0.05 and outcome.pull < 1e-2, (k, outcome)
        assert outcome.overlap < 1e-9, (k, outcome)


@pytest.mark.parametrize("number", [28, 89])
def test_the_energy_balance_holds_on_a_fixed_cart(number):
    """Two falls, at 10 and 2 ms, whose balance was once off by 0.2 and 0.12 J."""
    assert random_falls.run(numbered(1, number)).balance < 2e-2


@pytest.mark.parametrize("number", [50, 120])
def test_a_contact_that_begins_to_stick_rubs_no_more_than_it_may_and_does_not_pull(number):
    """Once the forces left the cones by 19 N, pulled with 32 N and gained 0.11 J."""
    outcome = random_falls.run(numbered(11, number))
    assert (
        not outcome.reason
        and outcome.excess < 1e-2
        and outcome.pull < 1e-9
        and outcome.gain < 2e-2
    ), outcome


@pytest.mark.parametrize("number", [1570, 2905])
def test_friction_lies_in_the_cone_of_the_frame_in_which_it_acted(number):
    """Spheres without friction at 20 ms: seen in the frame of the step's end alone, friction
    looked like 1.4 and 1.9 N.
    """
    assert random_falls.run(numbered(2002, number)).excess < 2e-2


def test_the_energy_balance_holds_over_a_curved_side():
    """A fall among obstacles, at 1 ms, whose balance was once off by 0.095 J."""
    drop = numbered(2, 38, random_falls.draw_among_obstacles)
    assert random_falls.run(drop).balance < 1e-3


def test_two_points_of_the_rod_that_stick_leave_a_stress_free_and_agree():
    """Tip on the floor, rod on a sphere, cart at its rail end: 2000 sweeps of their rows, which
    depend on each other, were too few.
    """
    outcome = random_falls.run(numbered(1001, 1901))
    assert not outcome.reason and outcome.gain < 1e-5 and outcome.balance < 1e-3, outcome


@pytest.mark.parametrize(
    "wide, tilt, azimuth, v",
    # rounds that swung, one between a rail end and none, two about a solution; sweeps that would
    # have wound up a stress for ever
    [
        (0.2029303333239721, 1.1891123021743595, 1.5913737504568841,
         (-1.0103721976626825, -0.8203398965798887, -0.7729674960300722, -0.483891758639643, 0.0)),
        (0.5827666394476325, 0.13066758750023627, 0.2566764426397281,
         (-1.1135111798878277, -1.1950426749829837, 1.4206139723040505, 0.1688335091277344, 0.0)),
        (0.4605612322216427, 1.0214805814478514, 2.7322776881593116,
         (-3.5007733824064697, 0.17176381743294716, 0.48554558424966276, -1.0578121508877778,
          0.0)),
        (0.6992975833456181, 0.9670469737875824, -1.3218220824051767,
         (-3.0248633634065447, -1.6074354858411342, 0.4625173605446697, 4.152778233615494,
          -11.583354537494577)),
    ],
)  # fmt: skip
def test_falls_that_once_failed(wide, tilt, azimuth, v):
    rise, deepest = fallen(between_rails(wide, 1.5), 2e-2, tilt, azimuth, v)
    assert rise < 2e-2 and deepest < 1e-6


def test_a_tip_between_a_floor_and_a_sphere_with_much_friction():
    """Steps of 2 ms, mu 1.5 and 1.0, e 0: floor and sphere press the tip together."""
    assert random_falls.run(numbered(31337, 152), SECONDS).reason == ""


def test_a_contact_that_has_left_a_rim_does_not_pull():
    """Its force was 89 N towards a cylinder, whose normal had turned by more than 60 degrees."""
    drop = numbered(2, 219, random_falls.draw_among_obstacles)
    outcome = random_falls.run(random_falls.with_law(drop, 3.0))
    assert not outcome.reason and outcome.pull < 0.05, outcome


def test_a_joint_that_rests_on_a_slope_is_not_stressed():
    """A massless cart stops where its joint lies on the side of a box: no impulses were found, for
    a point that stays in the rod was taken to move along what the joint holds (M.14a); and cone
    and joint could press on each other with 1e8 N.
    """
    rng = np.random.default_rng(103)
    *_, fall = (random_falls.draw_among_obstacles(rng) for _ in range(442))
    outcome = random_falls.run(random_falls.with_law(fall, float(NEWTON)))
    assert not outcome.reason and outcome.overlap < 1e-9, outcome
    assert outcome.excess < 0.05 and outcome.pull < 1e-2 and outcome.balance < 1e-3, outcome


def test_a_wall_pushes_a_tip_whose_rod_sticks_to_a_sphere():
    """Floor, sphere and wall hold the four motions that they reach five times: neither sweeps nor
    rounds at a given slip found the impulses that exist.
    """
    rng = np.random.default_rng(102)
    *_, fall = (random_falls.draw_among_obstacles(rng) for _ in range(160))
    outcome = random_falls.run(random_falls.with_law(fall, float(159 % len(LAWS))))
    assert not outcome.reason, outcome
    # where the three share a load anew
    assert outcome.excess * fall.h < 0.05 and outcome.pull < 1e-2, outcome
    assert outcome.overlap < 1e-6 and outcome.gain < 1e-3 and outcome.balance < 1e-3, outcome


def test_a_tip_that_lands_steeply_while_a_heavy_cart_leans_on_its_rail_end():
    """Friction of 1.5 on the floor presses the cart there: 8600 sweeps would find the impulses."""
    rng = np.random.default_rng(6)
    *_, fall = (random_falls.draw(rng) for _ in range(372))
    outcome = random_falls.run(random_falls.with_law(fall, float(371 % len(LAWS))))
    assert not outcome.reason, outcome
    assert outcome.excess < 0.05 and outcome.pull < 1e-2 and outcome.overlap < 1e-9, outcome


def test_a_massless_cart_that_rests_on_an_edge_presses_with_its_weight():
    """The joint lies on a rim, whose friction the plane of the cart could hold with any force. The
    round-off of that singular contact was inverted: 1e12 N, and 2e6 J of work on a fall of 6 J.
    """
    rng = np.random.default_rng(912)
    *_, fall = (random_falls.draw_among_obstacles(rng) for _ in range(1178))
    outcome = random_falls.run(random_falls.with_law(fall, float(NEWTON)))
    assert not outcome.reason and outcome.balance < 1e-3, outcome
    assert outcome.excess < 1.0 and outcome.pull < 1.0, outcome
