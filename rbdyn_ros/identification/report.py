"""The report of a fit in one HTML page, in the style of `evaluate`."""

import math
from collections.abc import Iterator
from typing import Any

from rbdyn_ros.evaluation import pictures
from rbdyn_ros.evaluation.report import template
from rbdyn_ros.identification import plant_fit, plant_numbers, remarks, report_pictures
from rbdyn_ros.identification.plant_fit import Fit
from rbdyn_ros.identification.plant_numbers import DELAY
from rbdyn_ros.identification.redesign import Redesign
from rbdyn_ros.identification.report_pictures import Line
from rbdyn_ros.types import System

QUANTITIES = (  # of `Margins`: field, what it is, its unit, by what it is multiplied
    ("gain_up", "gain, up", "", 1.0),
    ("gain_down", "gain, down", "", 1.0),
    ("phase", "phase", "°", 1.0),
    ("delay", "delay", "ms", 1e3),
    ("disk", "disk", "", 1.0),
    ("crossover", "crossover", "Hz", 1.0),
    ("sensitivity", "largest |S|", "", 1.0),
)


def lines(found: Fit, system: System) -> Iterator[Line]:
    """The numbers, with those of `system`, which were known before."""
    known = plant_numbers.numbers(system)
    for name, value, interval in zip(found.names, found.values, found.intervals):
        yield Line(
            name,
            remarks.UNITS[name].replace("^2", "²"),
            known[name],
            float(value),
            float(interval),
        )


def page(
    found: Fit, system: System, names: list[str], notes: list[str], redesign: Redesign | str
) -> str:
    """The page; `system` is what was known, `names` are those of the recordings, `notes` what was
    left out of them; `redesign` is a sentence where there is no law for the fitted plant.
    """
    rows = list(lines(found, system))
    shown: dict[str, Any] = {"redesign": redesign}
    if isinstance(redesign, Redesign):
        shown = {"redesign": None, "laws": [_law(each) for each in redesign.loops]}
        shown["loops"] = pictures.address(report_pictures.loops(redesign))
    return template("report.html", "rbdyn_ros.identification").render(
        found=found,
        recordings=names,
        seconds=float(len(found.curves.t) * plant_fit.SAMPLE),
        rows=rows,
        weak=remarks.weak(found),
        undetermined=[_sentence(text) for text in remarks.undetermined(found)],
        experiments=remarks.experiments(found),
        doubts=[_sentence(text) for text in remarks.doubts(found)],
        notes=notes,
        quantities=[(name, unit) for _, name, unit, _ in QUANTITIES],
        changes=_picture(report_pictures.changes(rows)),
        residuals=pictures.address(report_pictures.residuals(found.curves)),
        delay=dict(zip(found.names, found.values)).get(DELAY, 0.0),
        **shown,
    )


def _sentence(text: str) -> str:
    """With a capital, unless it begins with a parameter."""
    first = text.split()[0]
    start = text if "." in first or first in remarks.UNITS else text[0].upper() + text[1:]
    return start.replace("+-", "±") + "."


def _picture(figure: Any) -> str:
    return pictures.address(figure) if figure else ""


def _law(prediction: Any) -> tuple[str, list[float] | None, str]:
    """(name, its margins or None, its gains)."""
    gains = ", ".join(f"{gain:.4g}" for gain in prediction.gains)
    if prediction.margins is None:
        return prediction.name, None, gains
    values = [factor * getattr(prediction.margins, name) for name, _, _, factor in QUANTITIES]
    return prediction.name, [v if v != 0.0 else math.nan for v in values], gains
