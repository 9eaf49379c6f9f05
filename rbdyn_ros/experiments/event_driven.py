"""The pendulum that hits things, event by event: what steppers with contacts are held against.

A `Model` of a cart and a rod on a ball joint, with their contacts as pairs, that integrators/nonsmooth/event_driven flies from
impact to impact: other coordinates, another integrator and another solver than the pendulum's steppers.
"""

from typing import NamedTuple

import numpy as np

from rbdyn_ros.bodies import rigid_bodies, rod_on_cart
from rbdyn_ros.bodies.quaternion_body import turned_back
from rbdyn_ros.contacts import world
from rbdyn_ros.geometry import quaternion
from rbdyn_ros.integrators.nonsmooth import event_driven
from rbdyn_ros.mechanics import model, network
from rbdyn_ros.mechanics.description import joints, pairs
from rbdyn_ros.systems import assembly
from rbdyn_ros.types import Array, Contacts, Input, State, System

_ACCURACY = 1e-12
CART, ROD = 0, 1


class Impact(NamedTuple):
    """What happened at one instant."""

    t: float  # [s]
    contact: int  # of `contacts.world.NAMES`
    P: Array  # (3,) impulse, normal and tangents [N s]
    before: float  # u_N^- [m/s]
    after: float  # u_N^+ [m/s]


def follow(system: System, state: State, input: Input, times, most: int = 1000) -> tuple:
    """(rows (n, 11) of q and v at `times`, which begin at the state's, and the Impacts until the last of them).

    It ends with the `most`-th event, rows and all; ArithmeticError where it cannot go on before.
    """
    contacts, candidates = _candidates(system)
    net, q, v = network.network(_cart_and_rod(system, state, candidates), _load(system, input))
    options = event_driven.options(_ACCURACY, max_events=most)
    run = event_driven.run(net, state.t, q, v, times, options)
    if not run.ok and len(run.events) < most:
        raise ArithmeticError(run.message)
    impacts = [_impact(net, contacts, event) for event in run.events if event.kind == "impact"]
    return np.hstack([run.q[:, :2], run.q[:, 10:], run.v[:, :2], run.v[:, 9:]]), impacts


def _cart_and_rod(system: System, state: State, candidates: list) -> model.Model:
    """Two bodies and a ball joint in the cart's center; the cart keeps its height and its attitude."""
    mass, inertia = (system.cart_mass, system.rod_mass), ((1.0, 1.0, 1.0), system.inertia)
    cart = (1.0, 1.0, 1.0, 1.0, 1.0, 1.0) if system.cart_free == 0.0 else (0.0, 0.0, 1.0, 1.0, 1.0, 1.0)
    bodies = rigid_bodies.build(mass, inertia, (0.0, 0.0, -system.gravity), (cart, (0.0,) * 6))
    c, x, u, w = np.array([0.0, 0.0, system.center]), np.append(state.q[:2], 0.0), np.append(state.v[:2], 0.0), state.v[2:]
    along, swing = (quaternion.rotate(state.q[2:], a) for a in (c, np.cross(w, c)))
    q = rigid_bodies.configuration(bodies, (x, x + along), ((1.0, 0.0, 0.0, 0.0), state.q[2:]))
    v = rigid_bodies.motion(bodies, (u, u + swing), (np.zeros(3), w))
    link = joints.assembled(2, joints.ball_joint(ROD, -c, CART, (0.0, 0.0, 0.0)))
    return model.build(bodies, q, v, link, pairs.build(2, *candidates))


def _candidates(system: System) -> tuple:
    """(numbers of `contacts.world`, pairs) of what the rod's tip and the cart can meet; ValueError for a sphere."""
    C: Contacts = system.contacts
    tip, found = (0.0, 0.0, C.length - system.center), []
    if C.floor:
        found.append((world.FLOOR, pairs.corner(ROD, tip, s=(0.0, 0.0, C.floor_height), mu=C.floor_friction, e=C.floor_restitution)))
    for i, axis in ((world.STOP_X, np.eye(3)[0]), (world.STOP_Y, np.eye(3)[1])):
        for sign, end in ((1.0, C.stop_low[i - world.STOP_X]), (-1.0, C.stop_high[i - world.STOP_X])):
            if np.isfinite(end):
                found.append((i, pairs.corner(CART, (0.0, 0.0, 0.0), n=sign * axis, s=end * axis, e=C.stop_restitution)))
    if C.obstacle == world.SPHERE:
        raise ValueError("contact.obstacle is a sphere, which the rod meets as a line; events are followed with a half space only")
    if C.obstacle == world.HALF_SPACE:
        law = {"mu": C.obstacle_friction, "e": C.obstacle_restitution}
        found.append((world.OBSTACLE, pairs.corner(ROD, tip, n=C.obstacle_normal, s=C.obstacle_point, **law)))
    return [i for i, _ in found], [pair for _, pair in found]


def _load(system: System, input: Input):
    """What acts beside the weight: damping, the force on the cart, a wrench at a point of the rod."""
    F, T, r = np.split(input.disturbance, 3)
    arm = r - (0.0, 0.0, system.center)

    def wrench(t, q, v):
        out, f = np.zeros(12), rod_on_cart.sines_at(input.sines, t)
        out[:2] = input.force + f - system.cart_damping * v[:2]
        F_b, T_b = (np.array(turned_back(tuple(q[10:]), tuple(a))) for a in (F, T))
        out[6:9], out[9:] = F, T_b + np.cross(arm, F_b) - system.joint_damping * v[9:]
        return out

    return wrench


def _impact(net: assembly.Network, contacts: list, event) -> Impact:
    """The first interaction is the joint, the next ones are the contacts."""
    k = event.interactions[0]
    one, first = net.interactions[k], net.interactions[0].relation.rows
    if len(event.interactions) > 1 or len(event.impulses) != first + one.relation.rows + net.interactions[-1].relation.rows:
        name = world.NAMES[contacts[k - 1]]
        raise ArithmeticError(f"at t = {event.t:g} s {name} is hit while another contact is closed; only single impacts are told")
    P, rows = np.zeros(3), assembly.rows(net, one, event.t, event.q)
    P[: one.relation.rows] = event.impulses[first : first + one.relation.rows]
    before, after = (float(next(iter(rows.values()))[0] @ v[0]) for v in (event.before, event.after))
    return Impact(event.t, contacts[k - 1], P, before, after)
