"""A model: bodies, joints and contact pairs with their state, in one arena that the compiled step
moves.

`build` checks everything that can be wrong and says so in a sentence; `advance` takes steps;
state, reactions and impacts are returned as copies. Redundant rows of joints are left out, those
that contradict each other are refused.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from rbdyn_ros.bodies import columns as c
from rbdyn_ros.bodies import joint_blocks as of_joints
from rbdyn_ros.bodies import model_step, packing, velocity
from rbdyn_ros.bodies.arena import Arena
from rbdyn_ros.bodies.contact import restitution
from rbdyn_ros.bodies.contact.failures import failure
from rbdyn_ros.bodies.description import contact_pairs as contacts
from rbdyn_ros.bodies.description import (
    jacobian,
    joint_kinds,
    redundancy,
    rigid_bodies,
    stiffness,
)
from rbdyn_ros.bodies.description import spring_kinds as of_springs
from rbdyn_ros.bodies.description.contact_pairs import Pairs
from rbdyn_ros.bodies.description.joint_kinds import Constraints
from rbdyn_ros.bodies.description.rigid_bodies import Bodies
from rbdyn_ros.bodies.description.rows import ConstraintRows
from rbdyn_ros.bodies.description.spring_kinds import Springs
from rbdyn_ros.bodies.packing import bind_once
from rbdyn_ros.geometry import float_arrays
from rbdyn_ros.integrators.composition import COMPOSITIONS
from rbdyn_ros.numerics.arguments import count, number, positive
from rbdyn_ros.types import Array

OVERLAP = 1e-6  # [m] by which bodies may overlap at the start
UNSTABLE = 2.0  # times the frequency of a spring: steps from which on it swings up
STIFF = 1.0  # times the rate of a damper: stages beyond which a composition loses its order


class Names(NamedTuple):
    """Names of the parts of a model in messages and tables; `constraints` has those of joints."""

    bodies: tuple = ()  # (n,) of str; (): body 0, body 1, ...
    contacts: tuple = ()  # of str; (): contact 0, contact 1, ..., one for each pair
    contact_of: tuple = ()  # (k,) the contact that each pair belongs to
    springs: tuple = ()  # of str; (): spring 0, spring 1, ...


class Options(NamedTuple):
    """Choices of a model and its runs."""

    max_impacts: int = 12  # within one step; the last one and all after it are without restitution
    # of restitution, one of `restitution.LAWS`: "bounded_newton" cuts Newton's restitution back
    # where it would gain energy, "newton" does not; "poisson": ratio of impulses; "energetic": of
    # works (Stronge), for one contact at a time
    impact_law: str = "bounded_newton"
    # [kg m^2], one or for each body: the free parameter of the kinetic energy of a turn
    # (doc/nonsmooth.md, Q.14): 0 keeps the energy of a free body, 4/3 of an inertia turns about
    # that axis with order 4
    gamma: float | Array = 0.0
    overlap: float = OVERLAP
    impacts: int = 1000  # that are recorded, at most
    names: Names = Names()


class Model(NamedTuple):
    """The elements that the model was made of, and its arena."""

    bodies: Bodies
    constraints: Constraints  # all rows
    kept: tuple  # the independent ones
    pairs: Pairs
    arena: Arena
    owners: tuple  # of each joint block: the joint, from 0 on
    names: Names
    springs: Springs
    fastest: stiffness.Fastest  # of them, at the start


def build(
    bodies: Bodies,
    q: Array,
    v: Array,
    constraints: Constraints | None = None,
    pairs: Pairs | None = None,
    options: Options = Options(),
    springs: Springs | None = None,
) -> Model:
    """Build the model that starts at q (n, 7), v (n, 6).

    In the directions in which a body is held it keeps the velocity of its start, in the world; the
    angular velocity is the same in the body, too, about an axis through its center of mass.
    """
    n = len(bodies.mass)
    constraints = joint_kinds.assemble(n) if constraints is None else constraints
    pairs = contacts.build(n) if pairs is None else pairs
    springs = of_springs.build(n) if springs is None else springs
    names = _complete_names(options.names, n, pairs)
    q, v = start(bodies, constraints, q, v)
    if np.shape(options.gamma) not in ((), (n,)):
        raise ValueError(f"gamma has shape {np.shape(options.gamma)}; give one number, or {n}")
    gamma = np.broadcast_to(np.array(options.gamma, dtype=float), (n,))
    for i, value in enumerate(gamma):
        if not (np.isfinite(value) and value >= 0.0):
            raise ValueError(
                f"gamma of {names.bodies[i]} is {value} kg m^2; "
                "it must be >= 0 (4/3 of the smallest inertia is a good choice)"
            )
    _require_possible(options)
    kept = redundancy.independent_rows(constraints, q, bodies.held).kept
    numbers = options.max_impacts, restitution.LAWS.index(options.impact_law)
    rows = joint_kinds.select_rows(constraints, kept)
    elements = packing.Elements(bodies, rows, pairs, springs)
    arena, owners = packing.arena_of(elements, q, v, gamma, options.impacts, numbers)
    fastest = stiffness.fastest(springs, rows, bodies, q)
    model = Model(bodies, constraints, kept, pairs, arena, owners, names, springs, fastest)
    observe(model)
    _require_apart(model, options.overlap)
    add_node_reactions(model, -1.0)
    return model


def _require_possible(options: Options) -> None:
    """Raise ValueError for options out of range."""
    count(options.max_impacts, "max_impacts", 1, 1000)
    count(options.impacts, "impacts", 0)
    number(options.overlap, "overlap", 0.0, unit=" m")
    if options.impact_law not in restitution.LAWS:
        known = ", ".join(restitution.LAWS)
        raise ValueError(f"impact_law is '{options.impact_law}'; it must be one of {known}")


def start(bodies: Bodies, constraints: Constraints, q, v) -> tuple[Array, Array]:
    """Return copies of q (n, 7) and v (n, 6). Raise ValueError where they are no state of these
    bodies, or v would open a joint.
    """
    n = len(bodies.mass)
    q, v = (
        np.array(float_arrays.array(x, name, n, size), order="C")
        for x, name, size in ((q, "q", 7), (v, "v", 6))
    )
    float_arrays.unit_quaternion(q[:, 3:], "the orientations q[:, 3:]")
    redundancy.require_met(constraints, q)
    redundancy.require_still(
        constraints,
        q,
        v,
        "v must keep the joint closed: a body that turns about a joint also needs the velocity of "
        "its center of mass; close: true changes both, as by impulses",
    )
    return q, v


def advance(model: Model, h: float, n: int, composition: str = "none") -> int:
    """Take n steps of h [s]; return how many were taken. At a step that fails the model stays
    where it began; see `failure`.

    `composition` raises the order from 2 to 4, 6 or 8 (`integrators.composition`).
    Raise ValueError if it is not known, or if the model has contacts: some stages of a
    composition go back in time; for a step or a count that are none; or for a step that is too
    long for the springs (`require_short`).
    """
    if not (0.0 < h < np.inf and n >= 0 and n == int(n)):
        positive(h, "the step", " s")
        count(n, "the number of steps", 0)
    kernel = stepper(model, composition)
    require_short(model, h, composition)
    return kernel(model.arena, float(h), int(n))


def require_short(model: Model, h: float, composition: str = "none") -> None:
    """Raise ValueError, naming a spring, where steps of h [s] are unstable, or where a composition
    would lose its order by a stiff damper.

    The frequencies are those of the start: a linkage may change them, and contacts and friction
    are not in them.
    """
    found, longest = model.fastest, float(np.abs(COMPOSITIONS[composition]).max())
    stage = "" if composition == "none" else f", for the longest stage of {composition}"
    if not h * longest * found.frequency < UNSTABLE:
        name = _spring_name(model, found.spring)
        raise ValueError(
            f"{name}: h sqrt(k/m) is {h * longest * found.frequency:.3g} at a step of {h:g} s"
            f"{stage}; it must be below {UNSTABLE:g}: take a step below "
            f"{UNSTABLE / longest / found.frequency:.2g} s, or a softer spring"
        )
    if stage and not h * longest * found.rate <= STIFF:
        name = _spring_name(model, found.damper)
        raise ValueError(
            f"{name}: h c/m is {h * longest * found.rate:.3g} at a step of {h:g} s{stage}; beyond "
            f"{STIFF:g} the order drops: take a step of at most "
            f"{STIFF / longest / found.rate:.2g} s, less damping, or composition none"
        )


def _spring_name(model: Model, number: int) -> str:
    return model.names.springs[number] if model.names.springs else f"spring {number}"


def stepper(model: Model, composition: str = "none") -> Callable[[Arena, float, int], int]:
    """Return the kernel that takes the steps of `advance`, compiled or read from the cache:
    (arena, h, n) -> taken.
    """
    if composition == "none":
        kernel = model_step.advance if len(model.pairs.kind) else model_step.advance_without_pairs
        return bind_once(kernel, model.arena, 1e-3, 1)
    if composition not in COMPOSITIONS:
        raise ValueError(f"composition is '{composition}'; known are {', '.join(COMPOSITIONS)}")
    if len(model.pairs.kind):
        raise ValueError(f"composition is '{composition}', but contacts need 'none'")
    weights = COMPOSITIONS[composition]
    kernel = bind_once(model_step.advance_composed, model.arena, weights, 1e-3, 1)
    return lambda arena, h, n: kernel(arena, weights, h, n)


def iterations(model: Model) -> int:
    """Return Newton's iterations so far, of all bodies without joints and of all with joints."""
    return int(part(model, "counters")[c.ITERATIONS, 0])


def observe(model: Model) -> bool:
    """Set the velocities of this instant in the arena; return whether they were found."""
    return stepper(model)(model.arena, 0.0, int(model_step.OBSERVE)) == 1


def add_node_reactions(model: Model, sign: float) -> None:
    """Add `sign` times the part of the node's reactions that `observe` has found to the sums."""
    bind_once(velocity.add_node_reactions, model.arena, 1.0)(model.arena, sign)


def state(model: Model) -> tuple[Array, Array]:
    """Return (q (n, 7), v (n, 6)): places, and the velocities of this instant with joints and
    closed contacts obeyed. Raise ArithmeticError where these are not found.
    """
    if not observe(model):
        raise ArithmeticError(
            f"the velocities at t = {part(model, 'clock')[c.TIME, 0]:.6g} s are not known: "
            f"{failure(model)}"
        )
    rows = part(model, "bodies")
    return places(model), np.hstack([rows[:, c.U_X : c.U_X + 3], rows[:, c.U_W : c.U_W + 3]])


def places(model: Model) -> Array:
    """Return q (n, 7): positions of the centers of mass [m] and orientations wxyz."""
    rows = part(model, "bodies")
    return np.hstack([rows[:, c.X : c.X + 3], rows[:, c.Q : c.Q + 4]])


def energy(model: Model) -> float:
    """Return the kinetic and potential energy [J] of this instant, springs included; the potential
    of weights is zero at the origin.
    """
    return float(rigid_bodies.energy(model.bodies, *state(model))) + spring_energy(model)


def spring_energy(model: Model) -> float:
    """Return the energy that the springs hold [J] at this instant."""
    return of_springs.energy(model.springs, part(model, "springs")[:, c.EXTENSION])


def finite_state(model: Model) -> tuple[Array, Array]:
    """Return `state`. Raise ArithmeticError, in one sentence, where it or its energy is not known
    or no number.
    """
    rule = "masses, sizes, springs or velocities are too large, or too far apart, for numbers"
    with np.errstate(all="ignore"):
        q, v = state(model)
        total = rigid_bodies.energy(model.bodies, q, v) + spring_energy(model)
    for i in np.flatnonzero(~np.isfinite(np.hstack([q, v])).all(axis=1)):
        raise ArithmeticError(f"body {model.names.bodies[i]}: its state is not finite: {rule}")
    if not np.isfinite(total):
        raise ArithmeticError(f"the energy is {total} J: {rule}")
    return q, v


def damping_loss(model: Model) -> float:
    """Return the energy that the dampers have taken so far [J], less the work of bodies with a
    prescribed velocity through springs and dampers.
    """
    return float(part(model, "springs")[:, c.LOSS].sum())


def work_of_drives(model: Model, reactions: Array) -> float:
    """Return the work of bodies with a prescribed velocity [J] by the contacts since the last
    call, whose sum is reset, and by the impulses (joints, 2, 6) of the joints.
    """
    drive = np.zeros((len(model.bodies.mass) + 1, 6))  # the last one is the world
    drive[:-1] = part(model, "bodies")[:, c.DRIVE : c.DRIVE_W + 3]
    sums = part(model, "pairs")["driven"]
    work = float(sums.sum())
    sums[:] = 0.0
    for joint, sides in enumerate(reactions):
        row = model.constraints.joint.index(joint)
        ends = model.constraints.rows.a[row], model.constraints.rows.b[row]
        work -= sum(side @ drive[body] for side, body in zip(sides, ends))
    return float(work)


def momenta(model: Model) -> tuple[Array, Array]:
    """Return (linear momentum (3,) [kg m/s], angular momentum about the origin (3,) [kg m^2/s]),
    world.
    """
    (q, v), bodies = state(model), model.bodies
    return rigid_bodies.momentum(bodies, v), rigid_bodies.angular_momentum(bodies, q, v)


def reactions(model: Model, since: Array | None = None) -> Array:
    """Return the (joints, 2, 6) impulses of each joint on its bodies a and b since the last call
    [N s, world | N m s, body]; reset the sums.

    At the centers of mass; over any time they balance the bodies' momenta to round-off. Where rows
    are redundant all rows share their load so that its norm is least (C.15); the shares are those
    of the present places, or with `since`, the places q (n, 7) at the last call, the mean of both.
    """
    if not model.constraints.names:
        return np.zeros((0, 2, 6))
    observe(model)
    add_node_reactions(model, 1.0)
    found = joint_impulses(model)
    add_node_reactions(model, -1.0)
    if len(model.kept) == len(model.constraints.names):
        return found
    ends = [places(model)] if since is None else [places(model), since]
    shares = [
        redundancy.share(model.constraints, model.kept, model.bodies.held, q, found) for q in ends
    ]
    return np.mean(shares, axis=0)


def opening(model: Model, q: Array) -> float:
    """Return the largest |C| of the joints [m], [rad] or [-] at q (n, 7), the places at the last
    `observe`, 0 without joints.
    """
    if not model.constraints.names:
        return 0.0
    return float(np.abs(jacobian.values(tracked_rows(model), q)).max(initial=0.0))


def tracked_rows(model: Model) -> ConstraintRows:
    """Return the rows with the angles of joints that mimic each other, which the steps count over
    full turns.
    """
    rows = model.constraints.rows
    angle, at = (
        rows.angle.copy(),
        {
            model.constraints.joint[row]: (row, i)
            for i, row in enumerate(rows.of)
            if i >= len(rows.c)
        },
    )
    table = part(model, "blocks")[:, c.ANGLE]
    for j, other in enumerate(part(model, "block_integers")[:, c.OTHER]):
        if other > j:
            angle[list(at[model.owners[j]])] = table[[j, other]]
    return rows._replace(angle=angle)


def joint_impulses(model: Model) -> Array:
    """Return `reactions` as the steps have summed them up, without the reactions of the node;
    reset the sums.
    """
    bind_once(of_joints.complete_sums, model.arena)(model.arena)
    sums = part(model, "blocks")[:, c.SUM : c.SUM + 12]
    found = np.zeros((max(model.constraints.joint, default=-1) + 1, 12))
    np.add.at(found, list(model.owners), sums)
    sums[:] = 0.0
    return found.reshape(-1, 2, 6)


def contact_impulses(model: Model) -> Array:
    """Return the (k, 4) impulses of each pair since the last call [N s]: along its normal, and the
    vector on a [world]; reset the sums.
    """
    sums = part(model, "pairs")["total"]
    found = sums.copy()
    sums[:] = 0.0
    return found


def impact_count(model: Model) -> int:
    """Return the number of impacts so far, with those for which `build` made no room."""
    return int(part(model, "counters")[c.IMPACTS, 0])


def impacts(model: Model) -> Array:
    """Return the (impacts, 7) table of time [s], pair, impulse along normal and tangents [N s],
    normal velocity before and after [m/s].
    """
    table = part(model, "impacts")
    return table[: min(len(table), impact_count(model))].copy()


def part(model: Model, name: str) -> Array:
    """Return a view of a part of the arena as (rows, columns)."""
    return packing.part(model.arena, name)


def _require_apart(model: Model, overlap: float) -> None:
    """Raise ValueError for contacts that overlap at the start."""
    for contact, gap in zip(model.names.contact_of, part(model, "pairs")["gap"]):
        if not gap >= -overlap:
            raise ValueError(
                f"{model.names.contacts[contact]} overlaps by {-gap:.3g} m at the start; "
                f"it must not by more than {overlap:g} m: move its body, or set overlap"
            )


def _complete_names(names: Names, n: int, pairs: Pairs) -> Names:
    """Return names for everything: numbers where none are given."""
    bodies = names.bodies or tuple(f"body {i}" for i in range(n))
    if names.contacts:
        return names._replace(bodies=bodies)
    numbers = tuple(range(len(pairs.kind)))
    called = tuple(f"contact {i}" for i in numbers)
    return names._replace(bodies=bodies, contacts=called, contact_of=numbers)
