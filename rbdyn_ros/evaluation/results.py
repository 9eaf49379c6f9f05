"""A case with its verdict, and the results on disk case by case, so that an interrupted evaluation
can be resumed.
"""

import json
import math
import os
from pathlib import Path
from typing import Any, NamedTuple

from rbdyn_ros.control.provenance import differences, shorten
from rbdyn_ros.evaluation.metrics import Metric
from rbdyn_ros.evaluation.suite import Case
from rbdyn_ros.files import make_folder, write_whole

HOLDS, MISSES, BROKEN, NOT_APPLICABLE = "holds", "misses", "broken", "not for this kind of law"
OPEN = "open"  # not measured


class Criterion(NamedTuple):
    """The outcome of a case."""

    row: str
    label: str
    verdict: str
    values: dict = {}
    requirements: tuple = ()  # (text, whether it holds)
    note: str = ""
    curves: dict = {}
    key: str = ""  # of the case

    @property
    def name(self) -> str:
        """The row and the label."""
        return f"{self.row} {self.label}".strip()


def assess(case: Case, measured: Metric) -> Criterion:
    """Return the criterion of a case from its measured values and its requirements."""
    kept = tuple(
        (str(requirement), requirement.is_met(measured.values))
        for requirement in case.requirements
    )
    verdict = HOLDS if all(holds for _, holds in kept) else MISSES
    values, curves, note = measured
    return Criterion(case.row, case.label, verdict, values, kept, note, curves, case.key)


def mark(case: Case, verdict: str, why: str) -> Criterion:
    """Return the criterion of a case that was not measured to its end, so BROKEN, or does not
    apply.
    """
    return Criterion(case.row, case.label, verdict, note=why, key=case.key)


def row_verdict(cases: list[Criterion]) -> str:
    """Return the verdict of a row: the worst of the cases that apply, of which none is OPEN where
    all hold; OPEN without any.
    """
    verdicts = [case.verdict for case in cases] or [OPEN]
    known = (BROKEN, MISSES, OPEN, HOLDS, NOT_APPLICABLE)
    return next(verdict for verdict in known if verdict in verdicts)


def to_json(case: Criterion) -> dict[str, Any]:
    """Return the criterion as a JSON object, in which numbers that are not finite are words."""
    values = {
        name: value if math.isfinite(value) else str(value) for name, value in case.values.items()
    }
    return {
        **case._asdict(),
        "values": values,
        "requirements": [list(kept) for kept in case.requirements],
    }


def from_json(fields: dict[str, Any]) -> Criterion:
    """Return the criterion of a JSON object of `to_json`. Raise KeyError, TypeError or ValueError
    for anything else.
    """
    read: dict[str, Any] = {
        "values": {name: float(value) for name, value in fields["values"].items()},
        "requirements": tuple((text, bool(holds)) for text, holds in fields["requirements"]),
    }
    return Criterion(**{**fields, **read})


FILE = "cases.jsonl"
# of the heading: the subject of a folder; when and where it was measured
SUBJECT, SITTINGS = ("law", "over_ros"), "sittings"


class ResultsFolder:
    """A folder with one line per case; the first line says what is measured."""

    def __init__(self, folder: Path, heading: dict, resume: bool, sitting: dict | None = None):
        """Begin, or resume the results of the same law; `sitting` says when and where.

        `anew` is the sentence that says why it begins anew where it should resume; the old results
        are kept under another name. Raise ValueError if something else is in the folder, or
        nothing to resume, and OSError.
        """
        self.path, self.cases, self.anew = folder / FILE, {}, ""  # the case's key -> Criterion
        self.sittings = [sitting] if sitting else []
        make_folder(folder)
        if resume:
            self._read(heading)
        elif any(folder.iterdir()):
            advice = (
                "add --resume to go on with it, or choose another"
                if self.path.exists()
                else "choose another"
            )
            raise ValueError(
                f"results go to {folder}, which is not empty; {advice}, so that nothing is lost"
            )
        # Written whole, in one step: a line appended later begins on a line of its own.
        lines = {**heading, SITTINGS: self.sittings}, *map(to_json, self.cases.values())
        write_whole(self.path, "".join(json.dumps(line) + "\n" for line in lines))

    def add(self, case: Criterion) -> None:
        """Add a case, which is safely on disk when this returns. Raise OSError if that cannot be
        done.
        """
        self.cases[case.key] = case
        with open(self.path, "a", encoding="utf-8") as file:
            file.write(json.dumps(to_json(case)) + "\n")
            file.flush()
            os.fsync(file.fileno())

    def _read(self, heading: dict) -> None:
        if not self.path.exists():
            raise ValueError(f"--resume: there is no {self.path}; leave --resume out to begin")
        first, *lines = self.path.read_text(encoding="utf-8", errors="replace").splitlines() or [
            ""
        ]
        try:
            before = json.loads(first)
        except (ValueError, RecursionError):
            before = None
        different = [
            key
            for key in SUBJECT
            if key in heading and (not isinstance(before, dict) or before.get(key) != heading[key])
        ]
        if different or not isinstance(before, dict):
            raise ValueError(
                f"--resume: {self.path} was measured with another "
                f"{', '.join(different) or 'heading'}; choose another --out"
            )
        if changes := _changes(before, heading):
            self.anew = (
                f"--resume begins anew: {shorten(changes)}; what was measured before is kept in "
                f"{set_aside(self.path).name}"
            )
            return
        self.sittings = [*before.get(SITTINGS, ()), *self.sittings]
        for line in lines:
            try:
                case = from_json(json.loads(line))
            except (
                ValueError,
                KeyError,
                TypeError,
                AttributeError,
                RecursionError,
            ):  # a line that was not written to its end
                continue
            self.cases[case.key] = case


def _changes(before: dict, now: dict) -> list:
    """Return what the results depend on and has changed since, in words."""
    parameters = [
        {"options": {**heading.get("parameters", {}), "kinds": heading.get("kinds")}}
        for heading in (before, now)
    ]
    return differences(before.get("identity") or {}, now.get("identity") or {}) + differences(
        *parameters
    )


def heading(folder: Path) -> dict[str, Any]:
    """Return what the results in a folder begin with; nothing where there are none."""
    try:
        with (folder / FILE).open(encoding="utf-8", errors="replace") as file:
            found = json.loads(file.readline())
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def set_aside(path: Path) -> Path:
    """Rename a file or a folder to a free name beside it, and return that. Raise OSError if that
    cannot be done.
    """
    number = next(
        n for n in range(1, 10_000) if not path.with_suffix(f".{n}{path.suffix}").exists()
    )
    return path.rename(path.with_suffix(f".{number}{path.suffix}"))
