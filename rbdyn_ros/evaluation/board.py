"""The ranking of entries: its table for a terminal, and a page that needs no server.

Entries whose intervals overlap share a rank: it is one more than the number of entries whose
intervals lie wholly above. An entry that failed, or is of another suite, is a line without a rank.
"""

import math
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

from rbdyn_ros.evaluation import entry as entries
from rbdyn_ros.evaluation import measures, pictures, report
from rbdyn_ros.evaluation.measures.performance import SCALES
from rbdyn_ros.evaluation.results import Criterion
from rbdyn_ros.evaluation.suite import Case, Suite
from rbdyn_ros.files import make_folder, write_whole
from rbdyn_ros.schema import with_unit

INDEX, NONE = "index.html", "–"


class RankedEntry(NamedTuple):
    """An entry with its rank in a discipline."""

    rank: int  # 0: none
    entry: dict[str, Any]
    scores: dict[str, float]  # total, interval, and the parts
    cases: dict[str, Criterion]
    remark: str  # why it has no rank, or how its undisturbed run ended early


class Board(NamedTuple):
    """The contents of a leaderboard."""

    lines: dict[str, list[RankedEntry]]  # discipline -> the best first
    refused: list[str]  # why others are in no discipline


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
    """Return the ranking of the entries in these folders."""
    known: dict[str, tuple[dict[str, Any], str]] = {}  # name -> entry, why it has no rank
    refused: list[str] = []
    for folder in folders:
        try:
            found = entries.read(folder)
        except ValueError as error:
            refused.append(str(error))
            continue
        name, why = found["name"], entries.refusal(found, suite)
        if name in known:
            refused.append(f"{name} is there twice, also in {folder}")
        elif not entries.disciplines(suite, found["kinds"]):
            refused.append(why)
        else:
            known[name] = found, why
    lines = {name: _rank(name, known.values(), suite) for name in entries.DISCIPLINES}
    return Board({name: found for name, found in lines.items() if found}, refused)


def _rank(
    discipline: str, known: Iterable[tuple[dict[str, Any], str]], suite: Suite
) -> list[RankedEntry]:
    """Return the lines of a discipline, those without a rank last."""
    lines = []
    for entry, why in known:
        if discipline in entries.disciplines(suite, entry["kinds"]):
            found = entries.criteria(entry)
            runs = [found.get(case.name) for case in entries.cases_of(suite, discipline)]
            ends = (run.note for run in runs if run and "t" in run.curves and run.note)
            scores = entries.score(suite, discipline, {k: c.values for k, c in found.items()})
            lines.append(RankedEntry(not why, entry, scores, found, why or "; ".join(ends)))
    lines.sort(key=lambda line: (not line.rank, -line.scores["total"], line.entry["name"]))
    lowest = [line.scores["total"] - line.scores["interval"] for line in lines if line.rank]
    highest = [line.scores["total"] + line.scores["interval"] for line in lines]
    return [
        line._replace(rank=1 + sum(low > high for low in lowest) if line.rank else 0)
        for line, high in zip(lines, highest)
    ]


def _columns(discipline: str, suite: Suite) -> list[tuple[Case, str]]:
    """Return the (case, value) of each column: the costs of a run, else what counts."""
    return [
        (case, value)
        for case in entries.cases_of(suite, discipline)
        for value in (
            SCALES if case.measure == "performance" else entries.PARTS[case.measure][1:2]
        )
    ]


def heads(discipline: str, suite: Suite) -> list[tuple[str, str]]:
    """Return the (head, meaning) of the columns of the table."""
    parts = dict.fromkeys(
        entries.PARTS[case.measure][0] for case in entries.cases_of(suite, discipline)
    )
    columns = []
    for case, name in _columns(discipline, suite):
        value = measures.MEASURES[case.measure].values[name]
        head = (case.label or name.replace("_", " ")).capitalize()
        columns.append((with_unit(head, value.unit.replace("^2", "²")), value.description))
    fixed = [(name, _MEANINGS[name]) for name in ("#", "entry", "score", *parts)]
    return [*fixed, *columns, ("remark", _MEANINGS["remark"])]


def cells(discipline: str, line: RankedEntry, suite: Suite) -> list[str]:
    """Return the cells below these heads, rounded."""
    values = {name: case.values for name, case in line.cases.items()}
    numbers = [
        f"{value:.3g}" if math.isfinite(value) else NONE
        for case, name in _columns(discipline, suite)
        for value in (values.get(case.name, {}).get(name, math.nan),)
    ]
    total, interval, *parts = (f"{value:.3f}" for value in line.scores.values())
    score = f"{total} ± {interval}"
    return [str(line.rank or NONE), line.entry["name"], score, *parts, *numbers, line.remark]


def terminal(board: Board) -> str:
    """Return the ranking for a terminal: rank, score and its parts; below it what is no entry."""
    blocks = []
    for discipline, lines in board.lines.items():
        width = max(len(line.entry["name"]) for line in lines)
        rows = [
            f"{line.rank or NONE:>3}  {line.entry['name']:{width}}  "
            f"{entries.describe(line.scores)}{line.remark and f'  {line.remark}'}"
            for line in lines
        ]
        blocks.append("\n".join([entries.DISCIPLINES[discipline], *rows]))
    if board.refused:
        blocks.append("\n".join(["Without a rank", *(f"     {why}" for why in board.refused)]))
    return "\n\n".join(blocks)


def write_page(found: Board, suite: Suite, folder: Path) -> Path:
    """Write the page into the folder, and return its path. Raise OSError if that cannot be
    done.
    """
    make_folder(folder)
    tables = [
        {
            "title": entries.DISCIPLINES[name],
            "heads": heads(name, suite),
            "lines": [(line, cells(name, line, suite)) for line in lines],
            "rows": [row for row in suite.rows if any(name in c.kinds for c in row.cases)],
            "picture": _undisturbed_runs(name, lines, suite),
        }
        for name, lines in found.lines.items()
    ]
    text = report.template("leaderboard.html").render(tables=tables, refused=found.refused)
    write_whole(folder / INDEX, text)
    return folder / INDEX


def _undisturbed_runs(discipline: str, lines: list[RankedEntry], suite: Suite) -> str:
    """Return the undisturbed runs of all entries in one picture; "" where there are none."""
    for row in suite.rows:
        for case in row.cases:
            if case.measure == "performance" and discipline in case.kinds:
                runs = [(line.cases.get(case.name), line.entry["name"]) for line in lines]
                return pictures.picture(row, [run._replace(label=n) for run, n in runs if run])
    return ""


_MEANINGS = {
    "#": "rank by the score; entries whose intervals overlap share it",
    "entry": "the name of the entry, whose entry.json has every number",
    "score": "mean of its parts, from 0 to 1, and half its 95 % interval",
    "performance": "success (1 - mean tanh(pi c / scale)) of time, energy, force cost, "
    "smoothness and velocity cost of one run",
    "robustness": "mean share of the runs with something wrong in which the rod stands",
    "uptime": "share of the time upright, under random pushes",
    "accuracy": "mean of 1 - tanh(pi e / 20 mm), e the rms distance from the path",
    "remark": "why it has no rank, or how an undisturbed run ended",
}
