"""What has been measured, on disk case by case: an evaluation that was ended goes on where
it was.
"""

import json
import os
from pathlib import Path

from rbdyn_ros.control.provenance import differences, shorten
from rbdyn_ros.evaluation.criterion import Criterion, from_json, to_json
from rbdyn_ros.files import make_folder, write_whole

FILE = "cases.jsonl"
# of the heading: what a folder is about; when and where it was measured
SUBJECT, SITTINGS = ("law", "over_ros"), "sittings"


class Results:
    """A folder with one line per case; the first line says what is being measured."""

    def __init__(self, folder: Path, heading: dict, resume: bool, sitting: dict | None = None):
        """Begin, or go on with what is of the same law; `sitting` says when and where.

        `anew` is the sentence that says why it begins anew where it was to go on; what was there
        is kept beside. ValueError: something else is in the folder, or nothing to go on with.
        OSError.
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
                f"--out is {folder}, which is not empty; {advice}, so that nothing is lost"
            )
        self._rewrite({**heading, SITTINGS: self.sittings})

    def add(self, case: Criterion) -> None:
        """Keep a case, safely on disk when this returns. OSError."""
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
        before = _parse(first)
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
            ):  # the line that was being written when the power went
                continue
            self.cases[case.key] = case

    def _rewrite(self, heading: dict) -> None:
        """Whole lines only, in one step: what is appended later begins on a line of its own."""
        text = "".join(
            json.dumps(line) + "\n" for line in (heading, *map(to_json, self.cases.values()))
        )
        write_whole(self.path, text)


def _changes(before: dict, now: dict) -> list:
    """What the results depend on and has changed since, in words."""
    parameters = [
        {"options": {**heading.get("parameters", {}), "kinds": heading.get("kinds")}}
        for heading in (before, now)
    ]
    return differences(before.get("identity") or {}, now.get("identity") or {}) + differences(
        *parameters
    )


def set_aside(path: Path) -> Path:
    """Rename a file or a folder to a free name beside it. OSError."""
    number = next(
        n for n in range(1, 10_000) if not path.with_suffix(f".{n}{path.suffix}").exists()
    )
    return path.rename(path.with_suffix(f".{number}{path.suffix}"))


def _parse(line: str) -> object:
    try:
        return json.loads(line)
    except ValueError:
        return None
