"""The offline loop: many steps, a row every so often, progress when it takes long, the truth when
it fails.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from rbdyn_ros.mechanics.integrators import boundary
from rbdyn_ros.mechanics.integrators.select import Integrator
from rbdyn_ros.mechanics.pendulum_contact.contact_state import trouble
from rbdyn_ros.simulation.history import History
from rbdyn_ros.simulation.tick import TickConfig, Ticker, TickState, write_balance
from rbdyn_ros.types import Array, Input, State, System


class Record(NamedTuple):
    """Rows of a run: row i is the state at t_i and what the steps since row i - 1 did."""

    t: Array  # (n,) [s]
    q: Array  # (n, 6)
    v: Array  # (n, 5)
    quantities: Array  # (n, 5) E, Lz, Px, Py, p3
    reaction: Array  # (n, 3) mean joint force on the rod over the last step [N, world]
    iterations: Array  # (n,) Newton iterations since the row before
    residual: Array  # (n,) largest relative residual since the row before
    ok: bool
    message: str  # why it stopped early, else ""


def run(
    integrator: Integrator,
    system: System,
    state: State,
    input: Input,
    h: float,
    rows: int,
    steps_per_row: int,
    progress=lambda row: True,
    options: tuple[Any, ...] | None = None,
) -> Record:
    """Take `rows` times `steps_per_row` steps of h [s] from `state`; row 0 is the start.

    `progress(row)` is called after each row; when it returns False (an interruption) the run ends
    there. `options`, if given, are the integrator's for this system: whoever made them can read
    what contacts left there. A step that does not converge ends it too: `ok` is False and
    `message` says where and what to try.
    """
    input = boundary.accepted(input)
    q, v = boundary.start(state)
    integrator.check(system, state, input)
    record = _empty(rows + 1)
    options = integrator.options(system) if options is None else options
    ticker = Ticker(
        *(integrator, system, options, input),
        TickConfig(state.t, h, round(1e9 * h), steps_per_row, math.inf),
        *(TickState.at_rest()._replace(q=q, v=v), History(1)),
    )
    now, force = ticker.state, ticker.force
    write_balance(system, now)
    _write(record, 0, state.t, q, v, now.balance[1:6], now.reaction, 0, 0.0)
    ok, message, last = True, "", 0
    for row in range(1, rows + 1):
        ticker.tick(force)
        done, iterations, residual = now.solved.tolist()
        if not ticker.is_complete:
            t = state.t + ((row - 1) * steps_per_row + int(done)) * h
            ok = False
            message = failure(integrator, options, t, h, int(iterations), residual, q, v)
            break
        t = state.t + row * steps_per_row * h
        _write(record, row, t, q, v, now.balance[1:6], now.reaction, iterations, residual)
        last = row
        if not progress(row):
            ok, message = False, f"interrupted at t = {record[0][row]:.6g} s"
            break
    return Record(*(column[: last + 1] for column in record), ok, message)


def failure(
    integrator: Integrator,
    options: tuple[Any, ...],
    t: float,
    h: float,
    iterations: int,
    residual: float,
    q: Array,
    v: Array,
) -> str:
    """The sentence for a step that did not converge."""
    why = (
        trouble(getattr(options, "contact", None))
        or integrator.explain(q, v)
        or "the rod may turn at most about 1.8 rad in one"
    )
    return (
        f"{integrator.name} did not converge at t = {t:.9g} s: residual {residual:.3g} after "
        f"{iterations} iterations "
        f"with a step of {h:g} s; take a smaller integrator.step ({why})"
    )


def _empty(n: int) -> tuple:
    shapes = ((n,), (n, 6), (n, 5), (n, 5), (n, 3), (n,), (n,))
    kinds = (float, float, float, float, float, int, float)
    return tuple(np.zeros(shape, kind) for shape, kind in zip(shapes, kinds))


def _write(record: tuple, row: int, *values) -> None:
    for column, value in zip(record, values):
        column[row] = value
