"""The ranking of entries: its table for a terminal, and pages that need no server, index.html with
the ranking, and one page for each entry; and the verification of an entry: the law that it was
measured with, and the values that differ when it is measured again.
"""

import math
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from rbdyn_ros.control import options, select
from rbdyn_ros.control.provenance import identity
from rbdyn_ros.evaluation import entry as entries
from rbdyn_ros.evaluation import measures, pictures, report
from rbdyn_ros.evaluation.bench import ControllerUnderTest
from rbdyn_ros.evaluation.entry import LAW, check_files, files_of
from rbdyn_ros.evaluation.results import Criterion
from rbdyn_ros.evaluation.score import controller_under_test
from rbdyn_ros.evaluation.suite import Row, Suite, read
from rbdyn_ros.files import make_folder, write_whole
from rbdyn_ros.parameters.plant import PLANT
from rbdyn_ros.parameters.shipped import config
from rbdyn_ros.schema import by_name, check, with_unit

INDEX = "index.html"
_RUN = (  # columns of one undisturbed run: head, unit, value
    ("Energy", "J", "energy"),
    ("Force cost", "N²s", "force_cost"),
    ("Smoothness", "N", "smoothness"),
    ("Velocity cost", "rad²/s", "velocity_cost"),
)
_ROBUST = "Model", "Velocity noise", "Force noise", "Response", "Delay", "Perturbations"
_UPTIME = ("Uptime", "%", "uptime", "", "uptime", 1)
Column = tuple[str, str, str, str, str, int]


def _columns(time: str, digits: tuple[int, ...]) -> tuple[Column, ...]:
    """Return the columns of a discipline with one undisturbed run and robustness."""
    run = zip(((time, "s", "time"), *_RUN), digits)
    return (
        *((head, unit, "performance", "", value, places) for (head, unit, value), places in run),
        *((head, "%", "robustness", head.lower(), "success", 0) for head in _ROBUST),
        _UPTIME,
    )


# the columns of a discipline: head, unit, measure, label of the case, value, digits
COLUMNS = {
    "swing_up": (
        *_columns("Swingup time", (2, 0, 0, 3, 1)),
        ("Swing-ups", "", "uptime", "", "swing_ups", 0),
    ),
    "balance": _columns("Settled", (2, 1, 0, 3, 3)),
    "tracking": (
        ("Circle", "mm", "tracking", "circle", "error_rms", 4),
        ("Figure of eight", "mm", "tracking", "figure of eight", "error_rms", 4),
    ),
}


class RankedEntry(NamedTuple):
    """An entry with its rank in a discipline."""

    rank: int
    entry: dict[str, Any]
    scores: dict[str, float]  # total, and the parts
    cells: tuple[float, ...]  # in the order of COLUMNS; nan: not measured


class Board(NamedTuple):
    """The contents of a leaderboard."""

    lines: dict[str, list[RankedEntry]]  # discipline -> the best first
    refused: list[str]  # why others have no rank
    folders: dict[str, Path]  # of the entries that have a rank, by their names


def suite_of_board(chosen: tuple[str, ...] = (), quick: bool = False) -> Suite:
    """Return the suite of the leaderboard."""
    return read(config("suites", entries.SUITE), chosen, quick)


def folders_of(given: Iterable[Path]) -> list[Path]:
    """Return the folders of the entries in the given paths: entries, or folders of entries.

    Raise ValueError for a path without an entry, or that cannot be read.
    """
    found: list[Path] = []
    for path in given:
        try:
            is_entry = (path / entries.FILE).exists()
            inside = [path] if is_entry else sorted(path.glob(f"*/{entries.FILE}"))
        except OSError as error:
            raise ValueError(f"{path} cannot be read: {error.strerror}") from None
        if not inside:
            raise ValueError(
                f"{path} has no entry; make one with `python -m rbdyn_ros evaluate --controller "
                f"NAME --entry {path / 'NAME'}`"
            )
        found += [folder if folder.is_dir() else folder.parent for folder in inside]
    return found


def collect(folders: Iterable[Path], suite: Suite) -> Board:
    """Return the ranking of the entries in these folders; the reasons why others have no rank are
    in `refused`.
    """
    known: list[dict[str, Any]] = []
    refused: list[str] = []
    places: dict[str, Path] = {}
    for folder in folders:
        try:
            found = entries.read(folder)
            name, why = found["name"], entries.refusal(found, suite)
            if not why and name in places:
                why = f"{name} is there twice, also in {places[name]}"
        except ValueError as error:
            why = str(error)
        if why:
            refused.append(why)
        else:
            known.append(found)
            places[name] = folder
    lines = {name: _rank(name, known, suite) for name in entries.DISCIPLINES}
    return Board({name: found for name, found in lines.items() if found}, refused, places)


def _rank(discipline: str, known: Iterable[dict[str, Any]], suite: Suite) -> list[RankedEntry]:
    mine = [entry for entry in known if discipline in entry["scores"]]
    mine.sort(key=lambda entry: (-entry["scores"][discipline]["total"], entry["name"]))
    totals = [entry["scores"][discipline]["total"] for entry in mine]
    return [
        RankedEntry(
            1 + totals.index(total),
            entry,
            entry["scores"][discipline],
            _cells(discipline, entries.criteria(entry), suite),
        )
        for entry, total in zip(mine, totals)
    ]


def _cells(discipline: str, found: Mapping[str, Criterion], suite: Suite) -> tuple[float, ...]:
    names = {(case.measure, case.label): case.name for case in entries.cases_of(suite, discipline)}
    return tuple(
        found[names[measure, label]].values.get(value, math.nan)
        for _, _, measure, label, value, _ in COLUMNS[discipline]
    )


def heads(discipline: str, lines: list[RankedEntry]) -> list[str]:
    """Return the heads of the table: rank, entry, score and its parts, then COLUMNS with their
    units.
    """
    parts = [part for part in lines[0].scores if part != "total"]
    columns = [with_unit(head, unit) for head, unit, *_ in COLUMNS[discipline]]
    return ["#", "entry", "score", *parts, *columns]


def cells(discipline: str, line: RankedEntry) -> list[str]:
    """Return the cells below these heads, rounded."""
    numbers = [
        f"{value:.{digits}f}" if math.isfinite(value) else "–"
        for value, (*_, digits) in zip(line.cells, COLUMNS[discipline])
    ]
    parts = [f"{value:.3f}" for part, value in line.scores.items() if part != "total"]
    return [str(line.rank), line.entry["name"], f"{line.scores['total']:.3f}", *parts, *numbers]


def terminal(board: Board) -> str:
    """Return the ranking for a terminal: rank, score and its parts; below it the entries without a
    rank.
    """
    blocks = []
    for discipline, lines in board.lines.items():
        width = max(len(line.entry["name"]) for line in lines)
        rows = [
            f"{line.rank:3}  {line.entry['name']:{width}}  {line.scores['total']:.3f}  ("
            + ", ".join(f"{p} {v:.3f}" for p, v in line.scores.items() if p != "total")
            + ")"
            for line in lines
        ]
        blocks.append("\n".join([entries.DISCIPLINES[discipline], *rows]))
    if board.refused:
        blocks.append("\n".join(["Without a rank", *(f"     {why}" for why in board.refused)]))
    return "\n\n".join(blocks)


RELATIVE, ABSOLUTE = 1e-6, 1e-9  # tolerances of two numbers: processors round differently


def controller(entry: Mapping[str, Any], folder: Path, suite: Suite) -> ControllerUnderTest:
    """Return the law of an entry, with its options, from its own folder or from this installation.

    Raise ValueError, with one sentence, if there is no such law here, or its files are others.
    """
    name = str((folder / entry["path"]).resolve()) if entry["path"] else entry["law"]
    found = controller_under_test(name, (), ",".join(entry["kinds"]) or None, suite.plant, 2.0)
    given = {
        key: str((folder / value).resolve()) if str(value).startswith(f"{LAW}/") else value
        for key, value in entry["parameters"].items()
    }
    law, who = select.load(found.controller), f"the entry {entry['name']}"
    known = by_name((*PLANT, *options.table(found.name, law)))
    if unknown := sorted(set(given) - set(known)):
        raise ValueError(f"{who}: {unknown[0]} is no parameter of the plant or of its law")
    values = {key: check(known[key], value, who) for key, value in given.items()}
    found = found._replace(values=values, identity=identity(found.name, law, values))
    check_files(entry, files_of(law, found))
    return found


def differences(before: Criterion, now: Criterion) -> list[str]:
    """Return what of a case differs from before, a few words each."""
    if before.verdict != now.verdict and not now.values:
        return [f"was {before.verdict}, is {now.verdict}: {now.note}"]
    return [
        f"{key.replace('_', ' ')} was {before.values.get(key, math.nan):.10g}, is "
        f"{now.values.get(key, math.nan):.10g}"
        for key in {**before.values, **now.values}
        if not _equal(before.values.get(key), now.values.get(key))
    ]


def _equal(a: float | None, b: float | None) -> bool:
    if a is None or b is None:
        return False
    is_close = math.isclose(a, b, rel_tol=RELATIVE, abs_tol=ABSOLUTE)
    return is_close or (math.isnan(a) and math.isnan(b))


def write_pages(found: Board, suite: Suite, folder: Path) -> None:
    """Write the pages into the folder. Raise OSError if that cannot be done."""
    make_folder(folder)
    ranked = {line.entry["name"]: line.entry for lines in found.lines.values() for line in lines}
    for name, known in ranked.items():
        text = report.template("entry.html").render(
            entry=known,
            disciplines=entries.DISCIPLINES,
            ranks={
                discipline: (line.rank, len(lines))
                for discipline, lines in found.lines.items()
                for line in lines
                if line.entry["name"] == name
            },
            rows=_rows(suite, entries.criteria(known)),
        )
        write_whole(folder / f"{name}.html", text)
    text = report.template("leaderboard.html").render(
        tables=[_table(name, lines, suite) for name, lines in found.lines.items()],
        refused=found.refused,
        entries=len(ranked),
    )
    write_whole(folder / INDEX, text)


def _table(discipline: str, lines: list[RankedEntry], suite: Suite) -> dict[str, Any]:
    """Return what the page shows of a discipline."""
    titles, columns = heads(discipline, lines), COLUMNS[discipline]
    meanings = [_FIXED[head] for head in titles[: -len(columns)]] + [*map(_meaning, columns)]
    rows = [row for row in suite.rows if any(discipline in c.kinds for c in row.cases)]
    return {
        "title": entries.DISCIPLINES[discipline],
        "heads": [*zip(titles, meanings)],
        "lines": [(line, cells(discipline, line)) for line in lines],
        "rows": rows,
        "picture": _undisturbed_runs(rows, lines),
        "bar": titles.index("score"),
    }


def _undisturbed_runs(rows: list[Row], lines: list[RankedEntry]) -> str:
    """Return the undisturbed runs of all entries in one picture; "" where there is no such row."""
    for row in rows:
        for case in row.cases:
            if case.measure == "performance":
                found = [
                    entries.criteria(line.entry)[case.name]._replace(label=line.entry["name"])
                    for line in lines
                ]
                return pictures.picture(row, found)
    return ""


# descriptions of the first columns
_FIXED = {
    "#": "rank by the score",
    "entry": "the name of the entry; its page has every number",
    "score": "mean of its parts, from 0 to 1",
    "performance": "success (1 - mean tanh(pi c / scale)) of time, energy, force cost, "
    "smoothness and velocity cost of one run",
    "robustness": "mean share of the runs with something wrong in which the rod stands",
    "uptime": "share of the time upright",
    "accuracy": "mean of 1 - tanh(pi e / 20 mm), e the rms distance from the path",
}


def _meaning(column: tuple[Any, ...]) -> str:
    """Return the description of one of `COLUMNS`."""
    _, _, measure, label, value, _ = column
    meaning = measures.MEASURES[measure].values[value].description
    return f"{label}: {meaning}" if label else meaning


def _rows(suite: Suite, found: dict[str, Criterion]) -> list[dict[str, Any]]:
    """Return the rows of an entry, with their tables and pictures."""
    return [
        {
            "row": row,
            "cases": [(case, found[case.name]) for case in row.cases if case.name in found],
            "meanings": _meanings(row),
            "picture": pictures.picture(row, row.select(found)),
        }
        for row in suite.rows
        if row.select(found)
    ]


def _meanings(row: Row) -> dict[str, tuple[str, str]]:
    """Return value -> (unit, description), of the measures of a row."""
    return {
        name: (value.unit.replace("^2", "²").replace(" ", "\N{NO-BREAK SPACE}"), value.description)
        for case in row.cases
        for name, value in measures.MEASURES[case.measure].values.items()
    }
