"""The report: evaluation.json for programs, report.html, with everything in it, for people."""

import json
import math
from collections.abc import Iterable
from pathlib import Path

from rbdyn_ros.evaluation import judged, measures, pictures, table
from rbdyn_ros.evaluation.bench import Subject
from rbdyn_ros.evaluation.judged import NOT_MEANT, Judged
from rbdyn_ros.evaluation.suite import KINDS, Row, Suite

JSON, PAGE = "evaluation.json", "report.html"


def write(suite: Suite, subject: Subject, cases: dict, folder: Path) -> Iterable:
    """Write both files into the folder, and yield their paths. OSError."""
    path = folder / JSON
    path.write_text(json.dumps(content(suite, subject, cases), indent=1) + "\n", encoding="utf-8")
    yield path
    path = folder / PAGE
    path.write_text(page(suite, subject, cases), encoding="utf-8")
    yield path


def content(suite: Suite, subject: Subject, cases: dict) -> dict:
    """What programs read: without curves, which are in cases.jsonl."""
    rows = []
    for row, found in _by_row(suite, cases):
        told = [{key: value for key, value in judged.plain(case).items() if key not in ("curves", "key", "row")} for case in found]
        rows.append({"row": row.name, "title": row.title, "verdict": judged.of_row(found) if found else "open", "cases": told})
    heading = subject.heading(False)
    return {"suite": suite.title, **{key: heading[key] for key in ("law", "kinds", "parameters")}, "rows": rows}


def page(suite: Suite, subject: Subject, cases: dict) -> str:
    """What people read, in one file."""
    from jinja2 import Environment, PackageLoader

    environment = Environment(loader=PackageLoader("rbdyn_ros.evaluation", "."), autoescape=True, trim_blocks=True, lstrip_blocks=True)
    environment.filters["number"] = table.number
    rows = [_section(row, found) for row, found in _by_row(suite, cases)]
    options = {name: value for name, value in subject.values.items() if name.startswith(f"{subject.name}.")}
    plant = {name: value for name, value in subject.values.items() if name not in options and value != ()}
    kinds = {kind: KINDS[kind] for kind in subject.kinds}
    return environment.get_template("report.html").render(
        suite=suite, subject=subject, kinds=kinds, options=options, plant=plant, rows=rows,
        summary=table.summary(suite, cases), counts={word: sum(row["verdict"] == word for row in rows) for word in table.MARKS},
    )  # fmt: skip


def _by_row(suite: Suite, cases: dict) -> list:
    return [(row, [cases[case.name] for case in row.cases if case.name in cases]) for row in suite.rows]


def _section(row: Row, found: list) -> dict:
    """What the page says about a row."""
    measured = [case for case in found if case.verdict != NOT_MEANT]
    by_name = {case.name: case.measure for case in row.cases}
    tables = {}
    for case in measured:
        tables.setdefault(by_name[case.name], []).append(case)
    return {
        "row": row,
        "verdict": judged.of_row(found) if found else "open",
        "for": sorted({kind for case in row.cases for kind in case.kinds}),
        "tables": [_cases(name, cases) for name, cases in tables.items()],
        "notes": _notes(measured),
        "broken": [(case.label, case.note) for case in measured if case.verdict == judged.BROKEN],
        "picture": pictures.picture(row, measured),
    }


def _notes(cases: list) -> list:
    """What a reader should know, each note once, with the cases that it is about where they are not all."""
    labels: dict = {}
    for case in cases:
        if case.note and case.verdict != judged.BROKEN:
            labels.setdefault(case.note, []).append(case.label)
    return [note if len(about) == len(cases) else f"{', '.join(about)}: {note}" for note, about in labels.items()]


def _cases(measure: str, cases: list) -> dict:
    """The cases of one measure as a table: a line per case, a column per value."""
    module = measures.load(measure)
    seen = [name for name in module.VALUES if any(name in case.values for case in cases)]
    lines = [(case.label, case.verdict, [_cell(case, name) for name in seen]) for case in cases if case.verdict != judged.BROKEN]
    return {"question": module.QUESTION, "columns": [(name, module.VALUES[name]) for name in seen], "lines": lines}


def _cell(case: Judged, name: str) -> dict:
    asked = [(text, holds) for text, holds in case.requirements if text.split()[0] == name]
    bound = ", ".join(text.partition(" ")[2].replace("<=", "≤").replace(">=", "≥") for text, _ in asked)
    return {"value": case.values.get(name, math.nan), "bound": bound, "holds": all(holds for _, holds in asked)}
