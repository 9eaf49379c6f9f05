"""The phase portrait over 400 s, whose lines are thickened by the solver's tolerance and not by
the pendulum.
"""

import numpy as np

from rbdyn_ros.experiments import apparatus, closed_form
from rbdyn_ros.experiments.apparatus import CONE, PITCH
from rbdyn_ros.experiments.outcome import (
    METHOD_COLORS,
    Outcome,
    above,
    below,
    label_axes,
    track_progress,
)
from rbdyn_ros.integrators.select import select

QUESTION = (
    "Over 400 s the notebook's phase portraits thicken, which it takes for a slight loss of "
    "energy in its ground truth.\n"
    "  Does the pendulum thicken, or the solver, and which method draws a line that stays thin?"
)
ROW = 0.01  # [s]
SOLVERS = {"LSODA, tolerance 1e-8": ("LSODA", 1e-8), "DOP853, tolerance 1e-13": ("DOP853", 1e-13)}
STEPPERS = {"RATTLE, 10 ms": "none", "RATTLE, order 8, 10 ms": "kahan_li8"}


def run(short: bool, progress) -> Outcome:
    """Compute the exact portrait, and the energy by time of two solvers and two steppers."""
    duration = 100.0 if short else 400.0
    system, start = apparatus.point_mass(), apparatus.leaning_state()
    t = np.arange(round(duration / ROW) + 1) * ROW
    portrait, energy = _exact(t), {}
    for label, (method, tolerance) in track_progress(SOLVERS.items(), progress, end=0.8):
        y = closed_form.solve(system, PITCH, CONE, t, method, tolerance)
        energy[label] = np.abs(closed_form.energy(system, y) - closed_form.energy(system, y[:1]))
    for label, composition in STEPPERS.items():
        record = apparatus.simulate(
            select("rattle_s2", composition), system, start, ROW, duration, ROW
        )
        energy[label] = np.abs(record.energy_error)
    progress(1.0)
    windows = {label: apparatus.largest_so_far(error) for label, error in energy.items()}
    tables = {
        "portrait": portrait,
        "energy": {"t": np.linspace(duration / 100, duration, 100), **windows},
    }
    return Outcome(tables, _claims(windows, portrait, duration))


def _exact(t) -> dict:
    """Return the columns t, pitch, cone [deg] and their rates [deg/s] of the exact motion."""
    small = 1e-5
    (pitch, cone), ahead, behind = (
        closed_form.angles(closed_form.from_rest(PITCH, CONE, apparatus.FREQUENCY, times))
        for times in (t, t + small, t - small)
    )
    rate = [
        np.degrees((np.unwrap(a - b + np.pi, axis=0) - np.pi) / (2.0 * small))
        for a, b in zip(ahead, behind)
    ]
    return {
        "t": t,
        "pitch": np.degrees(pitch),
        "cone": np.degrees(np.unwrap(cone)),
        "pitch_rate": rate[0],
        "cone_rate": rate[1],
    }


def _claims(energy: dict, portrait: dict, duration: float) -> tuple:
    loose, tight, rattle, eighth = (energy[label] for label in (*SOLVERS, *STEPPERS))
    return (
        above(f"LSODA at 1e-8, energy error after {duration:g} s", loose[-1], 1e-6, "J"),
        above("how much it grew from the first quarter to the end", loose[-1] / loose[24], 1.3),
        below("DOP853 at 1e-13: energy error", tight[-1], 1e-8, "J"),
        below("RATTLE at 10 ms: energy error", rattle[-1], 1e-2, "J"),
        below(
            "how much it grew from the first quarter to the end", rattle[-1] / rattle[24], 1.0001
        ),
        below("RATTLE composed to order 8 at 10 ms: energy error", eighth[-1], 1e-8, "J"),
        above("cos(pitch) never falls below", np.cos(np.radians(portrait["pitch"])).min(), 0.443),
    )


def draw(outcome: Outcome, figure) -> None:
    """Draw the exact portraits, a closer look at the line, the energy."""
    p, e = outcome.tables["portrait"], outcome.tables["energy"]
    axes = figure.subplot_mosaic([["pitch", "energy"], ["cone", "energy"]], width_ratios=(1, 1.2))
    pitch, cone, energy = axes["pitch"], axes["cone"], axes["energy"]
    for axes, name, color in ((pitch, "pitch", "moser_veselov"), (cone, "cone", "rattle_s2")):
        axes.plot(p[name], p[f"{name}_rate"], color=METHOD_COLORS[color], linewidth=0.6)
        label_axes(
            axes,
            f"Exact: {name} for {p['t'][-1]:g} s, one thin line",
            f"{name} [°]",
            "rate [°/s]",
        )
    colors = ("tqdl", "truth", "rattle_s2", "moser_veselov")
    for (label, values), color in zip(list(e.items())[1:], colors):
        energy.semilogy(e["t"], np.maximum(values, 1e-17), color=METHOD_COLORS[color], label=label)
    energy.legend(loc="center right", bbox_to_anchor=(1.0, 0.82))
    label_axes(
        energy,
        "What thickens is the solver's error",
        "time [s]",
        "largest energy error so far [J]",
    )
