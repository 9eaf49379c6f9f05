"""Runs of several bodies with joints and contacts, row by row: by the variational scheme, or by their multipliers."""

from typing import NamedTuple

import numpy as np

from rbdyn_ros.bodies import rigid_bodies
from rbdyn_ros.constraints import jacobian, multipliers, redundancy
from rbdyn_ros.constraints.joints import Constraints
from rbdyn_ros.contacts.pairs import Pairs
from rbdyn_ros.geometry import arguments
from rbdyn_ros.integrators.multibody import detection, multiplier_rk4, variational
from rbdyn_ros.integrators.multibody import plant as plants
from rbdyn_ros.types import Array


STILL = 1e-9  # [m/s] or [rad/s] over the largest velocity: what a joint may move at the start


class Record(NamedTuple):
    """Rows of a run. When `ok` is false, the last row is the last good state."""

    t: Array  # (rows,) [s]
    q: Array  # (rows, n, 7)
    v: Array  # (rows, n, 6)
    energy: Array  # (rows,) [J]
    kinetic: Array  # (rows,) [J] the part of it that is motion
    opening: Array  # (rows,) largest |C| of the joints [m] or [-]
    reactions: Array  # (rows, m, 2, 6) wrench of each joint row on its bodies a and b [N world | N m body, at the centres of mass]
    names: tuple  # (m,) of the joint rows
    impacts: Array  # (impacts, 7) t, contact, P_n, P_t1, P_t2 [N s], u_n before, after [m/s]; none without contacts
    iterations: int  # of Newton's method; none by multipliers
    ok: bool
    message: str  # why it stopped early, else ""


def variational_run(
    bodies: rigid_bodies.Bodies,
    constraints: Constraints,
    pairs: Pairs | None,
    q: Array,
    v: Array,
    h: float,
    rows: int,
    steps_per_row: int,
    options: plants.Options = plants.Options(),
    gamma=None,
    overlap: float = plants.OVERLAP,
    events: int = 10000,
) -> Record:
    """Take `rows` times `steps_per_row` steps of h [s] with joints and contacts; at most `events` impacts are kept.

    Reactions are the means since the row before, impacts included, of the rows that are not redundant; zero in the first.
    ValueError for a step or options that are none, and for a start that is none: shapes, numbers, open joints or velocities against them, overlaps.
    """
    require_step(h)
    _require_counts(rows, steps_per_row)
    plants.checked(options)
    q, v = _start(bodies, constraints, q, v)
    plant = plants.build(bodies, q, constraints, pairs, gamma, overlap)
    work = plants.work(plant, events)
    kept = redundancy.independent(constraints, q).kept
    detection.start(plant.pairs, work, q, v)

    def advance(t, q, v):
        work.reaction[:] = 0.0
        done, iterations, error = variational.advance(plant, options, work, h, steps_per_row, t, q, v)
        most = options.max_iterations
        return done, iterations, f"the residual is {error:.2g} m/s after at most {most} iterations of Newton's method; take a smaller step"

    def reactions(done, q, v):
        return work.reaction / (done * h) if done else np.zeros_like(work.reaction)

    names = tuple(constraints.names[i] for i in kept)
    record = _run(bodies, constraints, names, q, v, h * steps_per_row, rows, steps_per_row, advance, reactions)
    return record._replace(impacts=work.events[: work.recorded[0]].copy())


def multiplier_run(
    bodies: rigid_bodies.Bodies,
    constraints: Constraints,
    alpha: float,
    q: Array,
    v: Array,
    h: float,
    rows: int,
    steps_per_row: int,
) -> Record:
    """The same by Lagrange multipliers with stabilisation alpha [1/s] (0: none) and Runge-Kutta; no contacts.

    Reactions are those at the row; redundant rows share their load.
    """
    require_step(h)
    _require_counts(rows, steps_per_row)
    if not 0.0 <= alpha < np.inf:
        raise ValueError(f"alpha is {alpha}; it must be finite and >= 0 (0: no stabilisation)")
    q, v = _start(bodies, constraints, q, v)
    wrench, reaction = np.zeros_like(v), np.zeros(len(constraints.names))

    def advance(t, q, v):
        done, _, error = multiplier_rk4.advance(bodies, constraints.rows, wrench, alpha, h, steps_per_row, q, v, reaction)
        reason = "a number is not finite" if np.isnan(error) else "the rows contradict each other"
        return done, 0, f"the residual of the multipliers is {error:.2g}, {reason}; take a smaller step"

    def reactions(done, q, v):
        found = multipliers.forward(bodies, constraints.rows, wrench, alpha, q, v)
        return multipliers.reactions(constraints.rows, q, found.multipliers)

    return _run(bodies, constraints, constraints.names, q, v, h * steps_per_row, rows, steps_per_row, advance, reactions)


def require_step(h: float) -> None:
    """ValueError for a step that is none."""
    if not (np.isfinite(h) and h > 0.0):
        raise ValueError(f"the step is {h} s; it must be finite and > 0")


def _require_counts(rows: int, steps_per_row: int) -> None:
    for name, count in (("rows", rows), ("steps_per_row", steps_per_row)):
        if count != int(count) or count < 1:
            raise ValueError(f"{name} is {count}; it must be a whole number >= 1")


def _start(bodies: rigid_bodies.Bodies, constraints: Constraints, q, v) -> tuple:
    """Copies of q (n, 7) and v (n, 6); ValueError where they are none of these bodies, or v would open a joint."""
    n = len(bodies.mass)
    q, v = (np.array(arguments.array(x, name, n, size), order="C") for x, name, size in ((q, "q", 7), (v, "v", 6)))
    arguments.unit_quaternion(q[:, 3:], "the orientations q[:, 3:]")
    redundancy.require_met(constraints, q)
    speed = jacobian.jacobian(constraints.rows, q) @ v.reshape(-1)
    for i in np.flatnonzero(~(np.abs(speed) <= STILL * (1.0 + np.abs(v).max()))):
        raise ValueError(f"{constraints.names[i]}: dC/dt is {speed[i]:.3g} at the start; v must keep the joint closed")
    return q, v


def _run(bodies, constraints, names, q, v, interval, rows, steps_per_row, advance, reactions) -> Record:
    kept, iterations, message = [(0.0, q.copy(), v.copy(), reactions(0, q, v))], 0, ""
    for row in range(rows):
        done, count, reason = advance(row * interval, q, v)
        iterations += count
        if done < steps_per_row:
            at = (row + done / steps_per_row) * interval
            message = f"stopped at t = {at:.6g} s: {reason}"
            kept.append((at, q.copy(), v.copy(), reactions(done, q, v)))
            break
        kept.append(((row + 1) * interval, q.copy(), v.copy(), reactions(done, q, v)))
    t, q_rows, v_rows, forces = (np.array(column) for column in zip(*kept))
    opening = np.array([np.abs(jacobian.values(constraints.rows, x)).max(initial=0.0) for x in q_rows])
    energy, potential = (rigid_bodies.energy(bodies, q_rows, x) for x in (v_rows, 0.0 * v_rows))
    return Record(
        t, q_rows, v_rows, energy, energy - potential, opening, forces, names, np.zeros((0, 7)), iterations, message == "", message
    )
