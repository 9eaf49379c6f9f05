"""What has been measured, on disk case by case: an evaluation that was ended goes on where it was."""

import json
import os
from pathlib import Path

from rbdyn_ros.evaluation.judged import Judged, from_plain, plain

FILE = "cases.jsonl"


class Results:
    """A folder with one line per case; the first line says what is being measured."""

    def __init__(self, folder: Path, heading: dict, resume: bool):
        """Begin, or go on. ValueError: something else is in the folder, or nothing to go on with. OSError."""
        self.path, self.cases = folder / FILE, {}  # the case's key -> Judged
        folder.mkdir(parents=True, exist_ok=True)
        if resume:
            self._read(heading)
        elif any(folder.iterdir()):
            advice = "add --resume to go on with it, or choose another" if self.path.exists() else "choose another"
            raise ValueError(f"--out is {folder}, which is not empty; {advice}, so that nothing is lost")
        self._rewrite(heading)

    def add(self, case: Judged) -> None:
        """Keep a case, safely on disk when this returns. OSError."""
        self.cases[case.key] = case
        with open(self.path, "a", encoding="utf-8") as file:
            file.write(json.dumps(plain(case)) + "\n")
            file.flush()
            os.fsync(file.fileno())

    def _read(self, heading: dict) -> None:
        if not self.path.exists():
            raise ValueError(f"--resume: there is no {self.path}; leave --resume out to begin")
        first, *lines = self.path.read_text(encoding="utf-8", errors="replace").splitlines() or [""]
        before = _parsed(first)
        if before != heading:
            different = [key for key in heading if not isinstance(before, dict) or before.get(key) != heading[key]]
            raise ValueError(f"--resume: {self.path} was measured with another {', '.join(different)}; choose another --out")
        for line in lines:
            try:
                case = from_plain(json.loads(line))
            except (ValueError, KeyError, TypeError, AttributeError):  # the line that was being written when the power went
                continue
            self.cases[case.key] = case

    def _rewrite(self, heading: dict) -> None:
        """Whole lines only, in one step: what is appended later begins on a line of its own."""
        text = "".join(json.dumps(line) + "\n" for line in (heading, *map(plain, self.cases.values())))
        new = self.path.with_suffix(".new")
        new.write_text(text, encoding="utf-8")
        os.replace(new, self.path)


def _parsed(line: str) -> object:
    try:
        return json.loads(line)
    except ValueError:
        return None
