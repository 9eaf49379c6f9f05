"""The order of accuracy of each method and composition on the nonlinear pendulum."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.integrate import solve_ivp

from rbdyn_ros.evaluation.metrics import axis
from rbdyn_ros.experiments import apparatus, closed_form
from rbdyn_ros.experiments.apparatus import CONE, PITCH
from rbdyn_ros.experiments.outcome import (
    Outcome,
    between,
    columns,
    label_axes,
    line_style,
    names_of,
    slope,
    track_progress,
    where,
)
from rbdyn_ros.figures import EndLabel, label_ends
from rbdyn_ros.integrators import rk4, tqdl
from rbdyn_ros.integrators.composition import COMPOSITIONS
from rbdyn_ros.integrators.select import select
from rbdyn_ros.pendulum import rod_on_cart
from rbdyn_ros.pendulum.spherical_pendulum import no_input
from rbdyn_ros.types import State, System

QUESTION = (
    "Every method claims an order, alone and composed. What is the order, measured on the full "
    "nonlinear pendulum against an\n"
    "  independent solution, where round-off does not yet hide it?"
)
DURATION = 1.6  # [s]: through the bottom and up again
FLOOR = 1e-11  # errors below this are round-off
STEPS = {1: 0.02, 2: 0.02, 4: 0.04, 6: 0.08, 8: 0.16}  # [s] the coarsest, by order
METHODS = (
    "tqdl",
    "euler_lagrange",
    "rk4",
    "se3_variational",
    "quaternion_midpoint",
    "rattle_s2",
    "moser_veselov",
)
STOUT = (0.3, 0.3, 0.12)  # [kg m^2] a rod whose spin matters


class ReferenceCase(NamedTuple):
    """A machine, a start, and its position after DURATION."""

    system: System
    start: State
    end: np.ndarray  # (5,) cart and rod's direction


def run(short: bool, progress, methods: Sequence[str] = METHODS) -> Outcome:
    """Halve the step of each method until round-off, and fit the slope.

    Raise ValueError, before any of them is measured, for a method that does not apply.
    """
    halvings = 3 if short else 5
    problems = {name: problem(name) for name in methods}
    for method, given in problems.items():
        select(method).check(given.system, given.start, no_input())
    rows, slopes = [], []
    for method, composition in track_progress(list_compositions(methods), progress):
        is_notebook = method == "tqdl"
        integrator = (
            apparatus.notebook_scheme(tqdl.FROZEN) if is_notebook else select(method, composition)
        )
        h = largest_step(integrator.order) / 2.0 ** np.arange(halvings + 1)
        e = np.array([error(integrator, problems[method], step) for step in h])
        name = integrator.name
        rows += [(name, composition, step, value) for step, value in zip(h, e)]
        slopes.append((name, composition, integrator.order, observed_order(h, e)))
    tables = {
        "errors": columns("method composition step error", rows),
        "slopes": columns("method composition order measured", slopes),
    }
    claims = (
        between(f"{n}, {c}" if c != "none" else n, m, o - 0.35, o + 1.3) for n, c, o, m in slopes
    )
    return Outcome(tables, tuple(claims))


def largest_step(order: int) -> float:
    """Return the coarsest step [s] for a method of that order: that of the next lower one."""
    return STEPS[max(known for known in STEPS if known <= order)]


def list_compositions(methods) -> list[tuple[str, str]]:
    """Return each method alone and, where it is symmetric, with every composition."""
    return [(m, c) for m in methods for c in COMPOSITIONS if c == "none" or select(m).symmetric]


def problem(name: str) -> ReferenceCase:
    """Return the hardest problem that the method is for.

    A stout rod on a cart, spinning; without spin for `rattle_s2`; a point mass on a fixed joint
    for `euler_lagrange`; and for `tqdl`, whose model is not the pendulum's, its own model.
    """
    if name == "tqdl":
        system, start = apparatus.pendulum(), apparatus.leaning_state()
        fine = apparatus.simulate(
            apparatus.notebook_scheme(tqdl.COUPLED), system, start, 5e-4, DURATION, DURATION
        )
        return ReferenceCase(system, start, place(fine.q[-1]))
    if name == "euler_lagrange":
        n = closed_form.from_rest(PITCH, CONE, apparatus.FREQUENCY, np.array([DURATION]))[0]
        return ReferenceCase(apparatus.point_mass(), apparatus.leaning_state(), np.r_[0.0, 0.0, n])
    system, start = (
        apparatus.pendulum(cart_mass=2.0, rod_inertia=STOUT),
        apparatus.leaning_state(*np.radians((40.0, 20.0))),
    )
    start = start._replace(v=np.array([0.3, -0.2, 0.4, -0.3, 0.0 if name == "rattle_s2" else 2.0]))
    return ReferenceCase(system, start, place(reference_solution(system, start)))


def place(q) -> np.ndarray:
    """Return cart and rod's direction (5,) of a configuration (6,)."""
    return np.r_[q[:2], axis(q)]


def reference_solution(system: System, start: State, duration: float = DURATION) -> np.ndarray:
    """Return q (6,) after `duration` [s] by SciPy's DOP853 on the coupled equations (1.7), (1.8),
    to about 1e-12.
    """
    load = rod_on_cart.load(no_input())

    def rates(_, y):
        y = y.tolist()
        dx, dQ, dw, du = rk4.rates(
            system, load, (0.0, 0.0), tuple(y[2:6]), tuple(y[8:]), tuple(y[6:8])
        )
        return (*dx, *dQ, *du, *dw)

    y0 = np.r_[start.q, start.v]
    return solve_ivp(rates, (0.0, duration), y0, method="DOP853", rtol=1e-13, atol=1e-14).y[:6, -1]


def error(integrator, problem: ReferenceCase, h: float) -> float:
    """Return the distance of cart and rod's direction from the reference at the end [m, rad]; nan
    if the step was too large.
    """
    record = apparatus.simulate(integrator, problem.system, problem.start, h, DURATION, DURATION)
    if not record.ok:
        return np.nan
    return float(np.linalg.norm(place(record.q[-1]) - problem.end))


def observed_order(h, e) -> float:
    """Return the slope over the three smallest steps whose errors are above the round-off; nan if
    there are fewer.
    """
    good = np.flatnonzero(np.isfinite(e) & (e > FLOOR))[-3:]
    return slope(h[good], e[good]) if good.size == 3 else np.nan


def draw(outcome: Outcome, figure) -> None:
    """Draw one panel for each composition, with all methods in it and their orders beside it."""
    errors, slopes = outcome.tables["errors"], outcome.tables["slopes"]
    for axes, composition in zip(figure.subplots(2, 2).flat, COMPOSITIONS):
        ends = []
        for name in names_of(errors):
            rows, fitted = (
                where(table, method=name, composition=composition) for table in (errors, slopes)
            )
            rows &= np.isfinite(errors["error"])
            if rows.any():
                h, e, order = errors["step"][rows], errors["error"][rows], slopes["measured"]
                style = line_style(name, names_of(errors))
                axes.loglog(h, e, "o-", markersize=4, **style)
                text = f"{style['label']}, order {order[fitted][0]:.2f}"
                ends.append(EndLabel(h.max(), e[h.argmax()], text, style["color"]))
        axes.axhspan(1e-16, FLOOR, color="#f0f0f0", zorder=0)
        axes.set_ylim(bottom=1e-15)
        title = "The methods alone" if composition == "none" else f"Composed: {composition}"
        label_axes(axes, title, "step [s]", "error after 1.6 s [m, rad]")
        label_ends(axes, ends)
