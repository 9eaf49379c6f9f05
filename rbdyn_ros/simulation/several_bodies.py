"""Runs of several bodies with joints and contacts, row by row: by the variational scheme, or by their multipliers."""

from typing import NamedTuple

import numpy as np

from rbdyn_ros.bodies import rigid_bodies
from rbdyn_ros.constraints import jacobian, redundancy
from rbdyn_ros.constraints.joints import Constraints
from rbdyn_ros.contacts.pairs import Pairs
from rbdyn_ros.integrators.multibody import detection, multiplier_rk4, variational
from rbdyn_ros.integrators.multibody import plant as plants
from rbdyn_ros.types import Array


class Record(NamedTuple):
    """Rows of a run. When `ok` is false, the last row is the last good state."""

    t: Array  # (rows,) [s]
    q: Array  # (rows, n, 7)
    v: Array  # (rows, n, 6)
    energy: Array  # (rows,) [J]
    kinetic: Array  # (rows,) [J] the part of it that is motion
    opening: Array  # (rows,) largest |C| of the joints [m] or [-]
    impacts: Array  # (impacts, 7) t, contact, P_n, P_t1, P_t2 [N s], u_n before, after [m/s]; none without contacts
    iterations: int
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
    """Take `rows` times `steps_per_row` steps of h [s] with joints and contacts; at most `events` impacts are kept."""
    require_step(h)
    plant = plants.build(bodies, q, constraints, pairs, gamma, overlap)
    work = plants.work(plant, events)
    q, v = np.array(q, dtype=float, order="C"), np.array(v, dtype=float, order="C")
    detection.start(plant.pairs, work, q, v)

    def advance(t, q, v):
        return variational.advance(plant, options, work, h, steps_per_row, t, q, v)

    record = _run(bodies, constraints, q, v, h * steps_per_row, rows, steps_per_row, advance)
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
    """The same by Lagrange multipliers with stabilisation alpha [1/s] (0: none) and Runge-Kutta; no contacts."""
    require_step(h)
    redundancy.require_met(constraints, q)
    q, v = np.array(q, dtype=float, order="C"), np.array(v, dtype=float, order="C")
    wrench, reaction = np.zeros_like(v), np.zeros(len(constraints.names))

    def advance(t, q, v):
        return multiplier_rk4.advance(bodies, constraints.rows, wrench, alpha, h, steps_per_row, q, v, reaction)

    return _run(bodies, constraints, q, v, h * steps_per_row, rows, steps_per_row, advance)


def require_step(h: float) -> None:
    """ValueError for a step that is none."""
    if not (np.isfinite(h) and h > 0.0):
        raise ValueError(f"the step is {h} s; it must be finite and > 0")


def _run(bodies, constraints, q, v, interval, rows, steps_per_row, advance) -> Record:
    kept, iterations, message = [(0.0, q.copy(), v.copy())], 0, ""
    for row in range(rows):
        done, count, error = advance(row * interval, q, v)
        iterations += count
        if done < steps_per_row:
            at = (row + done / steps_per_row) * interval
            message = f"stopped at t = {at:.6g} s with the residual {error:.2g}; take a smaller step"
            kept.append((at, q.copy(), v.copy()))
            break
        kept.append(((row + 1) * interval, q.copy(), v.copy()))
    t, q_rows, v_rows = (np.array(column) for column in zip(*kept))
    opening = np.array([np.abs(jacobian.values(constraints.rows, x)).max(initial=0.0) for x in q_rows])
    energy, potential = (rigid_bodies.energy(bodies, q_rows, x) for x in (v_rows, 0.0 * v_rows))
    return Record(t, q_rows, v_rows, energy, energy - potential, opening, np.zeros((0, 7)), iterations, message == "", message)
