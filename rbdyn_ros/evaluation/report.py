"""The report: the outcome in a terminal, with a line per row, and below it what does not hold, and
why; evaluation.json for programs; report.html, with everything in it, for readers.
"""

import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from rbdyn_ros.evaluation import measures, metrics, pictures
from rbdyn_ros.evaluation.bench import ControllerUnderTest
from rbdyn_ros.evaluation.results import (
    BROKEN,
    HOLDS,
    MISSES,
    NOT_APPLICABLE,
    OPEN,
    Criterion,
    row_verdict,
    to_json,
)
from rbdyn_ros.evaluation.suite import KINDS, Case, Row, Suite
from rbdyn_ros.files import json_text
from rbdyn_ros.origin import origin
from rbdyn_ros.schema import flat

JSON, PAGE = "evaluation.json", "report.html"
# Rod and cart have settled within these; those of the bisections are settings of their cases.
TOLERANCES = {
    "settled": {
        "tilt_deg": math.degrees(metrics.BALANCE.tilt),
        "cart_m": metrics.BALANCE.distance,
    },
    "settled_after_swing_up": {
        "tilt_deg": math.degrees(metrics.SWING_UP.tilt),
        "cart_m": metrics.SWING_UP.distance,
        "for_s": metrics.SWING_UP.hold,
    },
}


UNMEASURED = NOT_APPLICABLE, OPEN


class Evaluation(NamedTuple):
    """The measured cases of a law."""

    suite: Suite
    under_test: ControllerUnderTest
    cases: Mapping[str, Criterion]  # by their names
    sittings: list[dict[str, Any]]  # when and where


def write(made: Evaluation, folder: Path) -> Iterator[Path]:
    """Write both files into the folder, and yield their paths. Raise OSError if that cannot be
    done.
    """
    for name, text in ((JSON, lambda: json_text(content(made))), (PAGE, lambda: page(made))):
        path = folder / name
        path.write_text(text(), encoding="utf-8")
        yield path


def content(made: Evaluation) -> dict[str, Any]:
    """Return the report for programs, without the curves, which are in cases.jsonl."""
    (suite, under_test, cases, sittings), rows = made, []
    for row, found in _by_row(suite, cases):
        by_name = {case.name: case for case in row.cases}
        documents = [
            _without_curves(to_json(case))
            | ({} if case.verdict in UNMEASURED else specification(by_name[case.name]))
            for case in found
        ]
        rows.append(
            {
                "row": row.name,
                "title": row.title,
                "verdict": row_verdict(found),
                "counts": not row.of_plant,
                "cases": documents,
            }
        )
    heading = under_test.heading(False)
    heading = {key: heading[key] for key in ("law", "kinds", "parameters")}
    provenance = {
        "sittings": sittings,
        **under_test.identity,
        "tolerances": TOLERANCES,
        "seeds": _seeds(suite),
    }
    return {
        "suite": suite.title,
        "summary": summary(suite, cases),
        **heading,
        "provenance": provenance,
        "rows": rows,
    }


def _without_curves(case: dict) -> dict:
    return {key: value for key, value in case.items() if key not in ("curves", "key", "row")}


def specification(case: Case) -> dict[str, Any]:
    """Return everything that the case sets, with its seed and its tolerances, and those of the
    faults that are not zero.
    """
    scenario = case.scenario._asdict()
    wrong, law = scenario.pop("faults"), dict(scenario.pop("law"))
    faults = {name: value for name, value in flat(wrong).items() if np.any(value)}
    return {
        "measure": case.measure,
        "settings": case.settings,
        "conditions": scenario | faults,
        "options": law,
    }


def _seeds(suite: Suite) -> list:
    return sorted({case.scenario.seed for case in suite.cases})


def template(name: str, package: str = "rbdyn_ros.evaluation") -> Any:
    """Return a page's template from a package; it may include `style.html`, which says in the
    page's metadata what wrote it, and `origin.html`, which says so at its end, of this one.
    """
    from jinja2 import ChoiceLoader, Environment, PackageLoader

    folders = [PackageLoader(each, ".") for each in (package, "rbdyn_ros.evaluation")]
    environment = Environment(
        loader=ChoiceLoader(folders), autoescape=True, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters["number"] = number
    return environment.get_template(name, globals={"origin": origin()})


def page(made: Evaluation) -> str:
    """Return the report for readers, in one HTML file."""
    suite, under_test, cases, sittings = made
    rows = [_section(row, found) for row, found in _by_row(suite, cases)]
    options = {}
    for name, option in under_test.identity.get("options", {}).items():
        given = "" if option["value"] == option["default"] else f" (default {option['default']})"
        options[name] = f"{option['value']} {option['unit']}".strip() + given
    plant = {
        name: value
        for name, value in under_test.values.items()
        if not name.startswith(f"{under_test.name}.") and value != ()
    }
    kinds = {kind: KINDS[kind] for kind in under_test.kinds}
    return template("report.html").render(
        suite=suite, under_test=under_test, kinds=kinds, options=options, plant=plant, rows=rows,
        summary=summary(suite, cases), sittings=sittings, identity=under_test.identity,
        tolerances=TOLERANCES, seeds=_seeds(suite),
    )  # fmt: skip


def _by_row(suite: Suite, cases: Mapping) -> list:
    return [(row, row.select(cases)) for row in suite.rows]


def _section(row: Row, found: list) -> dict:
    """Return what the page shows of a row."""
    measured = [case for case in found if case.verdict not in UNMEASURED]
    by_name = {case.name: case.measure for case in row.cases}
    tables = {}
    for case in measured:
        tables.setdefault(by_name[case.name], []).append(case)
    return {
        "row": row,
        "of_plant": row.of_plant,
        "verdict": row_verdict(found),
        "for": sorted({kind for case in row.cases for kind in case.kinds}),
        "tables": [_cases(name, cases) for name, cases in tables.items()],
        "notes": _notes(measured),
        "broken": [(case.label, case.note) for case in measured if case.verdict == BROKEN],
        "picture": pictures.picture(row, measured),
    }


def _notes(cases: list) -> list:
    """Return the notes for the reader, each once, with the labels of its cases where they are not
    all.
    """
    labels: dict = {}
    for case in cases:
        if case.note and case.verdict != BROKEN:
            labels.setdefault(case.note, []).append(case.label)
    return [
        note if len(about) == len(cases) else f"{', '.join(about)}: {note}"
        for note, about in labels.items()
    ]


def _cases(measure: str, cases: list) -> dict:
    """Return the cases of one measure as a table: a line per case, a column per value."""
    described = measures.MEASURES[measure]
    seen = [name for name in described.values if any(name in case.values for case in cases)]
    lines = [
        (case.label, case.verdict, [_cell(case, name) for name in seen])
        for case in cases
        if case.verdict != BROKEN
    ]
    return {
        "question": described.question,
        "columns": [(name, described.values[name]) for name in seen],
        "lines": lines,
    }


def _cell(case: Criterion, name: str) -> dict:
    own = [(text, holds) for text, holds in case.requirements if text.split()[0] == name]
    bound = ", ".join(
        text.partition(" ")[2].replace("<=", "≤").replace(">=", "≥") for text, _ in own
    )
    return {
        "value": case.values.get(name, math.nan),
        "bound": bound,
        "holds": all(holds for _, holds in own),
    }


MARKS = {HOLDS: "ok", MISSES: "MISSES", BROKEN: "BROKEN", NOT_APPLICABLE: "-", OPEN: "open"}


def table(suite: Suite, cases: Mapping[str, Criterion]) -> str:
    """Return every row of the suite with its measured values (case name -> Criterion), as text."""
    lines = []
    for row, found in _by_row(suite, cases):
        lines.append(f"{row.name:5} {MARKS[row_verdict(found)]:7} {row.title}")
        lines += [
            f"{'':13} {_line(row, case)}" for case in found if case.verdict != NOT_APPLICABLE
        ]
    return "\n".join(lines)


def summary(suite: Suite, cases: Mapping[str, Criterion]) -> str:
    """Return how many rows hold. The rows of the plant are counted separately: no law takes part
    in them.
    """
    law, plant = (
        [row_verdict(found) for row, found in _by_row(suite, cases) if row.of_plant == of_plant]
        for of_plant in (False, True)
    )
    others = law.count(NOT_APPLICABLE)
    if law and others == len(law):
        parts = ["no row is for this kind of law"]
    else:
        parts = [f"{_count(law)}; {others} are not for this kind of law"]
    parts += [f"the plant's own: {_count(plant)}"] if plant else []
    return "; ".join(parts)


def _count(verdicts: list[str]) -> str:
    """Return how many of the applicable verdicts hold, miss, are broken and are open, as text."""
    words = {MISSES: "miss", BROKEN: "broken", OPEN: "open"}
    known = [verdict for verdict in verdicts if verdict in (HOLDS, MISSES, BROKEN)]
    parts = [f"{known.count(HOLDS)} of {len(known)} rows hold"]
    return ", ".join(
        parts + [f"{verdicts.count(v)} {word}" for v, word in words.items() if v in verdicts]
    )


def number(value: float) -> str:
    """Return the value with four digits, "never" for inf and "-" for nan."""
    if not math.isfinite(value):
        return {math.inf: "never"}.get(value, "-")
    return f"{value:.4g}" if abs(value) < 1e4 else f"{value:.3e}"


def _line(row: Row, case: Criterion) -> str:
    label = f"{case.label}: " if case.label else ""
    if case.verdict in (BROKEN, OPEN):
        return f"{label}{case.note}"
    measure = next(c.measure for c in row.cases if c.name == case.name)
    shown = []
    for text, holds in case.requirements:
        name, bound = text.split(maxsplit=1)
        value = case.values.get(name, math.nan)
        unit = measures.MEASURES[measure].values[name].unit if math.isfinite(value) else ""
        said = f"{name} {number(value)} {unit}".strip()
        shown.append(said + ("" if holds else f" (must be {bound})"))
    note = f"  ({case.note})" if case.note and case.verdict == MISSES else ""
    return f"{label}{', '.join(shown)}{note}"
