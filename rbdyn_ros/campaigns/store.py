"""A campaign's folder: what it asks for, and one Parquet file for each batch of samples, whole or not there.

    campaign.json                 the plan; another one is refused
    parts/part-000000.parquet     written beside, flushed, then renamed: a run that is cut off leaves no half of a file
"""

import hashlib
import json
import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from rbdyn_ros.campaigns.plan import Plan
from rbdyn_ros.optional import library

HEADING, PARTS = "campaign.json", "parts"
LARGEST, SMALLEST, ABOUT = 8192, 256, 16  # samples in a compiled batch; batches in a campaign that is not large
LARGEST_SLOW, ABOUT_SLOW = 64, 64  # the same where samples run one by one


class Store:
    """The folder of one campaign."""

    def __init__(self, folder: Path, plan: Plan, compiled: bool):
        """MissingLibrary where there is no pyarrow. Touches nothing yet."""
        self._arrow = library("pyarrow", "sweep", "sweep")
        self._parquet = library("pyarrow.parquet", "sweep", "sweep")
        self.folder, self.plan = folder, plan
        fast, slow = -(-plan.size // ABOUT), -(-plan.size // ABOUT_SLOW)
        self.batch = min(LARGEST, max(SMALLEST, fast)) if compiled else min(LARGEST_SLOW, slow)
        self.heading = _heading(plan, self.batch)
        self._print = hashlib.sha256(json.dumps(self.heading, sort_keys=True).encode()).hexdigest()

    @property
    def count(self) -> int:
        """How many batches there are."""
        return -(-self.plan.size // self.batch)

    def span(self, part: int) -> tuple:
        """(begin, end) of its samples."""
        return part * self.batch, min(self.plan.size, (part + 1) * self.batch)

    def path(self, part: int) -> Path:
        """Its file."""
        return self.folder / PARTS / f"part-{part:06d}.parquet"

    def open(self, resume: bool) -> None:
        """Make the folder, or go on in it. ValueError: it holds something else, or the same and `resume` is not said."""
        heading = self.folder / HEADING
        if heading.is_file():
            self._compare(heading)
            if not resume and any((self.folder / PARTS).glob("*.parquet")):
                raise ValueError(f"{self.folder} already holds results of this campaign; add --resume to go on, or choose another --out")
        elif self.folder.is_dir() and any(self.folder.iterdir()):
            raise ValueError(f"{self.folder} is not empty and holds no campaign; choose another --out, so that nothing is lost")
        (self.folder / PARTS).mkdir(parents=True, exist_ok=True)
        _write(heading, json.dumps(self.heading, indent=1).encode() + b"\n")

    def missing(self) -> tuple:
        """(parts that are to be computed, sentences about those that are there and broken)."""
        missing, broken = [], []
        for part in range(self.count):
            fault = self._fault(part)
            if fault is not None:
                missing.append(part)
                broken += [fault] if fault else []
        return missing, broken

    def write(self, part: int, columns: dict) -> None:
        """Keep a batch. The file's bytes depend on the columns alone. OSError."""
        table = self._arrow.table({name: _plain(column) for name, column in columns.items()})
        table = table.replace_schema_metadata({"campaign": self._print, "part": str(part)})
        sink = self._arrow.BufferOutputStream()
        self._parquet.write_table(table, sink, compression="zstd")
        _write(self.path(part), sink.getvalue().to_pybytes())

    def batches(self) -> Iterator[dict]:
        """The columns of each batch that is there, in the order of the samples."""
        for part in range(self.count):
            if self.path(part).is_file():
                table = self._parquet.read_table(self.path(part))
                yield {name: table.column(name).to_numpy() for name in table.column_names}

    def _fault(self, part: int) -> str | None:
        """None: it is there and whole; "": it is not there; else what is wrong with it."""
        path = self.path(part)
        if not path.is_file():
            return ""
        try:
            table = self._parquet.read_table(path)
        except (OSError, self._arrow.ArrowException) as error:
            return f"{path} is cut off or damaged ({str(error).splitlines()[0]}); it is computed again"
        begin, end = self.span(part)
        known = (table.schema.metadata or {}).get(b"campaign") == self._print.encode()
        return None if known and table.num_rows == end - begin else f"{path} is not of this campaign; it is computed again"

    def _compare(self, heading: Path) -> None:
        try:
            before = json.loads(heading.read_text())
            differing = [name for name in {**before, **self.heading} if before.get(name) != self.heading.get(name)]
        except (ValueError, TypeError):
            raise ValueError(f"{heading} is damaged; delete it if the campaign is the same, or choose another --out") from None
        if differing:
            changes = "; ".join(f"{name} was {_shown(before.get(name))}, now {_shown(self.heading.get(name))}" for name in differing[:3])
            raise ValueError(f"{self.folder} holds another campaign: {changes}; choose another --out, or take the change back")


def _heading(plan: Plan, batch: int) -> dict:
    """name -> what the campaign says about it."""
    axes = {axis.name: {"values": list(axis.values)} for axis in plan.axes}
    drawn = {draw.name: {draw.way: list(draw.numbers)} for draw in plan.drawn}
    whole = {"draws": plan.draws, "seed": plan.seed, "batch": batch, "axes": [axis.name for axis in plan.axes]}
    return json.loads(json.dumps({**whole, **axes, **drawn, **dict(plan.fixed)}))


def _plain(column) -> list | np.ndarray:
    return column if column.dtype.kind in "if" else [str(value) for value in column]


def _shown(value) -> str:
    text = "not there" if value is None else json.dumps(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _write(path: Path, content: bytes) -> None:
    """The file at once: whoever reads sees the old one or the new one."""
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with open(draft, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(draft, path)
    finally:
        draft.unlink(missing_ok=True)
