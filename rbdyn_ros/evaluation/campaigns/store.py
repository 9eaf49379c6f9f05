"""A campaign's folder: its plan, and one Parquet file for each batch of samples, complete or not
there.

campaign.json                 the plan, another one is refused; its laws, a change of which
                              starts the campaign again; when and where it was computed
parts/part-000000.parquet     written under another name, flushed, then renamed: an interrupted
                              run leaves no incomplete file

The results are read batch by batch, and kept as one byte and two numbers for each sample.
"""

import hashlib
import json
import math
from collections import Counter
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from rbdyn_ros.control import law_selection
from rbdyn_ros.control.provenance import differences, identity, shorten
from rbdyn_ros.evaluation.campaigns.campaign_trial import FAILED, WORDS
from rbdyn_ros.evaluation.campaigns.plan import CampaignPlan, numbers
from rbdyn_ros.evaluation.results import SITTINGS, set_aside
from rbdyn_ros.files import json_text, make_folder, write_whole
from rbdyn_ros.optional import library
from rbdyn_ros.types import Array

HEADING, PARTS = "campaign.json", "parts"
LAWS = "laws"  # of the heading: the identity of each law
# samples in a compiled batch; batches in a campaign that is not large
LARGEST, SMALLEST, ABOUT = 8192, 256, 16
LARGEST_SLOW, ABOUT_SLOW = 64, 64  # the same where samples run one by one


class Store:
    """The folder of one campaign."""

    def __init__(
        self,
        folder: Path,
        plan: CampaignPlan,
        compiled: bool,
        laws: dict | None = None,
        sitting: dict | None = None,
    ):
        """Set up the store without touching the folder. Raise MissingLibrary if pyarrow is not
        installed.

        `laws`: the identity of each law by its name, by `control.provenance`; `sitting`: when and
        where.
        """
        self._arrow = library("pyarrow", "sweep", "sweep")
        self._parquet = library("pyarrow.parquet", "sweep", "sweep")
        self.folder, self.plan = folder, plan
        fast, slow = -(-plan.size // ABOUT), -(-plan.size // ABOUT_SLOW)
        self.batch = min(LARGEST, max(SMALLEST, fast)) if compiled else min(LARGEST_SLOW, slow)
        self.heading, self.laws = _heading(plan, self.batch), json.loads(json.dumps(laws or {}))
        self.sittings = [sitting] if sitting else []
        self._print = hashlib.sha256(
            json.dumps([self.heading, self.laws], sort_keys=True).encode()
        ).hexdigest()

    @property
    def count(self) -> int:
        """The number of batches."""
        return -(-self.plan.size // self.batch)

    @property
    def provenance(self) -> dict[str, Any]:
        """The provenance of the results: when and where, of which laws, with which seed and
        tolerances.
        """
        settled = {name: value for name, value in self.plan.fixed if name.startswith("settled.")}
        return {
            SITTINGS: self.sittings,
            LAWS: self.laws,
            "seeds": [self.plan.seed],
            "tolerances": settled,
        }

    def span(self, part: int) -> tuple[int, int]:
        """Return (begin, end) of the samples of a part."""
        return part * self.batch, min(self.plan.size, (part + 1) * self.batch)

    def path(self, part: int) -> Path:
        """Return the file of a part."""
        return self.folder / PARTS / f"part-{part:06d}.parquet"

    def open(self, resume: bool) -> str:
        """Make the folder, or resume in it. Return why it begins anew where a law was changed,
        else "". The old results are kept under another name.

        Raise ValueError if it holds something else, or the same and `resume` is false.
        """
        heading, anew = self.folder / HEADING, ""
        if heading.is_file():
            before = self._compare(heading)
            if not resume and any((self.folder / PARTS).glob("*.parquet")):
                raise ValueError(
                    f"{self.folder} already holds results of this campaign; add --resume to go "
                    "on, or choose another --out"
                )
            known = before.get(LAWS) or {}
            changes = chain(
                *(differences(known.get(n) or {}, law) for n, law in self.laws.items())
            )
            if changes := [*dict.fromkeys(changes)]:
                anew = self._set_parts_aside(changes)
            else:
                self.sittings = [*before.get(SITTINGS, ()), *self.sittings]
        elif self.folder.is_dir() and any(self.folder.iterdir()):
            raise ValueError(
                f"{self.folder} is not empty and holds no campaign; choose another --out, so "
                "that nothing is lost"
            )
        make_folder(self.folder)
        (self.folder / PARTS).mkdir(exist_ok=True)
        written = {**self.heading, LAWS: self.laws, SITTINGS: self.sittings}
        write_whole(heading, json_text(written))
        return anew

    def missing_parts(self) -> tuple[list[int], list[str]]:
        """Return (parts that are to be computed, sentences about those that are there and
        broken).
        """
        missing, broken = [], []
        for part in range(self.count):
            fault = self._fault(part)
            if fault is not None:
                missing.append(part)
                broken += [fault] if fault else []
        return missing, broken

    def write(self, part: int, columns: dict[str, Array]) -> None:
        """Write a batch. The file's bytes depend on the columns alone. Raise OSError if that
        cannot be done.
        """
        plain = {
            name: column if column.dtype.kind in "if" else [*map(str, column)]
            for name, column in columns.items()
        }
        table = self._arrow.table(plain)
        table = table.replace_schema_metadata({"campaign": self._print, "part": str(part)})
        sink = self._arrow.BufferOutputStream()
        self._parquet.write_table(table, sink, compression="zstd")
        write_whole(self.path(part), sink.getvalue().to_pybytes())

    def batches(self) -> Iterator[dict[str, Array]]:
        """Yield the columns of each batch that is there, in the order of the samples."""
        for part in range(self.count):
            if self.path(part).is_file():
                table = self._parquet.read_table(self.path(part))
                yield {name: table.column(name).to_numpy() for name in table.column_names}

    def _fault(self, part: int) -> str | None:
        """Return None if the part is there and complete, "" if it is not there, else what is wrong
        with it.
        """
        path = self.path(part)
        if not path.is_file():
            return ""
        try:
            table = self._parquet.read_table(path)
        except (OSError, self._arrow.ArrowException) as error:
            why = str(error).splitlines()[0]
            return f"{path} is cut off or damaged ({why}); it is computed again"
        begin, end = self.span(part)
        known = (table.schema.metadata or {}).get(b"campaign") == self._print.encode()
        if known and table.num_rows == end - begin:
            return None
        return f"{path} is not of this campaign; it is computed again"

    def _compare(self, heading: Path) -> dict:
        """Return the heading in the folder. Raise ValueError if it is another campaign."""
        try:
            before = json.loads(heading.read_text("utf-8"))
            differing = [
                name
                for name in {**before, **self.heading}
                if name not in (LAWS, SITTINGS) and before.get(name) != self.heading.get(name)
            ]
        except (ValueError, TypeError, RecursionError):
            raise ValueError(
                f"{heading} is damaged; delete it if the campaign is the same, or choose "
                "another --out"
            ) from None
        if differing:
            differing.sort(key="batch".__eq__)  # which follows from the others
            changes = "; ".join(
                f"{name} was {_format(before.get(name))}, now {_format(self.heading.get(name))}"
                for name in differing[:3]
            )
            raise ValueError(
                f"{self.folder} holds another campaign: {changes}; choose another --out, or "
                "take the change back"
            )
        return before

    def _set_parts_aside(self, changes: list) -> str:
        """Set the parts of changed laws aside and return a sentence about it, or "" if there are
        no parts.
        """
        parts = self.folder / PARTS
        if not parts.is_dir() or not any(parts.iterdir()):
            return ""
        return (
            f"--resume begins anew: {shorten(changes)}; what was computed before is kept in "
            f"{set_aside(parts)}"
        )


def identities(plan: CampaignPlan) -> dict[str, dict[str, Any]]:
    """Return the identity of each law of a plan, by its name: its files, options and versions.

    Raise ValueError for an option out of range.
    """
    return {
        name: identity(law_selection.short(name), law_selection.load(name), dict(plan.fixed))
        for name in plan.laws
    }


def _heading(plan: CampaignPlan, batch: int) -> dict:
    """Return name -> value for everything that defines the campaign."""
    axes = {axis.name: {"values": list(axis.values)} for axis in plan.axes}
    drawn = {draw.name: {draw.way: list(draw.numbers)} for draw in plan.drawn}
    whole = {
        "draws": plan.draws,
        "seed": plan.seed,
        "batch": batch,
        "axes": [axis.name for axis in plan.axes],
    }
    return json.loads(json.dumps({**whole, **axes, **drawn, **dict(plan.fixed)}))


def _format(value) -> str:
    text = "not there" if value is None else json.dumps(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


ENDS = (*WORDS.values(), FAILED)  # how a sample ends
MEANING = {
    "settled": "settled",
    "left": "left its travel",
    "late": "had not settled in time",
    "lost": "ran until numbers overflowed",
    "failed": "failed for a reason of its own",
}
ABSENT = 255


class CampaignResults(NamedTuple):
    """All samples, in their order."""

    plan: CampaignPlan
    ended: Array  # (n,) uint8, a place in `ENDS`; ABSENT: not computed
    settled: Array  # (n,) [s]; nan: never
    travel: Array  # (n,) [m]
    reasons: Counter  # why samples failed

    @property
    def success(self) -> Array:
        """Whether each sample settled, (n,) bool."""
        return self.ended == 0

    @property
    def computed(self) -> Array:
        """Whether each sample was computed, (n,) bool."""
        return self.ended != ABSENT


def read(store: Store) -> CampaignResults:
    """Return the results in a campaign's folder."""
    n = store.plan.size
    found = CampaignResults(
        store.plan, np.full(n, ABSENT, np.uint8), np.full(n, np.nan), np.full(n, np.nan), Counter()
    )
    for columns in store.batches():
        i = columns["sample"]
        found.ended[i] = [ENDS.index(word) for word in columns["ended"]]
        found.settled[i], found.travel[i] = columns["settled"], columns["travel"]
        found.reasons.update(reason for reason in columns["reason"] if reason)
    return found


def interval(good: int, n: int) -> tuple[float, float]:
    """Return Wilson's interval of 95 % for a fraction that was observed as `good` of `n`."""
    if not n:
        return 0.0, 1.0
    z, p = 1.959963984540054, good / n
    middle, half = p + z * z / (2 * n), z * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    return max(0.0, (middle - half) / (1 + z * z / n)), min(1.0, (middle + half) / (1 + z * z / n))


def titles(plan: CampaignPlan) -> dict[str, str]:
    """Return what tables and pictures call each law: its short name, unless two have the same."""
    short = {name: law_selection.short(name) for name in plan.laws}
    words = [*short.values()]
    return {name: word if words.count(word) == 1 else name for name, word in short.items()}


def rows(results: CampaignResults) -> list[dict[str, Any]]:
    """Return one dictionary of numbers for each law of the campaign."""
    laws = _laws(results.plan)
    return [_row(name, results, where) for name, where in laws.items()]


def summary(results: CampaignResults) -> str:
    """Return a few lines for the reader."""
    lines, called = [], titles(results.plan)
    for row in rows(results):
        n, low, high = row["samples"], *row["interval"]
        between = f" (95 %: {100 * low:.2f} to {100 * high:.2f} %)" if results.plan.drawn else ""
        lines.append(
            f"{called[row['controller']]}: {row['settled']} of {n} settled, "
            f"{100 * row['fraction']:.2f} %{between}"
        )
        if row["settled"]:
            t = row["settling_time"]
            lines.append(
                f"  after {t['median']:.2f} s in the median, {t['p99']:.2f} s at 99 %, "
                f"{t['largest']:.2f} s at most"
            )
        lines += [f"  {row[word]} {MEANING[word]}" for word in ENDS[1:] if row[word]]
    lines += [f"  {count} times: {reason}" for reason, count in results.reasons.most_common(3)]
    return "\n".join(lines)


def write(results: CampaignResults, path: Path, provenance: dict[str, Any] | None = None) -> None:
    """Write the rows as JSON, with their provenance. Raise OSError if that cannot be done."""
    written = {
        "rows": rows(results),
        "reasons": dict(results.reasons.most_common(20)),
        "provenance": provenance or {},
    }
    path.write_text(json_text(written), "utf-8")


def _laws(plan: CampaignPlan) -> dict:
    """Return law -> which samples (n,) are its own."""
    if "controller" not in plan.varied_names:
        return {plan.laws[0]: np.ones(plan.size, bool)}
    of_sample = numbers(plan, 0, plan.size)["controller"]
    return {name: of_sample == name for name in dict.fromkeys(plan.laws)}


def _row(name: str, results: CampaignResults, where: Array) -> dict:
    counts = {word: int((results.ended[where] == i).sum()) for i, word in enumerate(ENDS)}
    done = sum(counts.values())
    row: dict[str, Any] = {
        "controller": name,
        "samples": done,
        **counts,
        "fraction": counts["settled"] / max(1, done),
    }
    row["interval"] = list(interval(counts["settled"], done))
    if counts["settled"]:
        t = results.settled[where & results.success]
        row["settling_time"] = dict(
            zip(("median", "p99", "largest"), np.percentile(t, (50, 99, 100)).tolist())
        )
    return row
