"""The derivatives of steps that touch, against differences of the stepper on each side of nothing:
the contacts do the same at all points of a difference.
"""

import numpy as np
import pytest
from tangent import changed, difference, moved

from rbdyn_ros.geometry import unit_quaternion
from rbdyn_ros.mechanics.integrators import derivatives
from rbdyn_ros.mechanics.integrators.select import select
from rbdyn_ros.mechanics.pendulum import spherical_pendulum
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
    was_closed, recorded = options.contact.closed.copy(), options.contact.recorded[0]

    def flow(xi, system=system, gain=1.0):
        here, memory = moved(state, xi[:10]), options.contact.copy()
        forced = input._replace(force=gain * input.force + xi[10:])
        own = options._replace(contact=memory)
        assert method.advance(system, own, forced, H, 1, here, np.zeros(3))[0] == 1
        assert memory.recorded[0] - recorded == impacts
        assert memory.closed.sum() == closed
        return State(state.t + H, here.q, here.v)

    def with_parameters(e):
        plant = changed(system, e[:9])
        numbers = {
            name: float(getattr(plant.contacts, name) + change)
            for name, change in (
                ("floor_friction", e[10]),
                ("floor_restitution", e[11]),
                ("stop_restitution", e[11]),
            )
            if getattr(plant.contacts, name) > 0.0
        }
        contacts = plant.contacts._replace(**numbers)
        return flow(np.zeros(12), plant._replace(contacts=contacts), 1.0 + e[9])

    found = derivatives.along(
        method, system, state, input, H, by_parameters=True, contact=options.contact
    )
    # a closed contact's gap has derivatives of one side: the bias brings back what overlaps
    basis = np.eye(12)[:, 2:] if was_closed.any() else np.eye(12)
    if was_closed.any():
        R = np.array(unit_quaternion.matrix(tuple(state.q[2:])))
        lifts = np.zeros(12)
        lifts[2:5] = np.cross((0.0, 0.0, 1.0), R[2])
        basis = basis - np.outer(lifts, lifts @ basis) / (lifts @ lifts)
    numeric = jacobian(
        lambda e: flow(basis @ e), np.zeros(basis.shape[1]), minus=difference, step=1e-4
    ).value
    exact = np.hstack((found.A[0], found.B[0])) @ basis
    np.testing.assert_allclose(exact, numeric, rtol=0, atol=1e-8 * np.abs(numeric).max())
    numeric = jacobian(with_parameters, np.zeros(12), minus=difference, step=1e-4).value
    np.testing.assert_allclose(found.C[0], numeric, rtol=0, atol=1e-8)
    end = flow(np.zeros(12))
    np.testing.assert_allclose(found.states[1], (*end.q, *end.v), atol=1e-10)


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


def test_steps_without_a_derivative_are_refused():
    *case, _, _ = CASES["the tip lands"]
    whole = (case[0], False, *case[2:], 0, 0)
    method, system, options, input, state = before(whole)
    with pytest.raises(ValueError, match="at t = 0.73 s: it needs integrator.split_at_impact"):
        derivatives.along(method, system, state, input, H, contact=options.contact)
    ball = Contacts(obstacle=1.0, obstacle_point=(1.2, 0.0, 0.1), obstacle_radius=0.3)
    method, system, options, input, state = before(
        (ball._replace(floor=1.0), True, (0.0, 0.0), 0, 0, 0)
    )
    with pytest.raises(ValueError, match="it touches what is curved|more than one contact"):
        derivatives.along(method, system, state, input, H, 150)
