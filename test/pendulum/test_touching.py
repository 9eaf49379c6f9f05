"""Damping, loads, light carts and moving obstacles while the pendulum touches something."""

import numpy as np
import pytest
from falling import fall
from scipy.integrate import solve_ivp

from rbdyn_ros.experiments.contact_runs import follow
from rbdyn_ros.geometry import unit_quaternion
from rbdyn_ros.integrators import rk4
from rbdyn_ros.integrators.select import select
from rbdyn_ros.pendulum import rod_on_cart, world
from rbdyn_ros.pendulum.bodies import lighten
from rbdyn_ros.pendulum.obstacles import Obstacle, candidates
from rbdyn_ros.pendulum.spherical_pendulum import Params, build, no_input, quantities, upright
from rbdyn_ros.types import Contacts, Input, State

FLOOR = Contacts(floor=1.0, floor_height=-0.1, floor_friction=0.3)
BOUNCING = FLOOR._replace(floor_restitution=0.5)
BALL = Contacts(
    obstacle=world.SPHERE,
    obstacle_point=(1.2, 0.1, 0.9),
    obstacle_radius=0.2,
    obstacle_friction=0.3,
    obstacle_restitution=0.5,
)
THICK = Params(rod_inertia=(0.5, 0.5, 0.05))
DAMPED = THICK._replace(cart_damping=2.0, joint_damping=0.2)
SINES = np.array(((0.0, 2.0, 9.0, 0.3), (1.0, -1.0, 5.0, 1.0)))
WRENCH = np.array((0.7, -0.4, 1.1, 0.02, 0.03, 0.0, 0.1, -0.2, 1.3))
LOADS = Input(np.array((2.0, -3.0)), SINES, WRENCH)


def lying(speed=(2.0, 0.5)) -> State:
    """The tip on the floor, in motion."""
    state = upright(np.arccos(-0.1 / 2.4), 0.3)
    state.v[:2] = speed
    return state


def slid(params, input, seconds):
    """The state (11,) of the equations of motion of `rk4` with the floor's force on a tip that
    slides, by SciPy.
    """
    system, load = build(params), rod_on_cart.load(input)
    tip = np.array((0.0, 0.0, 2.4))

    def rates(t, y):
        Q, u, w = tuple(y[2:6]), y[6:8], y[8:]
        R = np.array(unit_quaternion.matrix(Q))
        slip = np.append(u, 0.0) + R @ np.cross(w, tip)
        direction = np.append(-0.3 * slip[:2] / np.linalg.norm(slip[:2]), 1.0)

        def under(N):
            T = load.T + np.cross(R @ (tip - load.r), N * direction)
            more = load._replace(F=tuple(load.F + N * direction), T=tuple(T))
            f = rod_on_cart.sines_at(input.sines, t)
            found = rk4.rates(system, more, f, Q, tuple(w), tuple(u))
            dx, dQ, dw, du = map(np.array, found)
            lift = R @ (np.cross(dw, tip) + np.cross(w, np.cross(w, tip)))
            return lift[2], np.concatenate((dx, dQ, du, dw))

        free, loaded = under(0.0)[0], under(1.0)[0]
        return under(free / (free - loaded))[1]

    begun = lying()
    y = np.r_[begun.q, begun.v]
    return solve_ivp(rates, (0.0, seconds), y, method="DOP853", rtol=1e-11, atol=1e-12).y[:, -1]


@pytest.mark.parametrize(
    "params, input",
    [
        (DAMPED, no_input()),
        (THICK, LOADS),
        (DAMPED, LOADS),
        (DAMPED._replace(cart_mass=0.05), LOADS),
    ],
    ids=("damping", "loads", "both", "a light cart"),
)
def test_a_tip_that_slides_follows_the_equations_of_motion_to_order_2(params, input):
    truth, errors = slid(params, input, 0.3), []
    for h in (4e-3, 2e-3, 1e-3):
        rows, memory, _ = fall(FLOOR, h, 0.3, lying(), params, input=input)
        assert memory.closed[world.FLOOR] == 1.0 and memory.recorded[0] == 0
        errors.append(np.abs(rows[-1] - truth).max())
    assert errors[2] < 2e-5
    np.testing.assert_allclose(np.log2(np.divide(errors[:-1], errors[1:])), 2.0, atol=0.25)


@pytest.mark.parametrize(
    "contacts, seconds, impacts", [(BOUNCING, 1.48, 2), (BALL, 0.5, 1)], ids=("floor", "sphere")
)
def test_impacts_under_damping_and_loads_are_of_order_2(contacts, seconds, impacts):
    """By the event-driven reference."""
    params = THICK._replace(cart_damping=0.5, joint_damping=0.05)
    system, errors = build(params._replace(contacts=contacts)), []
    truth, found = follow(system, upright(np.pi / 6), LOADS, np.array((0.0, seconds)))
    assert len(found["t"]) >= impacts
    for h in (2e-3, 1e-3, 5e-4):
        start = upright(np.pi / 6)
        rows, memory, _ = fall(contacts, h, seconds, start, params, input=LOADS)
        assert memory.recorded[0] == len(found["t"])
        errors.append(np.abs(rows[-1] - truth[-1]).max())
    assert errors[1] < 1e-4
    np.testing.assert_allclose(np.log2(np.divide(errors[:-1], errors[1:])), 2.0, atol=0.3)


def test_what_dampers_and_contacts_take_is_what_the_energy_lacks():
    """A tip that slides, to the second order of the step."""
    missed = []
    for h in (2e-3, 1e-3):
        begun = lying()
        system = build(DAMPED._replace(contacts=FLOOR))
        rows = [np.r_[begun.q, begun.v]]
        more, memory, _ = fall(FLOOR, h, 0.4, begun, DAMPED, every=1)
        rows = np.vstack((rows, more))
        power = 2.0 * (rows[:, 6:8] ** 2).sum(axis=1) + 0.2 * (rows[:, 8:] ** 2).sum(axis=1)
        damped = h * (power.sum() - 0.5 * (power[0] + power[-1]))
        before, after = (quantities(system, row[:6], row[6:])[0] for row in rows[[0, -1]])
        assert damped > 0.5 and memory.work[0] < -0.5
        missed.append(abs(after - before + damped - memory.work[0]))
    assert missed[1] < 1e-6 and missed[0] / missed[1] == pytest.approx(4.0, rel=0.1)


@pytest.mark.parametrize("mass", [0.0, 1e-6, 1e-2])
def test_mass_that_moves_from_the_rod_to_a_light_cart_changes_no_motion(mass):
    """Of the free pendulum, to round-off."""
    system = build(DAMPED._replace(cart_mass=mass))
    integrator, ends = select("quaternion_midpoint"), []
    assert lighten(system).cart_mass > mass
    for plant in (system, lighten(system)):
        state = upright(0.5, 0.3)
        state.v[:] = (0.4, -0.3, 0.5, 0.7, 3.0)
        integrator.advance(plant, integrator.options(plant), LOADS, 2e-3, 1000, state, np.zeros(3))
        ends.append(np.r_[state.q, state.v])
    np.testing.assert_allclose(ends[1], ends[0], atol=1e-12)


def test_a_massless_cart_is_the_limit_of_light_ones():
    rows = []
    for mass in (1e-4, 1e-6, 0.0):
        params = DAMPED._replace(cart_mass=mass, cart_damping=0.0)
        rows.append(fall(FLOOR, 1e-3, 0.4, upright(1.45, 0.3), params, every=20)[0])
    light, lighter = (np.abs(row - rows[2]).max() for row in rows[:2])
    assert lighter < 1e-5 and light / lighter == pytest.approx(100.0, rel=0.1)


@pytest.mark.parametrize("shape, size", [("sphere", (0.25,)), ("cylinder", (0.25, 1.6))])
def test_what_moves_together_moves_as_what_stands(shape, size):
    """An obstacle and a free cart with the same velocity more: x moves on by it, nothing else."""
    velocity, ends = np.array((0.4, -0.3, 0.0)), []
    for moves in (0.0, 1.0):
        law = dict(friction=0.3, restitution=0.5, velocity=tuple(moves * velocity))
        ball = Obstacle("a", shape, (1.3, 0.1, 0.9), size=size, **law)
        contacts = Contacts(length=2.4, obstacles=candidates((ball,)))
        begun = upright(np.pi / 6)
        begun.v[:2] += moves * velocity[:2]
        rows, memory, _ = fall(contacts, 1e-3, 1.0, begun, every=10)
        assert memory.recorded[0] >= 1
        t = 1e-2 * np.arange(1, len(rows) + 1)[:, None]
        rows[:, :2] -= moves * velocity[:2] * t
        rows[:, 6:8] -= moves * velocity[:2]
        ends.append(rows)
    np.testing.assert_allclose(ends[1], ends[0], atol=1e-9)


@pytest.mark.parametrize("every", [1, 7])
def test_loads_and_a_moving_wall_act_alike_however_steps_are_grouped(every):
    law = dict(friction=0.5, velocity=(-0.5, 0.0, 0.0))
    wall = Obstacle("wall", "wall", (2.4, 0.0, 0.0), normal=(-1.0, 0.0, 0.0), **law)
    contacts = FLOOR._replace(obstacles=candidates((wall,)))
    one, memory, _ = fall(contacts, 1e-3, 0.7, lying(), DAMPED, input=LOADS, every=700)
    many, other, _ = fall(contacts, 1e-3, 0.7, lying(), DAMPED, input=LOADS, every=every)
    assert memory.recorded[0] >= 1
    np.testing.assert_allclose(many[-1], one[-1], atol=1e-10)
    assert other.work[0] == pytest.approx(memory.work[0], abs=1e-9)
    np.testing.assert_allclose(other.impulse, memory.impulse, atol=1e-9)
