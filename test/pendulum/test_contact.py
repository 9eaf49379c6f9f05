"""The pendulum meets floor, rail ends and obstacles: impacts, sliding, rest; against event-driven
references.
"""

from pathlib import Path

import numpy as np
import pytest
from falling import fall

from rbdyn_ros.geometry import unit_quaternion
from rbdyn_ros.integrators.select import select
from rbdyn_ros.pendulum import rod_on_cart, world
from rbdyn_ros.pendulum.spherical_pendulum import (
    Params,
    build,
    no_input,
    point,
    quantities,
    upright,
)
from rbdyn_ros.plant.rollout import impact_columns
from rbdyn_ros.types import Contacts, State

GOLDEN = Path(__file__).parents[1] / "golden"
FLOOR = Contacts(floor=1.0, floor_height=-0.1, floor_restitution=0.5)
G = 9.81


@pytest.mark.parametrize("h", [1e-2, 1e-3])
def test_frictionless_impacts_of_the_tip(h):
    """Impact instants within the integrator's own error (order 2)."""
    reference = np.genfromtxt(
        GOLDEN / "rod_tip_frictionless_impacts.csv", delimiter=",", names=True
    )
    _, memory, _ = fall(FLOOR, h, 1.6)
    found = impact_columns(memory.events[: memory.recorded[0]])
    np.testing.assert_allclose(found["t"][:3], reference["t"], atol=2e-2 * h)
    np.testing.assert_allclose(found["u_n_plus"][:3], reference["un_plus"], atol=40 * h * h)
    np.testing.assert_allclose(found["P_n"][:3], reference["P_n"], atol=40 * h * h)
    np.testing.assert_allclose(found["u_n_plus"][:3], -0.5 * found["u_n_minus"][:3], rtol=1e-12)


def test_the_trajectory_between_impacts():
    reference = np.genfromtxt(GOLDEN / "rod_tip_frictionless_traj.csv", delimiter=",", names=True)
    rows, _, _ = fall(FLOOR, 1e-3, 1.5, every=10)
    names = ("X", "Y", "q0", "q1", "q2", "q3", "VX", "VY", "w1", "w2", "w3")
    truth = np.array([[row[name] for name in names] for row in reference[1 : len(rows) + 1]])
    assert reference["t"][1] == pytest.approx(0.01)
    np.testing.assert_allclose(rows, truth[: len(rows)], atol=3e-5)


@pytest.mark.parametrize("mu", [0.0, 0.3, 1.5])
@pytest.mark.parametrize("e", [0.0, 0.5])
def test_it_comes_to_rest_on_the_floor(mu, e):
    contacts = FLOOR._replace(floor_friction=mu, floor_restitution=e)
    rows, memory, reaction = fall(contacts, 5e-3, 12.0)
    tip = 2.4 * (1.0 - 2.0 * (rows[-1, 3] ** 2 + rows[-1, 4] ** 2)) + 0.1
    assert abs(tip) < 1e-13 and np.abs(rows[-1, 6:]).max() < 1e-10
    np.testing.assert_allclose(
        memory.force[world.FLOOR], (0.0, 0.0, 0.5 * G), atol=1e-7
    )  # half the rod, half the joint
    np.testing.assert_allclose(reaction, (0.0, 0.0, 0.5 * G), atol=1e-7)


@pytest.mark.parametrize("h", [4e-3, 1e-3])
def test_a_rod_that_lies_and_slides_counts_no_impacts(h):
    """A rebound with e g h / (1 + e) at the end of each step would be a flight shorter than a
    step, 53 and 194 impacts.
    """
    contacts = FLOOR._replace(floor_height=-0.5, floor_friction=0.5, floor_restitution=0.3)
    start, params = upright(np.pi / 3), Params(cart_damping=0.5)
    rows, memory, _ = fall(contacts, h, 1.2, start=start, params=params, every=1)
    assert 4 <= memory.recorded[0] <= 12 and memory.events[memory.recorded[0] - 1, 0] < 0.93
    tip = 2.4 * (1.0 - 2.0 * (rows[-1, 3] ** 2 + rows[-1, 4] ** 2)) + 0.5
    assert abs(tip) < 2e-12


def test_energy_falls_through_impacts_without_friction():
    rows, _, _ = fall(FLOOR, 1e-3, 3.0, every=1)
    system = build(Params())
    energy = np.array([quantities(system, row[:6], row[6:])[0] for row in rows])
    assert np.diff(energy).max() < 1e-4 and energy[-1] < energy[0] - 10.0


@pytest.mark.parametrize("mu", [0.0, 0.3, 1.5])
@pytest.mark.parametrize("h", [1e-3, 5e-3])
def test_a_landing_at_eight_meters_a_second_is_no_penetration_and_gains_no_energy(h, mu):
    """The tip is on the floor from the landing on."""
    rows, memory, _ = fall(
        FLOOR._replace(floor_friction=mu, floor_restitution=0.0), h, 1.5, every=1
    )
    system = build(Params())
    energy = np.array([quantities(system, row[:6], row[6:])[0] for row in rows])
    tips = np.array([point(row[:6], (0.0, 0.0, 2.4))[2] for row in rows])
    landed = round(memory.events[0, 0] / h + 0.5)
    assert memory.recorded[0] == 1 and memory.events[0, 5] < -7.0
    np.testing.assert_allclose(tips[landed:], -0.1, atol=1e-13)
    assert np.diff(energy).max() < 0.1 * h * h  # what the smooth motion's energy error swings by


@pytest.mark.parametrize("h, share", [(1e-3, 2e-5), (5e-3, 1e-3)])
def test_restitution_one_keeps_the_energy_without_friction(h, share):
    """Of m g l."""
    rows, memory, _ = fall(FLOOR._replace(floor_restitution=1.0), h, 8.0, every=1)
    system = build(Params())
    energy = np.array([quantities(system, row[:6], row[6:])[0] for row in rows])
    assert np.ptp(energy) < share * 11.772 and memory.recorded[0] >= 5


def test_rail_ends_turn_the_cart_around():
    """A cart that carries a hanging rod, pushed into the stop: it rebounds and never passes the
    end.
    """
    contacts = Contacts(stop_low=(-0.5, -0.5), stop_high=(0.5, 0.5), stop_restitution=0.7)
    start = upright(np.pi)
    start.v[0] = 1.0
    rows, memory, _ = fall(contacts, 1e-3, 6.0, start=start, every=1)
    assert np.abs(rows[:, 0]).max() < 0.5 + 1e-12
    found = impact_columns(memory.events[: memory.recorded[0]])
    assert len(found["t"]) >= 2 and set(found["contact"]) == {world.STOP_X}
    np.testing.assert_allclose(found["u_n_plus"], -0.7 * found["u_n_minus"], rtol=1e-9)
    np.testing.assert_allclose(rows[:, 1], 0.0, atol=1e-13)


def test_the_rod_slides_over_a_sphere_without_passing_through():
    contacts = Contacts(
        obstacle=world.SPHERE,
        obstacle_point=(1.2, 0.15, 0.6),
        obstacle_radius=0.25,
        obstacle_friction=0.2,
    )
    rows, memory, _ = fall(contacts, 1e-3, 4.0, every=1)
    gaps = [
        world.gaps(contacts._replace(length=2.4), State(0.0, row[:6], row[6:]))["obstacle"]
        for row in rows
    ]
    assert min(gaps) > -1e-12 and memory.recorded[0] >= 1


def test_a_leaning_wall_stops_the_tip_and_friction_holds_it():
    """A half space with a normal that points up and back: the tip meets it, bounces, and stays;
    its force lies in the cone.
    """
    wall = Contacts(
        obstacle=world.HALF_SPACE,
        obstacle_point=(2.0, 0.0, 0.0),
        obstacle_normal=(-0.6, 0.0, 0.8),
        obstacle_friction=0.9,
        obstacle_restitution=0.3,
        length=2.4,
    )
    rows, memory, _ = fall(
        wall._replace(stop_low=(-2.5, -1.0), stop_high=(0.0, 1.0)), 1e-3, 10.0, every=10
    )
    found = impact_columns(memory.events[: memory.recorded[0]])
    hits = found["contact"] == world.OBSTACLE
    assert hits.sum() >= 2
    before, after = found["u_n_minus"][hits], found["u_n_plus"][hits]
    assert after[0] == pytest.approx(-0.3 * before[0], rel=1e-12)
    n, f = np.array(wall.obstacle_normal), memory.force[world.OBSTACLE]
    assert np.abs(rows[-1, 6:]).max() < 1e-9 and np.linalg.norm(f - (f @ n) * n) <= 0.9 * (f @ n)
    assert abs(world.gaps(wall, State(0.0, rows[-1, :6], rows[-1, 6:]))["obstacle"]) < 1e-9


@pytest.mark.parametrize("h, off_impacts", [(1e-3, 9e-6), (5e-3, 2e-4), (2e-2, 3.5e-3)])
@pytest.mark.parametrize("e", [0.0, 0.5, 1.0])
def test_eight_seconds_on_the_floor_gain_no_energy(h, off_impacts, e):
    """mu 0 to 1.5, e 0 to 1: nothing but the step's own error."""
    for mu in (0.0, 0.3, 0.8, 1.5):
        start = upright(np.pi / 6)
        start.v[:] = (0.0, 0.3, 0.1, 0.0, 2.0)
        system = build(Params(contacts=FLOOR._replace(floor_friction=mu, floor_restitution=e)))
        rows, memory, _ = fall(system.contacts, h, 8.0, start=start, every=1)
        gain = np.diff([quantities(system, row[:6], row[6:])[0] for row in rows])
        hit = np.isin(
            np.arange(1, len(rows)),
            np.unique((memory.events[: memory.recorded[0], 0] / h).astype(int)),
        )
        assert (
            gain[~hit].max() < off_impacts
            and gain[hit].max(initial=0.0) < (1.0 if e == 1.0 else 10.0) * off_impacts
        ), mu


def test_a_half_space_below_is_a_floor():
    plane = Contacts(
        obstacle=world.HALF_SPACE, obstacle_point=(0.0, 0.0, -0.1), obstacle_restitution=0.5
    )
    a, _, _ = fall(plane, 1e-3, 3.0)
    b, _, _ = fall(FLOOR, 1e-3, 3.0)
    np.testing.assert_allclose(a, b, atol=1e-13)


def test_sticking_does_not_creep():
    """The rod leans on the floor, friction holds the tip against a pull at the cart: nothing moves
    in ten seconds.
    """
    contacts = FLOOR._replace(floor_friction=1.5, floor_restitution=0.0)
    pull = no_input()._replace(force=np.array([-0.5, 0.0]))
    start = upright(np.arccos(-0.1 / 2.4))
    rows, memory, _ = fall(contacts, 2e-3, 10.0, start=start, every=50, input=pull)
    np.testing.assert_allclose(rows, rows[0] * np.ones((len(rows), 1)), atol=1e-11)
    assert memory.force[world.FLOOR, 0] == pytest.approx(0.5, abs=1e-6)


def test_a_stuck_tip_stays_while_the_joint_circles_it():
    contacts = FLOOR._replace(floor_friction=1.5, floor_restitution=0.0)
    push = no_input()._replace(force=np.array([0.0, 0.2]))
    start = upright(np.arccos(-0.1 / 2.4))
    rows, _, _ = fall(contacts, 2e-3, 4.0, start=start, every=50, input=push)
    tips = np.array([point(row[:6], (0.0, 0.0, 2.4)) for row in rows])
    np.testing.assert_allclose(tips, tips[0] * np.ones((len(tips), 1)), atol=1e-9)
    assert rows[-1, 1] > 0.3


def test_open_contacts_change_nothing():
    far = Contacts(1.0, -9.0, stop_low=(-90.0, -90.0), stop_high=(90.0, 90.0))
    a, _, _ = fall(far, 1e-2, 5.0)
    system, state = build(Params()), upright(np.pi / 6)
    smooth = select("quaternion_midpoint")
    options = smooth.options(system)
    smooth.advance(system, options, no_input(), 1e-2, 500, state, np.zeros(3))
    np.testing.assert_allclose(a[-1], np.r_[state.q, state.v], atol=1e-11)


@pytest.mark.parametrize(
    "name, composition, contacts, tilt, sentence",
    [
        ("rk4", "none", FLOOR, np.pi / 6, "integrator.name is 'rk4', which knows no contacts"),
        ("quaternion_midpoint", "suzuki4", FLOOR, np.pi / 6, "contacts need 'none'"),
        (
            "quaternion_midpoint",
            "none",
            FLOOR,
            np.arccos(-0.3 / 2.4),
            "contact.floor overlaps the pendulum by 0.2",
        ),
        (
            "quaternion_midpoint",
            "none",
            Contacts(stop_low=(1.0, -1.0)),
            np.pi / 6,
            "contact.stops.x overlaps the pendulum by 1 m",
        ),
    ],
)
def test_what_does_not_fit_is_refused_before_the_first_step(
    name, composition, contacts, tilt, sentence
):
    system = build(Params(contacts=contacts))
    with pytest.raises(ValueError, match=sentence.replace(".", r"\.")):
        select(name, composition).check(system, upright(tilt), no_input())


def test_the_mean_force_of_an_impact_balances_the_momentum():
    system = build(Params(contacts=FLOOR))
    integrator = select("quaternion_midpoint", max_iterations=50)
    options, state, reaction = integrator.options(system), upright(np.pi / 6), np.zeros(3)
    while options.contact.recorded[0] == 0:
        q, v = state.q.copy(), state.v.copy()
        done, *_ = integrator.advance(system, options, no_input(), 1e-3, 1, state, reaction)
        assert done == 1
    momentum = [
        np.array(
            rod_on_cart.center_velocity(
                system, unit_quaternion.matrix(tuple(a[2:])), tuple(b[2:]), tuple(b[:2])
            )
        )
        for a, b in ((q, v), (state.q, state.v))
    ]
    force = (momentum[1] - momentum[0]) / 1e-3 + np.array((0.0, 0.0, G))
    np.testing.assert_allclose(
        reaction + options.contact.force[world.FLOOR], force, rtol=1e-9, atol=1e-9
    )
    assert options.contact.impulse[world.FLOOR] == pytest.approx(
        options.contact.events[0, 2], rel=1e-12
    )


def test_how_steps_are_grouped_into_calls_changes_round_off_only():
    """What is known to be far away is not looked at; where it is looked at again depends on the
    calls.
    """
    walls = FLOOR._replace(
        stop_low=(-0.3, -9.0),
        stop_high=(0.3, 9.0),
        obstacle=world.SPHERE,
        obstacle_point=(1.5, 0.3, 0.5),
    )
    start = upright(np.pi / 6, 0.1)
    one, memory, _ = fall(
        walls, 1e-3, 2.0, start=start._replace(q=start.q.copy(), v=start.v.copy())
    )
    many, other, _ = fall(walls, 1e-3, 2.0, start=start, every=1)
    assert memory.recorded[0] >= 3
    np.testing.assert_allclose(one[-1], many[-1], atol=1e-10)
    # an instant is known to 1e-15 L / |u_n|, the speed there to g times that: 2e-9 m/s at the last
    # bounces of 1e-5 m/s
    np.testing.assert_allclose(memory.events, other.events, atol=1e-8)


@pytest.mark.parametrize("h, largest", [(2e-3, 4e-3), (1e-3, 1e-3)])
def test_a_rebound_under_loads_keeps_the_energy(h, largest):
    """A cart that is driven and pushed against its rail end, e = 1, with a wrench on the rod."""
    contacts = Contacts(stop_high=(0.3, np.inf), stop_restitution=1.0)
    wrench = np.array((3.0, 0.0, -2.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0))
    input = no_input()._replace(force=np.array((10.0, 0.0)), disturbance=wrench)
    start = upright(0.4, 0.7)
    system = build(Params(contacts=contacts))

    def potential(q):
        return -10.0 * q[0] - wrench[:3] @ point(q, (0.0, 0.0, 1.0))

    rows, memory, _ = fall(contacts, h, 1.0, start=start, input=input, every=1)
    energy = [quantities(system, row[:6], row[6:])[0] + potential(row[:6]) for row in rows]
    assert memory.recorded[0] >= 2
    assert abs(energy[-1] - energy[0] - memory.work[0]) < largest
    assert np.ptp(energy) < largest  # a rebound with e = 1 keeps all
