"""The report: evaluation.json for programs, report.html, with everything in it, for people."""

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from rbdyn_ros.evaluation import criterion, measures, metrics, pictures, table
from rbdyn_ros.evaluation.bench import ControllerUnderTest
from rbdyn_ros.evaluation.criterion import NOT_APPLICABLE, Criterion
from rbdyn_ros.evaluation.suite import KINDS, Case, Row, Suite
from rbdyn_ros.files import json_text
from rbdyn_ros.schema import flat

JSON, PAGE = "evaluation.json", "report.html"
# within which rod and cart have settled; those of the bisections are settings of their cases
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


def write(
    suite: Suite,
    under_test: ControllerUnderTest,
    cases: dict[str, Criterion],
    sittings: list[dict[str, Any]],
    folder: Path,
) -> Iterator[Path]:
    """Write both files into the folder, and yield their paths; `sittings` says when and where it
    was measured. OSError.
    """
    path = folder / JSON
    path.write_text(json_text(content(suite, under_test, cases, sittings)), encoding="utf-8")
    yield path
    path = folder / PAGE
    path.write_text(page(suite, under_test, cases, sittings), encoding="utf-8")
    yield path


def content(
    suite: Suite,
    under_test: ControllerUnderTest,
    cases: dict[str, Criterion],
    sittings: list[dict[str, Any]],
) -> dict[str, Any]:
    """What programs read: without curves, which are in cases.jsonl."""
    rows = []
    for row, found in _by_row(suite, cases):
        by_name = {case.name: case for case in row.cases}
        told = [
            _without_curves(criterion.to_json(case))
            | ({} if case.verdict == NOT_APPLICABLE else asked(by_name[case.name]))
            for case in found
        ]
        verdict = criterion.row_verdict(found) if found else "open"
        rows.append(
            {
                "row": row.name,
                "title": row.title,
                "verdict": verdict,
                "counts": not row.of_plant,
                "cases": told,
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
        "summary": table.summary(suite, cases),
        **heading,
        "provenance": provenance,
        "rows": rows,
    }


def _without_curves(case: dict) -> dict:
    return {key: value for key, value in case.items() if key not in ("curves", "key", "row")}


def asked(case: Case) -> dict[str, Any]:
    """Everything that the case sets, with its seed and its tolerances; of the faults those that
    are not zero.
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
    return sorted({case.scenario.seed for row in suite.rows for case in row.cases})


def template(name: str, package: str = "rbdyn_ros.evaluation") -> Any:
    """A page's template out of a package; it may include `style.html` of this one."""
    from jinja2 import ChoiceLoader, Environment, PackageLoader

    folders = [PackageLoader(each, ".") for each in (package, "rbdyn_ros.evaluation")]
    environment = Environment(
        loader=ChoiceLoader(folders), autoescape=True, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters["number"] = table.number
    return environment.get_template(name)


def page(
    suite: Suite,
    under_test: ControllerUnderTest,
    cases: dict[str, Criterion],
    sittings: list[dict[str, Any]],
) -> str:
    """What people read, in one file."""
    rows = [_section(row, found) for row, found in _by_row(suite, cases)]
    options = {
        name: _format_option(option)
        for name, option in under_test.identity.get("options", {}).items()
    }
    plant = {
        name: value
        for name, value in under_test.values.items()
        if not name.startswith(f"{under_test.name}.") and value != ()
    }
    kinds = {kind: KINDS[kind] for kind in under_test.kinds}
    return template("report.html").render(
        suite=suite, under_test=under_test, kinds=kinds, options=options, plant=plant, rows=rows,
        summary=table.summary(suite, cases), sittings=sittings, identity=under_test.identity,
        tolerances=TOLERANCES, seeds=_seeds(suite),
    )  # fmt: skip


def _format_option(option: dict) -> str:
    """An option's value with its unit, and its default where it is another."""
    given = "" if option["value"] == option["default"] else f" (default {option['default']})"
    return f"{option['value']} {option['unit']}".strip() + given


def _by_row(suite: Suite, cases: dict) -> list:
    return [
        (row, [cases[case.name] for case in row.cases if case.name in cases]) for row in suite.rows
    ]


def _section(row: Row, found: list) -> dict:
    """What the page says about a row."""
    measured = [case for case in found if case.verdict != NOT_APPLICABLE]
    by_name = {case.name: case.measure for case in row.cases}
    tables = {}
    for case in measured:
        tables.setdefault(by_name[case.name], []).append(case)
    return {
        "row": row,
        "of_plant": row.of_plant,
        "verdict": criterion.row_verdict(found) if found else "open",
        "for": sorted({kind for case in row.cases for kind in case.kinds}),
        "tables": [_cases(name, cases) for name, cases in tables.items()],
        "notes": _notes(measured),
        "broken": [
            (case.label, case.note) for case in measured if case.verdict == criterion.BROKEN
        ],
        "picture": pictures.picture(row, measured),
    }


def _notes(cases: list) -> list:
    """What a reader should know, each note once, with the cases that it is about where they are
    not all.
    """
    labels: dict = {}
    for case in cases:
        if case.note and case.verdict != criterion.BROKEN:
            labels.setdefault(case.note, []).append(case.label)
    return [
        note if len(about) == len(cases) else f"{', '.join(about)}: {note}"
        for note, about in labels.items()
    ]


def _cases(measure: str, cases: list) -> dict:
    """The cases of one measure as a table: a line per case, a column per value."""
    module = measures.load(measure)
    seen = [name for name in module.VALUES if any(name in case.values for case in cases)]
    lines = [
        (case.label, case.verdict, [_cell(case, name) for name in seen])
        for case in cases
        if case.verdict != criterion.BROKEN
    ]
    return {
        "question": module.QUESTION,
        "columns": [(name, module.VALUES[name]) for name in seen],
        "lines": lines,
    }


def _cell(case: Criterion, name: str) -> dict:
    asked = [(text, holds) for text, holds in case.requirements if text.split()[0] == name]
    bound = ", ".join(
        text.partition(" ")[2].replace("<=", "≤").replace(">=", "≥") for text, _ in asked
    )
    return {
        "value": case.values.get(name, math.nan),
        "bound": bound,
        "holds": all(holds for _, holds in asked),
    }
