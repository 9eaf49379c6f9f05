"""Runs of the pendulum with contacts, by time stepping and with steps that split at impacts, and
their errors.
"""

from typing import Any, NamedTuple

import numpy as np

from rbdyn_ros.experiments import event_driven
from rbdyn_ros.experiments.event_driven import Impact
from rbdyn_ros.experiments.outcome import columns
from rbdyn_ros.mechanics.integrators.select import select
from rbdyn_ros.mechanics.pendulum.world import NAMES
from rbdyn_ros.simulation import rollout
from rbdyn_ros.simulation.record import events
from rbdyn_ros.types import Array, Input, State, System

METHODS = {"time stepping": False, "split": True}
# thin ones lie on top
_LINES = {
    "exact": ("#222222", 4.0),
    "time stepping": ("#58b4d6", 2.6),
    "split": ("#d1495b", 1.0),
}


class Run(NamedTuple):
    """A run and the impacts in it."""

    t: Array  # (n,) [s]
    y: Array  # (n, 11) q, v
    energy: Array  # (n,) [J]
    impacts: dict  # columns of `simulation.record.events`
    force: Array  # (4, 3) of the contacts in the last step [N, world]


def simulate(
    system: System, state: State, input: Input, method: str, h: float, rows: int, every: int
) -> Run:
    """`rows` times `every` steps of h [s] by one of METHODS. ArithmeticError if it does not
    converge.
    """
    integrator = select("quaternion_midpoint", max_iterations=50, split_at_impact=METHODS[method])
    record = rollout.run(integrator, system, state, input, h, rows, every)
    if not record.ok:
        raise ArithmeticError(record.message)
    y = np.hstack([record.q, record.v])
    contact = record.options.contact
    return Run(record.t, y, record.quantities[:, 0], events(contact), contact.force.copy())


def against(
    system: System, state: State, input: Input, steps, duration: float, first: int, progress
) -> tuple[dict[str, Array], dict[str, Array], Array, list[Impact], dict[str, Run]]:
    """(errors table, impacts table, exact rows, exact Impacts, {method: Run at the smallest
    step}).

    Errors of both methods at each step: the `first` impacts' instants and velocities after them,
    and the whole state at the end.
    """
    row = max(steps)
    rows = round(duration / row)
    truth, exact = event_driven.follow(system, state, input, np.arange(rows + 1) * row)
    progress(0.3)
    errors, impacts, drawn = [], [_listed("exact", 0.0, exact[:first])], {}
    for k, method in enumerate(METHODS):
        for h in steps:
            run = simulate(system, state, input, method, h, rows, round(row / h))
            found = run.impacts
            instants = np.abs(found["t"][:first] - [i.t for i in exact[:first]]).max()
            after = np.abs(found["u_n_plus"][:first] - [i.after for i in exact[:first]]).max()
            errors.append((method, h, instants, after, np.abs(run.y[-1] - truth[-1]).max()))
            impacts.append((method, h, {name: column[:first] for name, column in found.items()}))
            drawn[method] = run
        progress(0.3 + 0.35 * (k + 1))
    return (
        columns("method step instants velocities_after state_at_the_end", errors),
        _table(impacts),
        truth,
        exact,
        drawn,
    )


def line(method: str) -> dict[str, Any]:
    """Color, width and label of a method, as keywords of `plot`."""
    color, width = _LINES[method]
    return {"color": color, "linewidth": width, "label": method}


def of(errors: dict[str, Array], method: str, column: str) -> Array:
    """A column of the errors for one method, in the order of the steps."""
    return errors[column][errors["method"] == method]


def _listed(method: str, h: float, exact: list) -> tuple:
    columns = {
        "t": [i.t for i in exact],
        "contact": [i.contact for i in exact],
        "P_n": [i.P[0] for i in exact],
        "u_n_minus": [i.before for i in exact],
        "u_n_plus": [i.after for i in exact],
    }
    return method, h, columns


def _table(listed: list) -> dict:
    rows = [
        (
            method,
            h,
            NAMES[columns["contact"][k]],
            *(columns[name][k] for name in ("t", "P_n", "u_n_minus", "u_n_plus")),
        )
        for method, h, columns in listed
        for k in range(len(columns["t"]))
    ]
    return columns("method step contact t P_n u_n_minus u_n_plus", rows)
