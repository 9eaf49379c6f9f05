"""The leaderboard as pages that need no server: index.html with the ranking, and one page for each
entry.
"""

from pathlib import Path
from typing import Any

from rbdyn_ros.evaluation import measures, pictures, report
from rbdyn_ros.evaluation.leaderboard import board, entry
from rbdyn_ros.evaluation.results import Criterion
from rbdyn_ros.evaluation.suite import Row, Suite
from rbdyn_ros.files import make_folder, write_whole

INDEX = "index.html"


def write(found: board.Board, suite: Suite, folder: Path) -> None:
    """Write the pages into the folder. OSError."""
    make_folder(folder)
    entries = {line.entry["name"]: line.entry for lines in found.lines.values() for line in lines}
    for name, known in entries.items():
        text = _template("entry.html").render(
            entry=known,
            disciplines=entry.DISCIPLINES,
            ranks={
                discipline: (line.rank, len(lines))
                for discipline, lines in found.lines.items()
                for line in lines
                if line.entry["name"] == name
            },
            rows=_rows(suite, entry.criteria(known)),
        )
        write_whole(folder / f"{name}.html", text)
    text = _template("index.html").render(
        tables=[_table(name, lines, suite) for name, lines in found.lines.items()],
        refused=found.refused,
        entries=len(entries),
    )
    write_whole(folder / INDEX, text)


def _template(name: str) -> Any:
    return report.template(name, "rbdyn_ros.evaluation.leaderboard")


def _table(discipline: str, lines: list[board.Line], suite: Suite) -> dict[str, Any]:
    """What the page shows of a discipline."""
    heads, columns = board.heads(discipline, lines), board.COLUMNS[discipline]
    meanings = [_FIXED[head] for head in heads[: -len(columns)]] + [*map(_meaning, columns)]
    rows = [row for row in suite.rows if any(discipline in c.kinds for c in row.cases)]
    return {
        "title": entry.DISCIPLINES[discipline],
        "heads": [*zip(heads, meanings)],
        "lines": [(line, board.cells(discipline, line)) for line in lines],
        "rows": rows,
        "picture": _runs_of_the_best(rows, lines),
        "bar": heads.index("score"),
    }


def _runs_of_the_best(rows: list[Row], lines: list[board.Line]) -> str:
    """The undisturbed runs of the best entries in one picture; "" where there is no such row."""
    for row in rows:
        for case in row.cases:
            if case.measure == "performance":
                found = [
                    entry.criteria(line.entry)[case.name]._replace(label=line.entry["name"])
                    for line in lines[: len(pictures.PALETTE)]
                ]
                return pictures.picture(row, found)
    return ""


# what the first columns mean
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
    """What one of `board.COLUMNS` means."""
    _, _, measure, label, value, _ = column
    meaning = measures.load(measure).VALUES[value].description
    return f"{label}: {meaning}" if label else meaning


def _rows(suite: Suite, found: dict[str, Criterion]) -> list[dict[str, Any]]:
    """The rows of an entry, with their tables and pictures."""
    return [
        {
            "row": row,
            "cases": [(case, found[case.name]) for case in row.cases if case.name in found],
            "meanings": _meanings(row),
            "picture": pictures.picture(
                row, [found[c.name] for c in row.cases if c.name in found]
            ),
        }
        for row in suite.rows
        if any(case.name in found for case in row.cases)
    ]


def _meanings(row: Row) -> dict[str, tuple[str, str]]:
    """value -> (unit, what it is), of the measures of a row."""
    return {
        name: (value.unit.replace("^2", "²").replace(" ", "\N{NO-BREAK SPACE}"), value.description)
        for case in row.cases
        for name, value in measures.load(case.measure).VALUES.items()
    }
