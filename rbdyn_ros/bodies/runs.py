"""Runs of a model, row by row: by the variational scheme, or by Lagrange multipliers and the
classical Runge-Kutta method.

The latter integrates the accelerations of description/multipliers.py as they are; the
stabilization corrects the drift of the joints. Order 4, dissipative or not by chance, without
contacts.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from rbdyn_ros.bodies import columns as c
from rbdyn_ros.bodies import model as models
from rbdyn_ros.bodies.description import jacobian, joint_kinds, multipliers, rigid_bodies
from rbdyn_ros.bodies.description import spring_kinds as of_springs
from rbdyn_ros.bodies.description.rows import WORLD
from rbdyn_ros.bodies.description.spring_kinds import add_forces
from rbdyn_ros.geometry import quaternion
from rbdyn_ros.kernel import kernel
from rbdyn_ros.numerics.arguments import count, number, positive
from rbdyn_ros.types import Array

CHUNK = 2000  # steps between two calls of go_on
INTERRUPTED = "interrupted"
# residual of the multipliers that stops a run; redundant rows leave one of the size of the joints'
# residuals
INCONSISTENT = 1e-3


class Record(NamedTuple):
    """Rows of a run. When `ok` is false, the last row is the last good state."""

    t: Array  # (rows,) [s]
    q: Array  # (rows, n, 7)
    v: Array  # (rows, n, 6)
    energy: Array  # (rows,) [J] of bodies and springs
    # (rows,) [J] what bodies with a prescribed velocity, or a load, have done, less what dampers
    # have taken
    work: Array
    kinetic: Array  # (rows,) [J]
    opening: Array  # (rows,) largest |C| of the joints [m] or [-]
    # (rows, joints, 2, 6) wrench of each joint on its bodies a and b [N world | N m body, at the
    # centers of mass]
    reactions: Array
    names: tuple  # (joints,)
    # (rows, contacts, 4) impulses since the row before [N s]: along the normals, vector on a
    # [world]; none by multipliers
    contacts: Array
    # (rows, contacts, 3) where they acted last [m, world], the mean by their normal impulses; nan
    # where none acted
    points: Array
    # (impacts, 7) t, pair, P_n, P_t1, P_t2 [N s], u_n before, after [m/s]; none without
    # contacts
    impacts: Array
    iterations: int  # of Newton's method; none by multipliers
    ok: bool
    message: str  # why it stopped early, else ""


class Forces(NamedTuple):
    """The forces on bodies other than their weight and those of their joints."""

    springs: of_springs.Springs
    near: Array  # (k,) [m] or [rad] lengths and angles of the springs, as they were last
    load: Array  # (n, 6) [N world | N m body]


def no_forces(bodies: int) -> Forces:
    """Return the `Forces` of so many bodies without springs and load."""
    return Forces(of_springs.build(bodies), np.zeros(0), np.zeros((bodies, 6)))


def run(
    model: models.Model,
    h: float,
    rows: int,
    steps_per_row: int,
    go_on: Callable[[float], bool] = lambda t: True,
    composition: str = "none",
) -> Record:
    """Take `rows` times `steps_per_row` steps of h [s] by the variational scheme; go_on(t) is
    called again and again with the time reached [s] and stops the run where it returns False.

    Reactions are the means since the row before, impacts included; zero in the first. Redundant
    joints share their load. Raise ValueError for a step or counts that are none.
    """
    positive(h, "the step", " s")
    count(rows, "rows", 1)
    count(steps_per_row, "steps_per_row", 1)
    of_contacts = len(model.names.contacts)
    since, done_by_drives = [models.places(model)], [0.0]

    def advance(t, q, v):
        before, done = models.iterations(model), 0
        since[0] = q.copy()
        while done < steps_per_row:
            if not go_on(t + done * h):
                return done, models.iterations(model) - before, INTERRUPTED
            asked = min(CHUNK, steps_per_row - done)
            taken = models.advance(model, h, asked, composition)
            done += taken
            if taken < asked:
                break
        reason = "" if done == steps_per_row else models.failure(model)
        try:
            q[:], v[:] = models.finite_state(model)
        except ArithmeticError as error:  # no row: its state is not known
            done, reason = 0, str(error)
        return done, models.iterations(model) - before, reason

    def loads(done, q, v):
        sums, moments = np.zeros((of_contacts, 4)), np.zeros((of_contacts, 3))
        points = moments
        if of_contacts:
            of_pairs, owners = models.contact_impulses(model), list(model.names.contact_of)
            np.add.at(sums, owners, of_pairs)
            np.add.at(moments, owners, of_pairs[:, :1] * contact_points(model))
            with np.errstate(invalid="ignore"):
                points = np.where(sums[:, :1] > 0.0, moments / sums[:, :1], np.nan)
        impulses = models.reactions(model, since[0])
        done_by_drives[0] += models.work_of_drives(model, impulses)
        means = impulses / (done * h) if done else np.zeros_like(impulses)
        at_node = models.part(model, "clock")[c.NODE_WORK, 0]  # of the velocities of this row
        work = done_by_drives[0] + at_node - models.damping_loss(model)
        opened = models.opening(model, q)
        return means, sums, points, models.spring_energy(model), work, opened

    start = models.state(model)
    record = _run(model, h * steps_per_row, rows, steps_per_row, advance, loads, *start)
    return record._replace(impacts=models.impacts(model))


def multiplier_run(
    model: models.Model,
    alpha: float,
    h: float,
    rows: int,
    steps_per_row: int,
    load: Array | None = None,
) -> Record:
    """Take the same steps by Lagrange multipliers with stabilization alpha [1/s] (0: none) and
    Runge-Kutta, from the state of the model, which does not move. Raise ValueError where it has
    contacts.

    Springs and dampers act as forces; `load` (bodies, 6) acts besides the weight, a force [N,
    world] and a torque [N m, body] for each body. In directions in which a body is held it keeps
    the velocity of its start (M.29). `work` is what load and driven bodies have done, less what
    dampers have taken. Reactions are those at the row; redundant rows share their load.
    """
    positive(h, "the step", " s")
    count(rows, "rows", 1)
    count(steps_per_row, "steps_per_row", 1)
    number(alpha, "alpha", 0.0)
    if len(model.pairs.kind):
        raise ValueError(
            f"the model has {len(model.pairs.kind)} contact pairs; its multipliers know joints "
            "only"
        )
    bodies, constraints, (q, v) = model.bodies, model.constraints, models.state(model)
    near = models.part(model, "springs")[:, c.EXTENSION].copy()
    constant = np.zeros_like(v) if load is None else np.array(load, dtype=float, order="C")
    if constant.shape != v.shape or not np.isfinite(constant).all():
        raise ValueError(f"load has shape {constant.shape}; it must be finite and {v.shape}")
    forces, reaction = Forces(model.springs, near, constant), np.zeros(len(constraints.names))
    work, of_model = [0.0], models.tracked_rows(model)

    def advance(t, q, v):
        done, _, error, more = multiplier_advance(
            bodies, of_model, forces, alpha, h, steps_per_row, (q, v), reaction
        )
        work[0] += more
        if done == steps_per_row:
            return done, 0, ""
        reason = "a number is not finite" if np.isnan(error) else "the rows contradict each other"
        return (
            done,
            0,
            f"the residual of the multipliers is {error:.2g}, {reason}; take a smaller step",
        )

    def record(done, q, v):
        wrench = constant.copy()
        add_forces(model.springs, near, q, v, wrench)
        found = multipliers.forward(bodies, of_model, wrench, alpha, q, v)
        wrenches = multipliers.reactions(of_model, q, found.multipliers)
        of_joints = np.zeros((max(constraints.joint, default=-1) + 1, 2, 6))
        np.add.at(of_joints, list(constraints.joint), wrenches)
        none, opened = (np.zeros((0, 4)), np.zeros((0, 3))), jacobian.values(of_model, q)
        energy = of_springs.energy(model.springs, near)
        return of_joints, *none, energy, work[0], np.abs(opened).max(initial=0.0)

    return _run(model, h * steps_per_row, rows, steps_per_row, advance, record, q, v)


def contact_points(model: models.Model) -> Array:
    """Return where each pair (k, 3) touches, or touched last [m, world]."""
    pairs, q = models.part(model, "pairs"), models.places(model)
    on_b, b = pairs["on"][:, 1], np.asarray(model.pairs.b)
    moved = q[b, :3] + quaternion.rotate(q[b, 3:], on_b)
    return np.where((b == WORLD)[:, None], on_b, moved)


@kernel
def normalize(q):
    """Divide the orientations in q by their norms."""
    for i in range(len(q)):
        size = math.sqrt(q[i, 3] ** 2 + q[i, 4] ** 2 + q[i, 5] ** 2 + q[i, 6] ** 2)
        for k in range(3, 7):
            q[i, k] /= size


@kernel
def copy(a, b):
    """Write a (n, m) to b. A slice would take seconds to compile, for the words of an error."""
    for i in range(a.shape[0]):
        for k in range(a.shape[1]):
            b[i, k] = a[i, k]


@kernel
def multiplier_advance(bodies, rows, forces, alpha, h, n, state, reaction):
    """Take n steps of h of the state (q, v) in place; write the multipliers at the start of the
    last to reaction (m,). Return (done, rank, residual, work of drives, load and dampers [J]).

    It stops where the rows contradict each other (residual > INCONSISTENT) or a number is not
    finite: then done < n.
    """
    (q, v), rank, worst, work = state, 0, 0.0, 0.0
    wrench = np.empty_like(v)
    for k in range(n):
        dq, dv, q_k, v_k = np.zeros_like(q), np.zeros_like(v), q, v
        for stage, weight in ((0.5, 1.0), (0.5, 2.0), (1.0, 2.0), (0.0, 1.0)):
            copy(forces.load, wrench)
            power = add_forces(forces.springs, forces.near, q_k, v_k, wrench)
            found = multipliers.forward(bodies, rows, wrench, alpha, q_k, v_k)
            if not found.residual <= INCONSISTENT:
                return k, found.rank, found.residual, work
            work += h / 6.0 * weight * (power + found.drive + (forces.load * v_k).sum())
            if weight == 1.0 and stage == 0.5:
                for i in range(len(reaction)):
                    reaction[i] = found.multipliers[i]
            rank, worst = found.rank, max(worst, found.residual)
            rate = jacobian.rates(q_k, v_k)
            dq += weight * rate
            dv += weight * found.acceleration
            q_k, v_k = q + stage * h * rate, v + stage * h * found.acceleration
        q += h / 6.0 * dq
        v += h / 6.0 * dv
        normalize(q)
        jacobian.track(rows, q)
    return n, rank, worst, work


def _run(model, interval, rows, steps_per_row, advance, loads, q, v) -> Record:
    bodies, constraints = model.bodies, model.constraints
    kept, iterations, message = [(0.0, q.copy(), v.copy(), *loads(0, q, v))], 0, ""
    for row in range(rows):
        done, count, reason = advance(row * interval, q, v)
        iterations += count
        at = (row + done / steps_per_row) * interval
        if reason:
            message = reason if reason == INTERRUPTED else f"stopped at t = {at:.6g} s: {reason}"
        if not reason or done:
            at = (row + 1) * interval if done == steps_per_row else at
            kept.append((at, q.copy(), v.copy(), *loads(done, q, v)))
        if reason:
            break
    t, q_rows, v_rows, forces, impulses, points, springs, work, opening = (
        np.array(x) for x in zip(*kept)
    )
    energy, potential = (rigid_bodies.energy(bodies, q_rows, x) for x in (v_rows, 0.0 * v_rows))
    return Record(
        t,
        q_rows,
        v_rows,
        energy + springs,
        work,
        energy - potential,
        opening,
        forces,
        joint_kinds.joint_names(constraints),
        impulses,
        points,
        np.zeros((0, 7)),
        iterations,
        message == "",
        message,
    )
