"""The ranking of entries, and its table in a terminal; and an entry measured anew: the law that it
was measured with, and what differs.
"""

import math
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from rbdyn_ros.control import options, select
from rbdyn_ros.control.provenance import identity
from rbdyn_ros.evaluation.bench import ControllerUnderTest
from rbdyn_ros.evaluation.controller_under_test import local_controller
from rbdyn_ros.evaluation.leaderboard import entry as entries
from rbdyn_ros.evaluation.leaderboard.entry import LAW, check_files, files_of
from rbdyn_ros.evaluation.results import Criterion
from rbdyn_ros.evaluation.suite import Suite, read
from rbdyn_ros.parameters.plant import PLANT
from rbdyn_ros.parameters.shipped import config
from rbdyn_ros.schema import by_name, check

# the columns of a discipline: head, unit, measure, label of the case, value, digits
COLUMNS = {
    "swing_up": (
        ("Swingup time", "s", "performance", "", "time", 2),
        ("Energy", "J", "performance", "", "energy", 0),
        ("Force cost", "N²s", "performance", "", "force_cost", 0),
        ("Smoothness", "N", "performance", "", "smoothness", 3),
        ("Velocity cost", "rad²/s", "performance", "", "velocity_cost", 1),
    ),
    "balance": (
        ("Settled", "s", "performance", "", "time", 2),
        ("Energy", "J", "performance", "", "energy", 1),
        ("Force cost", "N²s", "performance", "", "force_cost", 0),
        ("Smoothness", "N", "performance", "", "smoothness", 3),
        ("Velocity cost", "rad²/s", "performance", "", "velocity_cost", 3),
    ),
    "tracking": (
        ("Circle", "mm", "tracking", "circle", "error_rms", 4),
        ("Figure of eight", "mm", "tracking", "figure of eight", "error_rms", 4),
    ),
}
_ROBUST = (
    *(("Model", "model"), ("Velocity noise", "velocity noise"), ("Force noise", "force noise")),
    *(("Response", "response"), ("Delay", "delay"), ("Perturbations", "perturbations")),
)
_MINUTE = (
    ("Uptime", "%", "uptime", "", "uptime", 1),
    ("Swing-ups", "", "uptime", "", "swing_ups", 0),
)
for _name in ("swing_up", "balance"):
    COLUMNS[_name] += tuple(
        (head, "%", "robustness", label, "success", 0) for head, label in _ROBUST
    )
    COLUMNS[_name] += _MINUTE[: 2 if _name == "swing_up" else 1]


class Line(NamedTuple):
    """An entry with its rank in a discipline."""

    rank: int
    entry: dict[str, Any]
    scores: dict[str, float]  # total, and the parts
    cells: tuple[float, ...]  # in the order of COLUMNS; nan: not measured


class Board(NamedTuple):
    """What a leaderboard shows."""

    lines: dict[str, list[Line]]  # discipline -> the best first
    refused: list[str]  # why others have no rank
    folders: dict[str, Path]  # of the entries that have a rank, by their names


def suite_of_board(chosen: tuple[str, ...] = (), quick: bool = False) -> Suite:
    """The suite of the leaderboard."""
    return read(config("suites", entries.SUITE), chosen, quick)


def folders_of(given: Iterable[Path]) -> list[Path]:
    """The folders of the entries in what was given: entries, or folders of entries.

    ValueError: there is none in one of them.
    """
    found: list[Path] = []
    for path in given:
        inside = (
            [path] if (path / entries.FILE).exists() else sorted(path.glob(f"*/{entries.FILE}"))
        )
        if not inside:
            raise ValueError(
                f"{path} has no entry; make one with `python -m rbdyn_ros evaluate --controller "
                f"NAME --entry {path / 'NAME'}`"
            )
        found += [folder if folder.is_dir() else folder.parent for folder in inside]
    return found


def collect(folders: Iterable[Path], suite: Suite) -> Board:
    """The ranking of the entries in these folders; what cannot be ranked is said, and left out."""
    known: dict[str, dict[str, Any]] = {}
    refused: list[str] = []
    places: dict[str, Path] = {}
    for folder in folders:
        try:
            found = entries.read(folder)
            why = entries.refusal(found, suite)
        except ValueError as error:
            refused.append(str(error))
            continue
        if not why and found["name"] in known:
            why = f"{found['name']} is there twice, also in {places[found['name']]}"
        if why:
            refused.append(why)
        else:
            known[found["name"]], places[found["name"]] = found, folder
    lines = {name: _ranked(name, known.values(), suite) for name in entries.DISCIPLINES}
    return Board({name: found for name, found in lines.items() if found}, refused, places)


def _ranked(discipline: str, known: Iterable[dict[str, Any]], suite: Suite) -> list[Line]:
    mine = [entry for entry in known if discipline in entry["scores"]]
    mine.sort(key=lambda entry: (-entry["scores"][discipline]["total"], entry["name"]))
    totals = [entry["scores"][discipline]["total"] for entry in mine]
    return [
        Line(
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


def heads(discipline: str, lines: list[Line]) -> list[str]:
    """The heads of the table: rank, entry, score and its parts, then COLUMNS with their units."""
    parts = [part for part in lines[0].scores if part != "total"]
    columns = [f"{head} [{unit}]" if unit else head for head, unit, *_ in COLUMNS[discipline]]
    return ["#", "entry", "score", *parts, *columns]


def cells(discipline: str, line: Line) -> list[str]:
    """The cells below these heads, rounded."""
    numbers = [
        f"{value:.{digits}f}" if math.isfinite(value) else "–"
        for value, (*_, digits) in zip(line.cells, COLUMNS[discipline])
    ]
    parts = [f"{value:.3f}" for part, value in line.scores.items() if part != "total"]
    return [str(line.rank), line.entry["name"], f"{line.scores['total']:.3f}", *parts, *numbers]


def terminal(board: Board) -> str:
    """The ranking for a terminal: rank, score and its parts; below it what has no rank."""
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


RELATIVE, ABSOLUTE = 1e-6, 1e-9  # how far two numbers may differ: processors round differently
TIMES = ("compute_median", "compute_max")  # that no two runs have alike


def controller(entry: Mapping[str, Any], folder: Path, suite: Suite) -> ControllerUnderTest:
    """The law of an entry, with its options, from its own folder or from this installation.

    ValueError, in one sentence: there is no such law here, or its files are others.
    """
    name = str((folder / entry["path"]).resolve()) if entry["path"] else entry["law"]
    found = local_controller(name, (), ",".join(entry["kinds"]) or None, suite.plant, 2.0)
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
    """What of a case is not as it was, a few words each."""
    if before.verdict != now.verdict and not now.values:
        return [f"was {before.verdict}, is {now.verdict}: {now.note}"]
    return [
        f"{key.replace('_', ' ')} was {before.values.get(key, math.nan):.10g}, is "
        f"{now.values.get(key, math.nan):.10g}"
        for key in {**before.values, **now.values}
        if key not in TIMES and not _equal(before.values.get(key), now.values.get(key))
    ]


def _equal(a: float | None, b: float | None) -> bool:
    if a is None or b is None:
        return False
    is_close = math.isclose(a, b, rel_tol=RELATIVE, abs_tol=ABSOLUTE)
    return is_close or (math.isnan(a) and math.isnan(b))
