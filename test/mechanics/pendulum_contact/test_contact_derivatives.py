"""The derivatives of steps that touch, against differences of the stepper on each side of nothing:
the contacts do the same at all points of a difference.
"""

from collections import Counter

import numpy as np
import pytest
from tangent import changed, difference, moved

from rbdyn_ros.geometry import quaternion, unit_quaternion
from rbdyn_ros.mechanics.integrators import derivatives
from rbdyn_ros.mechanics.integrators.select import select
from rbdyn_ros.mechanics.pendulum import spherical_pendulum
from rbdyn_ros.mechanics.pendulum.obstacles import candidates
from rbdyn_ros.mechanics.pendulum.params import Obstacle
from rbdyn_ros.mechanics.solvers.fc3d_one_contact import STICK
from rbdyn_ros.numerics.finite_difference import jacobian
from rbdyn_ros.types import Contacts, Input, State

PLANT = spherical_pendulum.Params(
    cart_damping=0.5, joint_damping=0.005, rod_inertia=(0.5, 0.5, 0.2)
)
FLOOR = Contacts(floor=1.0, floor_height=-0.1, floor_friction=0.2)
BOUNCY = FLOOR._replace(floor_restitution=0.5, floor_friction=0.3)
SLIPPERY = BOUNCY._replace(floor_friction=0.05)
STOPS = Contacts(stop_low=(-0.2, -0.2), stop_high=(0.2, 0.2), stop_restitution=0.4)
TILTED = spherical_pendulum.upright(np.pi / 6)
H = 0.01
# contacts, split, force, the step that is looked at, its impacts, what is closed after it
CASES = {
    "the tip rebounds and sticks": (BOUNCY, True, (1.0, 2.0), 73, 1, 0),
    "the tip rebounds and slides": (SLIPPERY, True, (1.0, 2.0), 73, 1, 0),
    "the tip lands": (FLOOR, True, (1.0, 2.0), 73, 1, 1),
    "the tip slides": (FLOOR, True, (1.0, 2.0), 75, 0, 1),
    "the tip sticks": (FLOOR, True, (1.0, 2.0), 100, 0, 1),
    "the tip sticks in whole steps": (FLOOR, False, (1.0, 2.0), 100, 0, 1),
    "the cart hits the end of its rails": (STOPS, True, (3.0, 1.0), 94, 1, 0),
    "nothing touches": (BOUNCY, True, (1.0, 2.0), 40, 0, 0),
}


def before(case):
    """The stepper, the system, its options, the force, and the state before the step."""
    contacts, split, force, k, _, _ = case
    system = spherical_pendulum.build(PLANT._replace(contacts=contacts))
    method = select(
        "quaternion_midpoint", tolerance=1e-14, max_iterations=50, split_at_impact=split
    )
    start = TILTED if contacts.floor else spherical_pendulum.upright(0.3)
    options, state = method.options(system), State(0.0, start.q.copy(), start.v.copy())
    input = Input(np.array(force), np.zeros((0, 4)), np.zeros(9))
    assert method.advance(system, options, input, H, k, state, np.zeros(3))[0] == k
    return method, system, options, input, state._replace(t=k * H)


@pytest.mark.parametrize("name", CASES)
def test_derivatives_of_a_step_are_those_of_the_stepper(name):
    *_, impacts, closed = CASES[name]
    method, system, options, input, state = before(CASES[name])
    was_closed, memory = options.contact.closed.any(), options.contact.copy()
    run = method, system, options, input, state
    found = compare(run, by_ridders, 1e-4, 1e-8, was_closed)
    method.advance(system, options, input, H, 1, state, np.zeros(3))
    assert options.contact.recorded[0] - memory.recorded[0] == impacts
    assert options.contact.closed.sum() == closed
    np.testing.assert_allclose(found.states[1], (*state.q, *state.v), atol=1e-10)


def by_ridders(function, n, step):
    return jacobian(function, np.zeros(n), minus=difference, step=step).value


def by_two_steps(function, n, step):
    """Central differences of two steps, extrapolated: a tenth of the time. Where they disagree,
    as they do where something only just is met, they say nothing.
    """

    def of(e):
        return [difference(function(row), function(-row)) / (2.0 * e) for row in e * np.eye(n)]

    fine, coarse = np.array(of(0.5 * step)).T, np.array(of(step)).T
    if np.abs(fine - coarse).max() > 3e-5 * max(1.0, np.abs(fine).max()):
        raise Changed
    return (4.0 * fine - coarse) / 3.0


def compare(run, differences, step, tolerance, is_one_sided=False):
    """The derivatives of a step by `derivatives`, after they were compared with differences of the
    stepper, whose contacts do the same at all points.
    """
    flow, (method, system, options, input, state) = Flow(*run), run
    found = derivatives.along(
        method, system, state, input, H, by_parameters=True, contact=options.contact
    )
    # a closed contact's gap has derivatives of one side: the bias brings back what overlaps
    basis = np.eye(12)[:, 2:] if is_one_sided else np.eye(12)
    if is_one_sided:
        R = np.array(unit_quaternion.matrix(tuple(state.q[2:])))
        lifts = np.zeros(12)
        lifts[2:5] = np.cross((0.0, 0.0, 1.0), R[2])
        basis = basis - np.outer(lifts, lifts @ basis) / (lifts @ lifts)
    numeric = differences(lambda e: flow(basis @ e), basis.shape[1], step)
    exact = np.hstack((found.A[0], found.B[0])) @ basis
    np.testing.assert_allclose(exact, numeric, rtol=0, atol=tolerance * np.abs(numeric).max())
    numeric = differences(flow.with_parameters, 12, step)
    atol = tolerance * max(1.0, np.abs(numeric).max())
    np.testing.assert_allclose(found.C[0], numeric, rtol=0, atol=atol)
    return found


class Changed(Exception):
    """The contacts do something else in a step nearby, or all but."""


class Flow:
    """A step from states, forces and parameters that differ by a little."""

    def __init__(self, method, system, options, input, state):
        self.all = method, system, options, input, state
        self.events = None
        self.events = self.run(state, system, input)[1]

    def run(self, state, system, input):
        method, _, options, _, _ = self.all
        here, memory = State(state.t, state.q.copy(), state.v.copy()), options.contact.copy()
        own = options._replace(contact=memory)
        assert method.advance(system, own, input, H, 1, here, np.zeros(3))[0] == 1
        return State(state.t + H, here.q, here.v), shape(memory)

    def __call__(self, xi, system=None, gain=1.0):
        _, plant, _, input, state = self.all
        forced = input._replace(force=gain * input.force + xi[10:])
        end, events = self.run(moved(state, xi[:10]), system or plant, forced)
        if events != self.events:
            raise Changed
        return end

    def with_parameters(self, e):
        plant = changed(self.all[1], e[:9])
        C, obstacles = plant.contacts, plant.contacts.obstacles.copy()
        for name, change in (("friction", e[10]), ("restitution", e[11])):
            obstacles[name] += change * (obstacles[name] > 0.0)
        numbers = {
            name: float(getattr(C, name) + e[10 + name.endswith("restitution")])
            for name in C._fields
            if name.endswith(("friction", "restitution")) and getattr(C, name) > 0.0
        }
        plant = plant._replace(contacts=C._replace(**numbers, obstacles=obstacles))
        return self(np.zeros(12), plant, 1.0 + e[9])


def shape(memory):
    """What the last step met, one after the other, and what is closed after it."""
    rows = memory.journal[: memory.noted[0]]
    pieces = [(*row[:2], row[3], row[1] == 0.0 and row[4], row[5] > 0.0) for row in rows.tolist()]
    return pieces, memory.closed.tolist()


def test_several_steps_through_landing_and_rest():
    """The tip falls, lands and slides: by the velocity of the cart, the force and the friction."""
    method, system, options, input, state = before((FLOOR, True, (1.0, 2.0), 70, 0, 0))
    found = derivatives.along(method, system, state, input, H, 8, True, options.contact)
    A, B, C = derivatives.total(found)
    chosen = derivatives.PARAMETERS.index("contact.friction")
    exact = np.column_stack((A[:, 5], B[:, 0], C[:, chosen]))

    def flow(e):
        own = options._replace(contact=options.contact.copy())
        after = State(state.t, state.q.copy(), state.v.copy())
        after.v[0] += e[0]
        contacts = FLOOR._replace(floor_friction=float(0.2 + e[2]), length=PLANT.rod_length)
        forced = input._replace(force=input.force + np.array((e[1], 0.0)))
        plant = system._replace(contacts=contacts)
        assert method.advance(plant, own, forced, H, 8, after, np.zeros(3))[0] == 8
        return after

    numeric = jacobian(flow, np.zeros(3), minus=difference, step=1e-4).value
    np.testing.assert_allclose(exact, numeric, atol=1e-7 * np.abs(numeric).max())


FLOORED = Contacts(bias=0.0, floor=1.0, floor_height=-0.1)  # no bias: no derivatives of one side
RAILS = {"stop_low": (-0.05, -0.05), "stop_high": (0.05, 0.05), "stop_restitution": 0.5}
BALL = {"obstacle": 1.0, "obstacle_point": (0.6, 0.1, 0.1), "obstacle_radius": 0.3}
LEANING, LYING = (
    (tuple(quaternion.exp(np.array(v)).tolist())) for v in ((0, -0.3, 0), (1.4, 0, 0))
)
BOX = Obstacle("box", "box", (0.8, 0.0, 0.2), LEANING, (0.5, 3.0, 0.6), velocity=(-0.1, 0.1, 0.2))
DRUM = Obstacle("drum", "cylinder", (0.8, 0.0, 0.2), LYING, (0.3, 3.0), velocity=(-0.1, 0.0, 0.0))
WALL = Obstacle("wall", "wall", (0.9, 0.0, 0.0), normal=(-0.96, 0.0, 0.28), velocity=(-0.2, 0, 0))
SCENES = {  # the contacts, whether the cart is fixed, what has to happen in one of the steps
    "floor": (
        FLOORED,
        False,
        {"two impacts", "a rebound within its cone", "a rebound at the edge of its cone"},
    ),
    "floor and rails": (FLOORED._replace(**RAILS), False, {"an impact beside a contact"}),
    "sphere": (FLOORED._replace(floor=0.0, **BALL), False, {"a rebound at the edge of its cone"}),
    "all": (FLOORED._replace(**RAILS, **BALL), False, {"an impact beside a contact"}),
    "fixed cart": (FLOORED, True, {"a rebound within its cone", "a sticking contact"}),
    "box": (FLOORED._replace(floor=0.0, obstacles=candidates((BOX,))), False, set()),
    "cylinder": (FLOORED._replace(floor=0.0, obstacles=candidates((DRUM,))), False, set()),
    "wall": (FLOORED._replace(obstacles=candidates((WALL,))), False, {"two impacts"}),
}


@pytest.mark.parametrize("name", SCENES)
def test_derivatives_in_scenes(name):
    """By every law of impacts, with sticking and sliding, one after the other in a fall."""
    contacts, is_fixed, wanted = SCENES[name]
    rng, seen, compared = np.random.default_rng(len(name)), set(), 0
    for law in range(4):
        for _ in range(2):
            mu, e = rng.choice((0.1, 0.5, 1.0)), rng.choice((0.0, 0.4, 0.8))
            C = contacts._replace(
                impact_law=float(law),
                floor_friction=mu,
                floor_restitution=e,
                obstacle_friction=mu,
                obstacle_restitution=e,
                obstacles=contacts.obstacles.copy(),
            )
            C.obstacles["friction"], C.obstacles["restitution"] = mu, e
            happened, count = compare_in_fall(C, is_fixed, rng)
            seen, compared = seen | happened, compared + count
    assert compared >= 16
    assert wanted <= seen


def compare_in_fall(contacts, is_fixed, rng):
    """Compare the derivatives of some steps that touch of a random fall; (what happened in them,
    how many there were). Steps next to which the contacts do something else are left out.
    """
    system = spherical_pendulum.build(PLANT._replace(contacts=contacts))
    if is_fixed:
        system = system._replace(cart_free=0.0)
    method = select(
        "quaternion_midpoint", tolerance=1e-14, max_iterations=50, split_at_impact=True
    )
    options, q = method.options(system), np.zeros(6)
    side = 0.4 * rng.normal()
    q[2:] = quaternion.exp(0.5 * np.array((-np.sin(side), np.cos(side), 0.0)))
    v = rng.normal(size=5) * (0.2, 0.2, 0.7, 0.7, 0.4)
    v[:2] *= system.cart_free
    state, input = State(0.0, q, v), Input(rng.normal(size=2), np.zeros((0, 4)), np.zeros(9))
    happened, shapes = set(), Counter()
    for k in range(150):
        memory, start = options.contact.copy(), State(k * H, state.q.copy(), state.v.copy())
        if method.advance(system, options, input, H, 1, state, np.zeros(3))[0] != 1:
            break
        rows = options.contact.journal[: options.contact.noted[0]]
        what = str(shape(options.contact))
        if not (rows[:, 3] >= 0.0).any() or shapes[what] > 2 or shapes.total() > 15:
            continue
        try:
            own = options._replace(contact=memory)
            compare((method, system, own, input, start), by_two_steps, 1e-5, 3e-6)
        except Changed:
            continue
        shapes[what] += 1
        happened |= describe(rows, contacts.floor_friction)
    return happened, shapes.total()


def describe(rows, mu):
    """What happened in a step, in words."""
    impacts = rows[(rows[:, 1] == 1.0) & (rows[:, 5] > 0.0)]
    edge = np.hypot(*impacts[:, 6:8].T) / (mu * impacts[:, 5])
    back = impacts[:, 11] < 0.0
    found = {
        "two impacts": len(set(impacts[:, 0])) > 1,
        "an impact beside a contact": impacts[:, 12].any(),
        "a rebound at the edge of its cone": (back & (edge > 1.0 - 1e-9)).any(),
        "a rebound within its cone": (back & (edge < 1.0 - 1e-9)).any(),
        "a sticking contact": (rows[rows[:, 1] == 0.0, 4] == STICK).any(),
    }
    return {name for name, is_so in found.items() if is_so}


def test_steps_without_a_derivative_are_refused():
    *case, _, _ = CASES["the tip lands"]
    whole = (case[0], False, *case[2:], 0, 0)
    method, system, options, input, state = before(whole)
    with pytest.raises(ValueError, match="at t = 0.73 s: it meets something at its end"):
        derivatives.along(method, system, state, input, H, contact=options.contact)
