"""The rollout of every run without nodes: ticks of the plant from row to row, with or without a
law, and the message for a step that does not converge. Rows are written at multiples of a period
that is a whole number of steps; the columns of a run, and of its impacts, are those of its files.
"""

import math
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from rbdyn_ros.files import write_table
from rbdyn_ros.integrators import boundary
from rbdyn_ros.integrators.select import Integrator
from rbdyn_ros.numerics.solvers.fc3d_one_contact import SLIDE, STICK
from rbdyn_ros.pendulum.bodies import Memory, candidate, explain_failure, take_impacts
from rbdyn_ros.plant.faults.drive import Actuator
from rbdyn_ros.plant.tick import History, TickConfig, Ticker, TickState
from rbdyn_ros.types import Array, Input, State, System

MOST_ROWS, MOST_STEPS = 20_000_000, 10**12  # 4 GB of memory; a day
COLUMNS = tuple("t,x,y,qw,qx,qy,qz,vx,vy,wx,wy,wz,E,Lz,Px,Py,p3,iterations,residual".split(","))
IMPACT_COLUMNS = ("t", "contact", "P_n", "P_t1", "P_t2", "u_n_minus", "u_n_plus", "status")
_STATUS = {STICK: "stick", SLIDE: "slide"}


class Rows(NamedTuple):
    """The times of the rows: row k is at k times `every`; row 0 is the start."""

    every: float  # [s]
    count: int  # number of rows after the first
    steps: int  # number of integrator steps from row to row

    def note(self, duration: float) -> str:
        """Return a sentence where the last row is not at the `duration` [s], else ""."""
        last = self.every * self.count
        if abs(last - duration) <= 1e-9 * duration:
            return ""
        why = f"the duration, {duration:g} s, is not a multiple of {self.every:g} s"
        return f"note: {why}; the last row is at {last:.9g} s"


class Sources(NamedTuple):
    """What the numbers of the rows are called where they were set, for errors."""

    duration: str = "--duration"
    every: str = "--every"


def plan_rows(
    duration: float, every: float, step: float, name: str = "step", sources: Sources = Sources()
) -> Rows:
    """Return the rows of `duration` [s] >= 0 at every multiple of `every` [s] > 0, itself a
    multiple of `step` [s] > 0.

    The last row is at the duration, or at the last multiple of `every` before it. Raise ValueError
    if `every` is not a multiple of the step, which is called `name`, or if there would be too many
    rows or steps.
    """
    if duration / every > MOST_ROWS:
        raise ValueError(
            f"{sources.duration} {duration:g} s with a row every {every:g} s is more than "
            f"{MOST_ROWS} rows; take an --every of at least {duration / MOST_ROWS:.1g} s"
        )
    if max(duration, every) / step > MOST_STEPS:
        raise ValueError(
            f"{max(duration, every):g} s is more than {MOST_STEPS:.0e} steps of {step:g} s; "
            "take a larger --step"
        )
    steps = max(1, round(every / step))
    if abs(every / step - steps) > 1e-9 * steps:
        below = max(1, int(every / step))
        near = f"{below * step:.9g} or {(below + 1) * step:.9g}"
        raise ValueError(
            f"{sources.every} is {every:g} s; it must be a multiple of the {name}, {step:g} s, "
            f"such as {near}"
        )
    return Rows(every, int(duration / every * (1.0 + 1e-12) + 1e-9), steps)


def times(every: float, n: int) -> np.ndarray:
    """Return 0, every, 2 every, ... (n,) [s], from whole numbers, so that no round-off
    accumulates.
    """
    return every * np.arange(n)


Command = Callable[[int, float], tuple[float, float]]  # (row, t [s]) -> force on the cart [N]
Stop = Callable[[float, Array, Array], str]  # (t, q, v) -> why the run ends here, "" to go on


class Rollout(NamedTuple):
    """The record of a run: row i has the state at t_i, the results of the steps since row i - 1,
    and the force from there on.

    Fields that a source of rows does not have are empty.
    """

    t: Array  # (n + 1,) [s]
    q: Array  # (n + 1, 6)
    v: Array  # (n + 1, 5)
    force: Array  # (n, 2) [N, world] that acted on the cart from t_i to t_{i+1}
    ended: str = ""  # why it ended early
    fault: str = ""  # the error of the law or of the stepper
    quantities: Array = np.empty((0, 5))  # (n + 1, 5) E, Lz, Px, Py, p3
    reaction: Array = np.empty((0, 3))  # (n + 1, 3) mean joint force in the last step [N, world]
    iterations: Array = np.empty(0, int)  # (n + 1,) Newton iterations since the row before
    residual: Array = np.empty(0)  # (n + 1,) largest relative residual since the row before
    options: Any = ()  # the integrator's, with the state of the contacts
    impacts: Array = np.empty((0, 8))  # the rows of `pendulum.bodies` for the impacts
    lost_impacts: int = 0  # impacts between two rows for which there was no room
    seen: Array = np.empty((0, 11))  # (n, 11) q and v as the law got them
    compute: Array = np.empty(0)  # (n,) [s] of processor time that the law took
    refused: int = 0  # states that the law refused, after which the force was zero

    @property
    def ok(self) -> bool:
        """Whether the run reached its planned end."""
        return not self.message

    @property
    def message(self) -> str:
        """The reason for an early end, else ""."""
        return self.fault or self.ended

    @property
    def energy_error(self) -> Array:
        """The change of the energy since the start (n + 1,) [J]."""
        return self.quantities[:, 0] - self.quantities[0, 0]


class Simulation:
    """A plant that steps from row to row under given forces, and its rows so far."""

    def __init__(
        self,
        integrator: Integrator,
        system: System,
        state: State,
        input: Input,
        h: float,
        rows: Rows,
        limit: float = math.inf,
        drive: Actuator | None = None,
    ):
        """Start from `state` in steps of h [s]; `limit` [N] and `drive` apply to the force.

        Raise ValueError if the integrator does not apply.
        """
        self.input = boundary.accept(input)
        q, v = boundary.start(state)
        integrator.check(system, state, self.input)
        self.integrator, self.start, self.planned = integrator, state.t, rows
        self.options = integrator.options(system)
        self.rows, self.ended, self.fault = 0, "", ""
        history, now = History(rows.count + 1), TickState(q, v)
        config = TickConfig(state.t, h, round(1e9 * h), rows.steps, float(limit))
        self.ticker = Ticker(
            *(integrator, system, self.options, self.input, config, now, history, drive)
        )
        history.append(0, q, v, (0.0, 0.0))
        self._rows = history.rows
        n = rows.count + 1
        self._quantities, self._reaction = np.zeros((n, 5)), np.zeros((n, 3))
        self._solved = np.zeros((n, 2))
        self._quantities[0] = now.account[1:6]
        self._contact: Memory | None = getattr(self.options, "contact", None)
        self._impacts: list[Array] = []
        self._lost_impacts = 0

    @property
    def time(self) -> float:
        """The time of the newest row [s]."""
        return self.start + self.rows * self.planned.every

    def run(self, command: Command | None = None, stop: Stop | None = None) -> None:
        """Step to the last row, or until the run ends early: `ended` or `fault` says why.

        Without a command the force of the input acts throughout.
        """
        force = self.ticker.force
        while self.rows < self.planned.count and not (self.ended or self.fault):
            self._advance(command(self.rows, self.time) if command else force)
            if stop and not self.fault:
                state = self.ticker.state
                self.ended = stop(self.time, state.q, state.v)

    def _advance(self, force: tuple[float, float]) -> None:
        ticker, state = self.ticker, self.ticker.state
        ticker.tick(force)
        if not ticker.is_complete:
            h, steps = ticker.config.h, self.rows * self.planned.steps + state.done
            at = self.start + steps * h, h, state.iterations, state.residual, state.q, state.v
            self.fault = failure(self.integrator, self.options, *at)
            return
        self.rows += 1
        row = self.rows
        contact = self._contact
        if contact is not None and 2 * contact.recorded[0] > len(contact.events):
            self._keep_impacts(contact)
        self._quantities[row] = state.account[1:6]
        self._solved[row] = state.iterations, state.residual
        self._reaction[row] = state.reaction

    def _keep_impacts(self, contact: Memory) -> None:
        """Move the impacts out of the contacts' buffer, to make room for others."""
        rows, lost = take_impacts(contact)
        self._impacts.append(rows)
        self._lost_impacts += lost

    def record(self) -> Rollout:
        """Return the rows so far."""
        n = self.rows + 1
        if self._contact is not None:
            self._keep_impacts(self._contact)
        rows = self._rows[:n]
        return Rollout(
            t=self.start + times(self.planned.every, n),
            q=rows[:, :6],
            v=rows[:, 6:11],
            force=rows[1:, 11:],
            ended=self.ended,
            fault=self.fault,
            quantities=self._quantities[:n],
            reaction=self._reaction[:n],
            iterations=self._solved[:n, 0].astype(int),
            residual=self._solved[:n, 1],
            options=self.options,
            impacts=np.concatenate((np.empty((0, 8)), *self._impacts)),
            lost_impacts=self._lost_impacts,
        )


def run(
    integrator: Integrator,
    system: System,
    state: State,
    input: Input,
    h: float,
    rows: int,
    steps_per_row: int,
    stop: Stop | None = None,
) -> Rollout:
    """Take `rows` times `steps_per_row` steps of h [s] from `state`; row 0 is the start.

    `stop(t, q, v)` is called after each row, and a text from it ends the run there. So does a step
    that does not converge: `message` says where and what to try.
    """
    planned = Rows(steps_per_row * h, rows, steps_per_row)
    simulation = Simulation(integrator, system, state, input, h, planned)
    simulation.run(stop=stop)
    return simulation.record()


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
    """Return the message for a step that did not converge."""
    met = explain_failure(getattr(options, "contact", None))
    if met:
        return f"{integrator.name} failed at t = {t:.9g} s with a step of {h:g} s: {met}"
    why = integrator.explain(q, v) or "the rod may turn at most about 1.8 rad in one"
    return (
        f"{integrator.name} did not converge at t = {t:.9g} s: residual {residual:.3g} after "
        f"{iterations} iterations "
        f"with a step of {h:g} s; take a smaller integrator.step ({why})"
    )


def columns(record: Rollout) -> dict[str, Array]:
    """Return the columns of a run by name, each (n,).

    t [s]; x y, vx vy the cart [m, m/s]; qw qx qy qz the rod's quaternion, body to world; wx wy wz
    its angular velocity [rad/s, body]; E [J], Lz [kg m^2/s], Px Py [kg m/s], p3 [kg m^2/s] as in
    `pendulum.rod_on_cart`; iterations and largest relative residual of Newton since the
    row before.
    """
    floats = (record.t, *record.q.T, *record.v.T, *record.quantities.T)
    return dict(zip(COLUMNS, (*floats, record.iterations, record.residual)))


def impact_columns(rows: Array) -> dict[str, Array]:
    """Return the columns of impacts, each (n,), from their rows in the state of the contacts (n,
    8).

    t [s], the contact's number, its impulse P [N s] along normal and tangents, its normal velocity
    before and after [m/s], and whether it stuck or slid.
    """
    table: dict[str, Array] = dict(zip(IMPACT_COLUMNS, rows.T))
    table["contact"] = rows[:, 1].astype(int)
    table["status"] = rows[:, 7].astype(int)
    return table


def impact_units(names: Iterable[str]) -> dict[str, str]:
    """Return the units of the columns of impacts by their names, "" for words."""
    units = {"t": "s", "P": "N s", "u": "m/s"}
    return {name: units.get(name.partition("_")[0], "") for name in names}


def write_impacts(run: Rollout, path: str | Path) -> None:
    """Write the impacts of a run to a .csv file, with names in place of numbers."""
    table, memory = impact_columns(run.impacts), run.options.contact
    table["contact"] = np.array([candidate(memory, i) for i in table["contact"]], object)
    table["status"] = np.array([_STATUS[i] for i in table["status"]], object)
    write_table(table, path)
