"""Runs with contacts that the experiments share: of networks and models, by time stepping into
arrays; and of the pendulum, with its errors against event-driven runs.

The latter are of a `Model` of a cart and a rod on a ball joint, with their contacts as pairs,
which network/event_driven integrates from impact to impact: other coordinates, another
integrator and another solver than the pendulum's stepper.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from rbdyn_ros.bodies import model as models
from rbdyn_ros.bodies import moreau_jean as of_models
from rbdyn_ros.bodies.columns import TIME
from rbdyn_ros.bodies.description import contact_pairs, geoms, joint_kinds, rigid_bodies
from rbdyn_ros.bodies.description.quaternion_body import inverse_rotate
from rbdyn_ros.experiments.outcome import (
    Claim,
    between,
    columns,
    slope,
    slope_guide,
    track_progress,
)
from rbdyn_ros.figures import BLACK, BLUE, GREEN, RED
from rbdyn_ros.geometry import quaternion
from rbdyn_ros.integrators.select import select
from rbdyn_ros.network import (
    dynamics,
    event_driven,
    moreau_jean_linear,
    moreau_jean_theta,
    second_order,
)
from rbdyn_ros.network.second_order import MechanicalNetwork
from rbdyn_ros.numerics.arguments import vector
from rbdyn_ros.pendulum import rod_on_cart, world
from rbdyn_ros.plant import rollout
from rbdyn_ros.plant.rollout import impact_columns
from rbdyn_ros.types import Array, Input, State, System

EXACT, COARSE, FINE, EVENTS = BLACK, RED, BLUE, GREEN


class March(NamedTuple):
    """The states at the ends of the steps; the first row is the start."""

    t: Array  # (k + 1,)
    q: Array  # (k + 1, n_q) of the first system
    v: Array  # (k + 1, n)
    impulses: Array  # (k, m), all interactions side by side; moreau_jean_linear: its contacts


def march(
    net: MechanicalNetwork, q: tuple[Array, ...], v: tuple[Array, ...], h: float, steps: int
) -> March:
    """Simulate `steps` steps of moreau_jean. Raise ValueError where none can begin, and with the
    stepper's sentence if one fails.
    """
    second_order.check_start(net, 0.0, q, v)
    rows_q, rows_v, rows_p = [q[0]], [v[0]], []
    for k in range(steps):
        step = moreau_jean_theta.step(net, k * h, q, v, h)
        if not step.ok:
            raise ValueError(step.message)
        q, v = step.q, step.v
        rows_q.append(q[0])
        rows_v.append(v[0])
        rows_p.append(np.concatenate(step.impulses))
    return March(h * np.arange(steps + 1), np.array(rows_q), np.array(rows_v), np.array(rows_p))


def march_model(model: models.Model, h: float, steps: int) -> March:
    """Simulate the same of a model, compiled; the impulses are those of its pairs, summed up:
    along the normal, and the vector on their first body.
    """
    rows_q, rows_v = [models.places(model)], [of_models.velocities(model)]
    rows_p = []
    for k in range(steps):
        if not of_models.advance(model, h, 1):
            reason = of_models.failure(model)
            raise ValueError(f"the step to t = {(k + 1) * h:g} s is not solved: {reason}")
        rows_q.append(models.places(model))
        rows_v.append(of_models.velocities(model))
        rows_p.append(models.contact_impulses(model))
    q, v = (np.array(rows).reshape(steps + 1, -1) for rows in (rows_q, rows_v))
    return March(h * np.arange(steps + 1), q, v, np.array(rows_p).reshape(steps, -1))


def march_linear(
    linear: moreau_jean_linear.LinearSystem, forces: Array, q: ArrayLike, v: ArrayLike
) -> March:
    """Simulate len(forces) - 1 steps of moreau_jean_linear. Raise ValueError if one fails."""
    size = len(linear.C)
    n, q, v = len(forces) - 1, vector(q, "q", size), vector(v, "v", size)
    positions, velocities = np.empty((n + 1, len(q))), np.empty((n + 1, len(q)))
    positions[0], velocities[0] = q, v
    impulses = np.empty((n, len(linear.b)))
    done = moreau_jean_linear.advance(
        linear, forces, q, v, positions[1:], velocities[1:], impulses
    )
    if done < n:
        raise ValueError(
            f"step {done} is not solved or its force is not finite; take a smaller step than "
            f"{linear.h:g} s"
        )
    return March(linear.h * np.arange(n + 1), positions, velocities, impulses)


_ACCURACY = 1e-12
CART, ROD = 0, 1


def follow(
    system: System, state: State, input: Input, times, most: int = 1000
) -> tuple[Array, dict[str, Array]]:
    """Return (rows (n, 11) of q and v at `times`, which begin at the state's, and the impacts
    until the last of them: t [s], number of the contact, P_n [N s], normal velocity before and
    after [m/s]).

    The run and its rows end with the `most`-th event. Raise ArithmeticError where it fails before.
    """
    contacts, candidates = _candidates(system)
    made = _cart_and_rod(system, state, candidates)
    models.part(made, "clock")[TIME] = state.t
    options = event_driven.options(_ACCURACY, max_events=most)
    run = event_driven.run_model(made, times, _load(system, input), options)
    if not run.ok and len(run.events) < most:
        raise ArithmeticError(run.message)
    met = dynamics.OfModel(made, None)
    impacts = [_impact(met, contacts, event) for event in run.events if event.kind == "impact"]
    rows = np.hstack([run.q[:, :2], run.q[:, 10:], run.v[:, :2], run.v[:, 9:]])
    return rows, columns("t contact P_n u_n_minus u_n_plus", impacts)


def _cart_and_rod(system: System, state: State, candidates: list) -> models.Model:
    """Return two bodies and a ball joint in the cart's center; the cart keeps its height and
    attitude.
    """
    mass, inertia = (system.cart_mass, system.rod_mass), ((1.0, 1.0, 1.0), system.inertia)
    fixed = 1.0 - system.cart_free
    cart = (fixed, fixed, 1.0, 1.0, 1.0, 1.0)
    bodies = rigid_bodies.build(mass, inertia, (0.0, 0.0, -system.gravity), (cart, (0.0,) * 6))
    c, x, u, w = (
        np.array([0.0, 0.0, system.center]),
        np.append(state.q[:2], 0.0),
        np.append(state.v[:2], 0.0),
        state.v[2:],
    )
    along, swing = (quaternion.rotate(state.q[2:], a) for a in (c, np.cross(w, c)))
    q = rigid_bodies.configuration(bodies, (x, x + along), ((1.0, 0.0, 0.0, 0.0), state.q[2:]))
    v = rigid_bodies.motion(bodies, (u, u + swing), (np.zeros(3), w))
    link = joint_kinds.assemble(2, joint_kinds.ball_joint(ROD, -c, CART, (0.0, 0.0, 0.0)))
    return models.build(bodies, q, v, link, contact_pairs.build(2, *candidates))


def _candidates(system: System) -> tuple:
    """Return (numbers of `pendulum.world`, pairs) of the possible contacts: of the tip
    with the floor, of the cart with the ends of its rails, of the rod with a sphere.
    """
    C, found, origin = system.contacts, [], (0.0, 0.0, 0.0)
    tip = (0.0, 0.0, C.length - system.center)
    if C.floor:
        law: dict[str, Any] = {"mu": C.floor_friction, "e": C.floor_restitution}
        height = (0.0, 0.0, C.floor_height)
        found.append((world.FLOOR, contact_pairs.corner(ROD, tip, s=height, **law)))
    for i, ends in enumerate(zip(C.stop_low, C.stop_high)):
        for n, end in zip((np.eye(3)[i], -np.eye(3)[i]), ends):
            if np.isfinite(end):
                stop = contact_pairs.corner(
                    CART, origin, n=n, s=end * np.eye(3)[i], e=C.stop_restitution
                )
                found.append((world.STOP_X + i, stop))
    law = {"mu": C.obstacle_friction, "e": C.obstacle_restitution}
    if C.obstacle == world.SPHERE:
        middle = (0.0, 0.0, 0.5 * C.length - system.center)
        line = geoms.capsule(C.obstacle_radius, C.length, ROD, middle)._replace(radius=0.0)
        ball = geoms.sphere(C.obstacle_radius, position=C.obstacle_point)
        found += [(world.OBSTACLE, pair) for pair in geoms.pairs_between(line, ball, **law)]
    return [i for i, _ in found], [pair for _, pair in found]


def _load(system: System, input: Input):
    """Return the forces besides the weight: damping, the cart's force, a wrench at a point of the
    rod.
    """
    F, T, r = np.split(input.disturbance, 3)
    arm = r - (0.0, 0.0, system.center)

    def wrench(t, q, v):
        out, f = np.zeros((2, 6)), rod_on_cart.sines_at(input.sines, t)
        out[CART, :2] = input.force + f - system.cart_damping * v[CART, :2]
        F_b, T_b = (np.array(inverse_rotate(tuple(q[ROD, 3:]), tuple(a))) for a in (F, T))
        turning = T_b + np.cross(arm, F_b) - system.joint_damping * v[ROD, 3:]
        out[ROD, :3], out[ROD, 3:] = F, turning
        return out

    return wrench


def _impact(met: dynamics.OfModel, contacts: list, event) -> tuple:
    """Return a row of the impacts for an event, whose only interaction is the pair that is hit."""
    k = event.interactions[0]
    if len(event.interactions) > 1 or len(event.impulses) != met.sizes[k]:
        raise ArithmeticError(
            f"at t = {event.t:g} s {world.NAMES[contacts[k]]} is hit while another contact is "
            "closed; impacts are recorded one by one"
        )
    before, after = (met.speeds(event.t, event.q, v, [k])[0] for v in (event.before, event.after))
    return event.t, contacts[k], event.impulses[0], before, after


# as keywords of `plot`; thin lines are drawn on top
REFERENCE: dict[str, Any] = {"color": EXACT, "linewidth": 4.0, "label": "exact"}
STEPPED: dict[str, Any] = {"color": COARSE, "linewidth": 1.0, "label": "steps"}


class ContactRun(NamedTuple):
    """A run and the impacts in it."""

    t: Array  # (n,) [s]
    y: Array  # (n, 11) q, v
    energy: Array  # (n,) [J]
    impacts: dict  # `plant.rollout.impact_columns`
    force: Array  # (4, 3) of the contacts in the last step [N, world]


def simulate(
    system: System, state: State, input: Input, h: float, rows: int, every: int
) -> ContactRun:
    """Simulate `rows` times `every` steps of h [s]. Raise ArithmeticError if one fails."""
    integrator = select("quaternion_midpoint", max_iterations=50)
    record = rollout.run(integrator, system, state, input, h, rows, every)
    if not record.ok:
        raise ArithmeticError(record.message)
    y = np.hstack([record.q, record.v])
    force = record.options.contact.force.copy()
    return ContactRun(record.t, y, record.quantities[:, 0], impact_columns(record.impacts), force)


def compare(
    system: System, state: State, input: Input, steps, duration: float, first: int, progress
) -> tuple[dict[str, Array], dict[str, Array], Array, dict[str, Array], ContactRun]:
    """Return (errors table, impacts table, exact rows, exact impacts, run at the last of the
    steps).

    The errors at each step are those of the `first` impacts' instants and the velocities after
    them, and of the whole state at the end.
    """
    row = max(steps)
    rows = round(duration / row)
    truth, exact = follow(system, state, input, np.arange(rows + 1) * row)
    progress(0.3)
    errors, impacts = [], [("exact", 0.0, exact)]
    for h in track_progress(steps, progress, start=0.3):
        run = simulate(system, state, input, h, rows, round(row / h))
        instants, after = (
            np.abs(run.impacts[name][:first] - exact[name][:first]).max()
            for name in ("t", "u_n_plus")
        )
        errors.append((h, instants, after, np.abs(run.y[-1] - truth[-1]).max()))
        impacts.append(("steps", h, run.impacts))
    return (
        columns("step instants velocities_after state_at_the_end", errors),
        _table(impacts, first),
        truth,
        exact,
        run,
    )


def order_claims(errors: dict[str, Array], *bounds: tuple[float, float]) -> list[Claim]:
    """Return claims on the orders, each between bounds: of instants, velocities, the state."""
    measured = {
        "impact instants": "instants",
        "velocities after them": "velocities_after",
        "state after the impacts": "state_at_the_end",
    }
    return [
        between(
            f"order of the {what}",
            slope(errors["step"], errors[column]),
            *bound,
        )
        for (what, column), bound in zip(measured.items(), bounds, strict=True)
    ]


def draw_orders(axes, errors: dict[str, Array], column: str) -> None:
    """Draw the errors by the step, with a guide of order 2."""
    axes.loglog(errors["step"], errors[column], "o-", **STEPPED)
    slope_guide(axes, errors["step"], 3.0 * errors[column][0], 2)


def _table(listed: list, first: int) -> dict:
    names = ("contact", "t", "P_n", "u_n_minus", "u_n_plus")
    rows = [
        (run, h, world.NAMES[contact], *numbers)
        for run, h, impacts in listed
        for contact, *numbers in zip(*(impacts[name][:first] for name in names))
    ]
    return columns("run step contact t P_n u_n_minus u_n_plus", rows)
