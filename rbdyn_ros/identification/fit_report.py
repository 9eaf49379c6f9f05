"""The report of a fit in one HTML page, in the style of `evaluate`, and its pictures; remarks on
what makes the figures doubtful, and the experiments that would help; with the predicted margins of
a law that is redesigned on the fitted plant.

The loop is that of (F.7) with the dead time tau of the fit, L(z) exp(-j w tau). It is stable where
the eigenvalues of the step under u = -K e, late by the whole periods next to tau, lie within the
unit circle.
"""

import math
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np

from rbdyn_ros.control import linear_controller, step_linearization
from rbdyn_ros.control.feedback import regulator
from rbdyn_ros.control.laws import lqr
from rbdyn_ros.control.linear_controller import constant, is_stable
from rbdyn_ros.control.margins import AxisMargins, margins
from rbdyn_ros.evaluation import pictures
from rbdyn_ros.evaluation.report import template
from rbdyn_ros.figures import GREY, PALETTE, RED, canvas, draw_legend, label_axes
from rbdyn_ros.identification import plant_fit, plant_numbers
from rbdyn_ros.identification.frequency import frequency_response
from rbdyn_ros.identification.intervals import correlations
from rbdyn_ros.identification.plant_fit import Curves, Fit
from rbdyn_ros.identification.plant_numbers import DELAY, LENGTH, size_of
from rbdyn_ros.types import Array, System

UNITS = {
    "cart.mass": "kg",
    "cart.damping": "N s/m",
    "cart.friction": "N",
    "rod.mass": "kg",
    "rod.center_of_mass": "m",
    "rod.inertia": "kg m^2",
    "rod.inertia_3": "kg m^2",
    LENGTH: "m",
    "joint.damping": "N m s/rad",
    "joint.friction": "N m",
    "gravity": "m/s^2",
    "gain": "",
    "delay": "s",
    "lag": "s",
    "bias.roll": "rad",
    "bias.pitch": "rad",
    "tilt.roll": "rad",
    "tilt.pitch": "rad",
}
EXPERIMENTS = {
    "cart.mass": "a force that changes fast (a multisine up to 5 Hz and more)",
    "cart.damping": "long and fast moves of the cart (a reference that goes 0.5 m to and fro)",
    "cart.friction": "slow and fast moves of the cart, and many changes of their direction",
    "rod.mass": "the rod on a scale, with --set rod.mass",
    "rod.center_of_mass": "larger tilts at 0.3 to 2 Hz, or the rod balanced on an edge",
    "rod.inertia": "larger tilts at 1 to 5 Hz, or the period of the hanging rod",
    "rod.inertia_3": "none: a rod without spin does not show it; leave it out of --fit",
    LENGTH: "the rod that swings, hanging from a cart that stands",
    "joint.damping": "the rod that swings out, hanging from a cart that stands",
    "joint.friction": "the rod that swings out until it rests, hanging from a cart that stands",
    "gravity": "nothing: it is known where the plant stands, with --set gravity",
    "gain": "a force gauge at the cart held fast, or masses from a scale, with --set",
    "delay": "a force that changes fast (a multisine up to 5 Hz and more)",
    "lag": "a force that changes faster (a multisine up to 10 Hz and more)",
    "bias.roll": "the rod that stands still for a longer time, or hangs",
    "bias.pitch": "the rod that stands still for a longer time, or hangs",
    "tilt.roll": "a level on the rail, or the cart let go",
    "tilt.pitch": "a level on the rail, or the cart let go",
}
ALONE = ("rod.mass", "gravity", "gain")  # which can be measured without moving the plant
UNCERTAIN = 0.2  # relative interval of a number above which it gets a remark
WHITE = 0.01  # below this probability the residuals are called correlated
EXACT = 1e-6  # [m, rad] residuals below which there is no remark
LATE = 1e-4  # [s] of a delay above which there is a remark
WORSE = 1.5  # times the residuals of the fit, in the part that was not fitted


def undetermined_notes(found: Fit) -> list[str]:
    """Return a sentence for each direction that is not determined, and for each number that is
    known badly.
    """
    sentences = []
    for direction in found.undetermined:
        parts = ", ".join(f"{name} ({change:+.2g})" for name, change in direction.items())
        sentences.append(
            f"the motion does not determine these together, in the ratios of their relative "
            f"changes: {parts}; leave one of them out of --fit and --set its value"
        )
    sentences += [
        f"{name} is known to +- {interval:.2g} {UNITS[name]} only; this determines it better: "
        f"{EXPERIMENTS[name]}, and a longer record"
        for name, interval in _wide(found).items()
        if math.isfinite(interval)
    ]
    return sentences


def experiments(found: Fit) -> list[tuple[str, str]]:
    """Return [(number, experiment that determines it)]; of numbers that share a factor only those
    that can be measured alone, one of which is enough.
    """
    names: list[str] = []
    for direction in found.undetermined:
        names += [name for name in direction if name in ALONE] or [*direction]
    names += [name for name, interval in _wide(found).items() if math.isfinite(interval)]
    return [(name, EXPERIMENTS[name]) for name in dict.fromkeys(names)]


def weak(found: Fit) -> set[str]:
    """Return the numbers that are not determined, or known badly."""
    return set(_wide(found))


def _wide(found: Fit) -> dict[str, float]:
    """Return name -> half the width of its interval, of the numbers whose interval is wide."""
    return {
        name: interval
        for name, value, interval in found.rows
        if interval > UNCERTAIN * size_of(name, value)
    }


def doubts(found: Fit) -> list[str]:
    """Return sentences on numbers at an end of their range, on the meaning of a delay, and on
    residuals that the plant does not explain.
    """
    sentences = []
    if found.ends:
        sentences.append(
            f"{' and '.join(found.ends)} ran to an end of the range that is searched; "
            "--params-file and --set may say another plant, such as another rod.length"
        )
    if any(name == DELAY and value > max(LATE, width) for name, value, width in found.rows):
        sentences.append(
            "delay is from a command to the motion by the stamps of the record: by how much the "
            "stamps of the sensors are late is part of it, and no record distinguishes the two"
        )
    # nan compares false
    if any(new > WORSE * old + EXACT for new, old in zip(found.validation, found.residuals)):
        sentences.append(
            "where it was not fitted the motion agrees less: something changes during the record, "
            "or acts that the plant does not have (friction of the rail, a push, a contact)"
        )
    if found.whiteness < WHITE and max(found.residuals) > EXACT:
        sentences.append(
            "the residuals are not white: so are those of encoders that stand still, but also "
            "those of a plant with another structure; the intervals allow for it"
        )
    return sentences


def decay_notes(found: Fit, system: System) -> list[str]:
    """Return sentences on what a rod that swings without a force determines of the plant `system`,
    where its equivalent length was fitted.
    """
    if LENGTH not in found.names:
        return []
    rows = {name: (value, width) for name, value, width in found.rows}
    length, width = rows[LENGTH]
    fitted = plant_numbers.plant(system, found.given)
    J = fitted.rod_mass * fitted.center * length
    parts = [f"m l / J, {1.0 / length:.5g} +- {width / length**2:.2g} 1/m"]
    if "joint.damping" in rows:
        d, wide = rows["joint.damping"]
        parts.append(f"joint.damping / J, {d / J:.4g} +- {wide / J:.2g} 1/s")
    sentences = [
        f"a rod that swings without a force determines {' and '.join(parts)}, with J the inertia "
        "about the joint; masses, the center of mass, cart.damping and the delay need a record "
        f"under a force, and joint.damping is that of a rod.mass of {system.rod_mass:g} kg and a "
        f"rod.center_of_mass of {fitted.center:.4g} m"
    ]
    if length <= system.center:
        sentences.append(
            f"rod.center_of_mass is known as {system.center:g} m, and must be less than "
            f"{LENGTH}, {length:.4g} m, whatever the inertia; the rod is taken as smaller "
            "by one factor: set --set rod.mass and rod.center_of_mass, or rod.length"
        )
    return sentences


def friction_notes(found: Fit) -> list[str]:
    """Return sentences on how certain a fitted Coulomb friction is, and on what was not found."""
    sentences = [
        f"the motion shows Coulomb friction: {name} is {value / width:.2g} times its interval of "
        "95 % above 0"
        for name, value, width in found.rows
        if name in plant_numbers.FRICTION and 0.0 < width < value
    ]
    if found.unseen:
        parts = [f"{name} (less than {most:.2g} {UNITS[name]})" for name, most in found.unseen]
        sentences.append(
            f"the motion does not show {' and '.join(parts)}: with it the fit is not better than "
            "by chance, so it is taken as 0"
        )
    return sentences


LOWEST, POINTS = 0.02, 2000  # [Hz], frequencies up to half the rate of the loop


class LoopPrediction(NamedTuple):
    """The prediction for one law around one plant."""

    name: str
    gains: Array  # K (4,)
    loop: Array  # L (n,)
    margins: AxisMargins | None  # None: it is not stable


class Redesign(NamedTuple):
    """The loops of the laws before and after."""

    frequency: Array  # (n,) [Hz]
    loops: tuple[LoopPrediction, ...]


def predict(known: System, fitted: System, delay: float, options: lqr.Options) -> Redesign:
    """Return the loops of `lqr` designed on the plant as known, around it and around the fitted
    one, and of `lqr` designed on the fitted plant around that; `delay` [s] is that of the fit.

    Raise ValueError where no gains stabilize.
    """
    *weights, force_weight, h, _ = options
    frequency = np.geomspace(LOWEST, 0.499 / h, POINTS)
    before, after = (regulator(each, weights, force_weight, h)[0] for each in (known, fitted))
    cases = (
        ("present law, plant as known", known, before, 0.0),
        ("present law, plant as fitted", fitted, before, delay),
        ("new law, plant as fitted", fitted, after, delay),
    )
    loops = []
    for name, system, K, tau in cases:
        A, B = step_linearization.upright(system, h)
        L = frequency_response.predict(A, B, constant(K), h, frequency, tau)
        late = linear_controller.delay(constant(K), max(0, round(tau / h)))
        bears = margins(frequency, L) if is_stable(late, A, B) else None
        loops.append(LoopPrediction(name, K, L, bears))
    return Redesign(frequency, tuple(loops))


QUANTITIES = (  # of `AxisMargins`: field, what it is, its unit, by what it is multiplied
    ("gain_up", "gain, up", "", 1.0),
    ("gain_down", "gain, down", "", 1.0),
    ("phase", "phase", "°", 1.0),
    ("delay", "delay", "ms", 1e3),
    ("disk", "disk", "", 1.0),
    ("crossover", "crossover", "Hz", 1.0),
    ("sensitivity", "largest |S|", "", 1.0),
)


class EstimateRow(NamedTuple):
    """A number of the plant, before and after."""

    name: str
    unit: str
    before: float
    after: float
    interval: float


def lines(found: Fit, system: System) -> Iterator[EstimateRow]:
    """Yield the numbers, with those of `system`, which were known before."""
    known = plant_numbers.numbers(system)
    for name, value, interval in found.rows:
        unit = UNITS[name].replace("^2", "²")
        yield EstimateRow(name, unit, known[name], value, interval)


def page(
    found: Fit, system: System, names: list[str], notes: list[str], redesign: Redesign | str
) -> str:
    """Return the page; `system` is the plant as known before, `names` are those of the recordings,
    `notes` what was left out of them; `redesign` is a sentence where there is no law for the
    fitted plant.
    """
    rows = list(lines(found, system))
    changed = changes(rows)
    remarks = doubts(found) + decay_notes(found, system) + friction_notes(found)
    shown: dict[str, Any] = {"redesign": redesign}
    if isinstance(redesign, Redesign):
        shown = {"redesign": None, "laws": [_law(each) for each in redesign.loops]}
        shown["loops"] = pictures.address(loops(redesign), "Predicted loops of lqr")
    return template("fit_report.html", "rbdyn_ros.identification").render(
        found=found,
        recordings=names,
        seconds=float(len(found.curves.t) * plant_fit.SAMPLE),
        rows=rows,
        weak=weak(found),
        undetermined=[_sentence(text) for text in undetermined_notes(found)],
        experiments=experiments(found),
        doubts=[_sentence(text) for text in remarks],
        notes=notes,
        quantities=[(name, unit) for _, name, unit, _ in QUANTITIES],
        changes=pictures.address(changed, "Changes of the numbers") if changed else "",
        residuals=pictures.address(residuals(found.curves), "Residuals"),
        delay=found.given.get(DELAY, 0.0),
        **shown,
    )


def _sentence(text: str) -> str:
    """Return the text with a capital, unless it begins with a parameter."""
    first = text.split()[0]
    start = text if "." in first or first in UNITS else text[0].upper() + text[1:]
    return start.replace("+-", "±") + "."


def _law(prediction: Any) -> tuple[str, list[float] | None, str]:
    """Return (name, its margins or None, its gains)."""
    gains = ", ".join(f"{gain:.4g}" for gain in prediction.gains)
    if prediction.margins is None:
        return prediction.name, None, gains
    values = [factor * getattr(prediction.margins, name) for name, _, _, factor in QUANTITIES]
    return prediction.name, [v if v != 0.0 else math.nan for v in values], gains


CHANNELS = ("cart, x", "cart, y", "rod, about e1", "rod, about e2")
LAGS = 100  # samples
LINES = ("--", "-.", "-")  # of laws


def changes(rows: Iterable[EstimateRow]):
    """Draw how far each number moved from the known one, with its interval, both relative; return
    None where no number has both.
    """
    drawn = [row for row in rows if row.before > 0.0 and np.isfinite(row.interval)]
    if not drawn:
        return None
    figure = canvas(10.0, 0.9 + 0.32 * len(drawn))
    axes = figure.subplots()
    places = np.arange(len(drawn))[::-1]
    for place, row in zip(places, drawn):
        change, half = 100.0 * (row.after / row.before - 1.0), 100.0 * row.interval / row.before
        axes.errorbar(change, place, xerr=half, fmt="o", color=PALETTE[0], capsize=4, markersize=4)
    axes.axvline(0.0, color=GREY, linewidth=0.8)
    axes.set_yticks(places, [row.name.replace(".", " ").replace("_", " ") for row in drawn])
    axes.set_ylim(-0.7, len(drawn) - 0.3)
    label_axes(axes, "change from what was known [%], with the interval of 95 %", "")
    return figure


def residuals(curves: Curves):
    """Draw the residuals over time before and after, their correlations and their distribution."""
    figure = canvas(10.0, 6.0)
    grid = figure.add_gridspec(3, 2, height_ratios=(1.0, 1.0, 0.9))
    last = curves.after[curves.fitted]
    for row, name in enumerate(("cart [mm]", "rod [mrad]")):
        axes = figure.add_subplot(grid[row, :])
        _shade(axes, curves)
        for values, color, label in (
            (curves.before, GREY, "before"),
            (curves.after, PALETTE[0], "after"),
        ):
            size = 1e3 * np.hypot(*values[:, 2 * row : 2 * row + 2].T)
            axes.plot(curves.t, np.maximum(size, 1e-9), color=color, linewidth=0.7, label=label)
        axes.set_yscale("log")
        label_axes(axes, "time [s]; shaded: not fitted, only compared" if row else "", name)
        if row == 0:
            draw_legend(axes, ncols=2, loc="lower right", bbox_to_anchor=(1.0, 0.97))
    lags, spread = figure.add_subplot(grid[2, 0]), figure.add_subplot(grid[2, 1])
    count = min(LAGS, len(last) // 2)
    for r, name, color in zip(last.T, CHANNELS, PALETTE):
        lags.plot(correlations(r, count), color=color, linewidth=0.9, label=name)
        deviation = r.std() or 1.0
        spread.hist(r / deviation, np.linspace(-4, 4, 41).tolist(), histtype="step", color=color)
    for sign in (-1.0, 1.0):
        lags.axhline(sign * 1.96 / np.sqrt(len(last)), color=RED, linewidth=0.8, linestyle="--")
    lags.set_ylim(-0.6, 1.05)
    draw_legend(lags, fontsize=7, ncols=2)
    label_axes(lags, "lag [samples]; dashed: 95 % of white residuals", "correlation [–]")
    label_axes(spread, "residual [standard deviations]", "number of samples [–]")
    return figure


def loops(redesign: Redesign):
    """Draw |L| and arg L of the laws."""
    figure = canvas(10.0, 3.6)
    size, phase = figure.subplots(1, 2)
    f = redesign.frequency
    for loop, color, line in zip(redesign.loops, (GREY, PALETTE[1], PALETTE[0]), LINES):
        style = {"color": color, "linestyle": line, "linewidth": 1.4}
        size.loglog(f, np.abs(loop.loop), label=loop.name, **style)
        turn = np.unwrap(np.angle(loop.loop))
        near = np.argmin(np.abs(np.log(np.abs(loop.loop))))
        turn -= 2.0 * np.pi * np.ceil(turn[near] / (2.0 * np.pi))
        phase.semilogx(f, np.degrees(turn), **style)
    size.axhline(1.0, color=GREY, linewidth=0.8)
    phase.axhline(-180.0, color=GREY, linewidth=0.8)
    phase.set_ylim(max(-720.0, phase.get_ylim()[0]), 0.0)
    label_axes(size, "frequency [Hz]", "|L| [–]")
    label_axes(phase, "frequency [Hz]", "arg L [°]")
    draw_legend(size)
    return figure


def _shade(axes, curves: Curves) -> None:
    """Shade the times that were not fitted."""
    edges = np.flatnonzero(np.diff(np.r_[0, (~curves.fitted).astype(int), 0]))
    for a, b in edges.reshape(-1, 2):
        axes.axvspan(curves.t[a], curves.t[b - 1], color="#efeae0", linewidth=0)
