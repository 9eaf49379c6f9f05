"""Work and precision: the error of the rod's tip against processor time, for every method and
composition.

A method of somebody else is measured like those of this package; it counts as many stages a step
as its `STAGES` says.
"""

import time
from collections.abc import Sequence
from itertools import product
from typing import NamedTuple

import numpy as np

from rbdyn_ros.evaluation.metrics import axis
from rbdyn_ros.experiments import apparatus
from rbdyn_ros.experiments.order_of_accuracy import list_compositions, reference_solution
from rbdyn_ros.experiments.outcome import (
    Outcome,
    above,
    below,
    claims_of,
    columns,
    label_axes,
    line_style,
    names_of,
    only,
    track_progress,
    where,
)
from rbdyn_ros.figures import EndLabel, label_ends
from rbdyn_ros.integrators.composition import COMPOSITIONS
from rbdyn_ros.integrators.select import select
from rbdyn_ros.pendulum.spherical_pendulum import no_input, upright
from rbdyn_ros.types import State, System

QUESTION = (
    "A rod falls from 10 degrees on a cart of 2 kg and swings for 10 s. How much work does each "
    "method need to bring its tip\n"
    "  within a metre's thousandth, millionth, billionth, and from where on does a high order pay?"
)
DURATION = 10.0  # [s]
METHODS = ("rk4", "rattle_s2", "moser_veselov", "quaternion_midpoint", "se3_variational")
STEPS = (0.04, 0.02, 0.01, 0.005, 0.0025, 0.001)  # [s]
BEHIND = "#dddddd"  # of the lines of other panels


class RunCost(NamedTuple):
    """The cost and the errors of one run."""

    method: str
    composition: str
    step: float  # [s]
    tip_error: float  # [m]
    energy_error: float  # [J]
    stages: float  # symmetric steps, or Runge-Kutta stages, per simulated second
    microseconds: float  # per simulated second, the fastest of a few runs


def run(short: bool, progress, methods: Sequence[str] = METHODS) -> Outcome:
    """Measure every method, every composition, every step.

    Raise ValueError, before any of them is measured, for a method that does not apply.
    """
    for method in methods:
        select(method).check(*_fall(), no_input())
    steps, repeats = (STEPS[:-1], 1) if short else (STEPS, 7)
    end, costs = _tip(reference_solution(*_fall(), DURATION)), []
    for method, composition in track_progress(list_compositions(methods), progress):
        costs += [_cost(method, composition, h, end, repeats) for h in steps]
    table = columns(" ".join(RunCost._fields), costs)
    return Outcome({"costs": table, "frontier": _frontier(table)}, _claims(table))


def _fall() -> tuple[System, State]:
    return apparatus.pendulum(cart_mass=2.0), upright(np.radians(10.0))


def _tip(q) -> np.ndarray:
    n = 2.0 * apparatus.HALF_LENGTH * axis(q)
    return np.array([q[0] + n[0], q[1] + n[1], n[2]])


def _cost(method: str, composition: str, h: float, end, repeats: int) -> RunCost:
    integrator, (system, start) = select(method, composition), _fall()
    record = apparatus.simulate(integrator, system, start, h, DURATION, 0.2)
    tip = float(np.linalg.norm(_tip(record.q[-1]) - end)) if record.ok else np.nan
    energy = float(np.abs(record.energy_error).max())
    # of a method's very first run a part is spent on reading its machine code
    seconds = min(_seconds(integrator, system, start, h) for _ in range(1 + repeats))
    work = integrator.stages / h, 1e6 * seconds / DURATION
    return RunCost(integrator.name, composition, h, tip, energy, *work)


def _seconds(integrator, system, start, h: float) -> float:
    """Return the processor time of the run without any rows [s]."""
    state, options = State(0.0, start.q.copy(), start.v.copy()), integrator.options(system)
    began = time.thread_time()
    integrator.advance(system, options, no_input(), h, round(DURATION / h), state, np.zeros(3))
    return time.thread_time() - began


def _frontier(table: dict) -> dict:
    """Return the least work [stages/s] with which each method and composition reaches a tip error
    [m].
    """
    rows, methods = [], names_of(table)
    for goal, method, composition in product((1e-3, 1e-6, 1e-9), methods, COMPOSITIONS):
        rows.append((goal, method, composition, _least(table, method, composition, goal)))
    return columns("tip_error method composition stages", rows)


def _least(table: dict, method: str, composition: str, goal: float) -> float:
    good = where(table, method=method, composition=composition) & (table["tip_error"] <= goal)
    return float(table["stages"][good].min()) if good.any() else np.nan


def _claims(table: dict) -> tuple:
    def error(method: str, composition: str, h: float, column: str = "tip_error") -> float:
        return only(table, column, method=method, composition=composition, step=h)

    def ratio() -> float:
        return _least(table, "rk4", "none", 1e-6) / _least(table, "rattle_s2", "kahan_li8", 1e-6)

    def difference() -> float:
        return abs(error("rattle_s2", "none", 0.01) - error("moser_veselov", "none", 0.01))

    def moser_veselov(text: str, composition: str, bound: float) -> tuple:
        return "moser_veselov", lambda: below(
            text, error("moser_veselov", composition, 0.01), bound, "m"
        )

    return claims_of(
        names_of(table),
        moser_veselov("Moser-Veselov at 10 ms, tip", "none", 1.5e-2),
        moser_veselov("with suzuki4", "suzuki4", 2e-6),
        moser_veselov("with kahan_li8", "kahan_li8", 5e-9),
        (
            "moser_veselov",
            lambda: below(
                "its energy error",
                error("moser_veselov", "kahan_li8", 0.01, "energy_error"),
                1e-10,
                "J",
            ),
        ),
        ("rk4", lambda: below("rk4 at 10 ms, tip", error("rk4", "none", 0.01), 1e-3, "m")),
        (
            "rk4 rattle_s2",
            lambda: above(
                "work of rk4 over RATTLE with kahan_li8 for a tip within 1e-6 m, in stages",
                ratio(),
                1.5,
            ),
        ),
        (
            "rattle_s2 moser_veselov",
            lambda: below(
                "RATTLE against Moser-Veselov at 10 ms: difference of their tip errors",
                difference(),
                1e-8,
                "m",
            ),
        ),
    )


def draw(outcome: Outcome, figure) -> None:
    """Draw the tip error against stages above, against processor time below: the methods alone,
    and each composition, with all others behind it in grey.
    """
    table = outcome.tables["costs"]
    methods = names_of(table)
    ratios = (2.2, *(1.2 for _ in tuple(COMPOSITIONS)[1:]))  # room for the labels
    panels = figure.subplots(2, len(ratios), sharex="row", sharey=True, width_ratios=ratios)
    for row, column in zip(panels, ("stages", "microseconds")):
        for axes, composition in zip(row, COMPOSITIONS):
            _draw_lines(axes, table, column, composition, methods)
    for row, unit in zip(panels, ("stages/s", "µs/s")):
        for axes, composition in zip(row, COMPOSITIONS):
            title = "The methods alone" if composition == "none" else f"Composed: {composition}"
            label_axes(axes, title, f"work [{unit}]", "")
    for axes in panels[:, 0]:
        axes.set_ylabel("error of the tip after 10 s [m]")
        axes.set_xlabel(axes.get_xlabel().replace("work", "work per simulated time"))
        label_ends(axes, _ends(axes, methods))  # these have every method


def _draw_lines(axes, table: dict, column: str, composition: str, methods: list[str]) -> None:
    """Draw a line of each method that has the composition, over all lines in light grey."""
    for method, other in product(methods, COMPOSITIONS):
        rows = where(table, method=method, composition=other)
        axes.loglog(table[column][rows], table["tip_error"][rows], color=BEHIND, linewidth=0.8)
    for method in methods:
        rows = where(table, method=method, composition=composition)
        if rows.any():
            style = {"markersize": 3.5, "label": method}
            style |= {"color": line_style(method, methods)["color"]}
            axes.loglog(table[column][rows], table["tip_error"][rows], "o-", **style)


def _ends(axes, methods: list[str]) -> list[EndLabel]:
    """Return a label for the last point of each method's line in the axes."""
    found = []
    for line in axes.lines:
        method, known = line.get_label(), np.isfinite(line.get_ydata())
        if method in methods and known.any():
            look = line_style(method, methods)
            x, y = max(zip(line.get_xdata()[known], line.get_ydata()[known]))
            found.append(EndLabel(float(x), float(y), look["label"], look["color"]))
    return found
