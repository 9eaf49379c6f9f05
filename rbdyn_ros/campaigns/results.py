"""What came out of a campaign: read batch by batch, kept as one byte and two numbers for each
sample; a summary in words.
"""

import math
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from rbdyn_ros.campaigns.plan import Plan
from rbdyn_ros.campaigns.samples import numbers
from rbdyn_ros.campaigns.store import Store
from rbdyn_ros.campaigns.trial import FAILED, WORDS
from rbdyn_ros.files import json_text
from rbdyn_ros.types import Array

ENDS = (*WORDS.values(), FAILED)  # how a sample ends
MEANING = {
    "settled": "settled",
    "left": "left its travel",
    "late": "had not settled in time",
    "lost": "ran until numbers overflowed",
    "failed": "failed for a reason of its own",
}
ABSENT = 255


class Results(NamedTuple):
    """All samples, in their order."""

    plan: Plan
    ended: Array  # (n,) uint8, a place in `ENDS`; ABSENT: not computed
    settled: Array  # (n,) [s]; nan: never
    travel: Array  # (n,) [m]
    reasons: Counter  # why samples failed

    @property
    def success(self) -> Array:
        """(n,) bool."""
        return self.ended == 0


def read(store: Store) -> Results:
    """The results in a campaign's folder."""
    n = store.plan.size
    found = Results(
        store.plan, np.full(n, ABSENT, np.uint8), np.full(n, np.nan), np.full(n, np.nan), Counter()
    )
    for columns in store.batches():
        i = columns["sample"]
        found.ended[i] = [ENDS.index(word) for word in columns["ended"]]
        found.settled[i], found.travel[i] = columns["settled"], columns["travel"]
        found.reasons.update(reason for reason in columns["reason"] if reason)
    return found


def interval(good: int, n: int) -> tuple[float, float]:
    """Wilson's interval of 95 % for a fraction of which `good` of `n` were seen."""
    if not n:
        return 0.0, 1.0
    z, p = 1.959963984540054, good / n
    middle, half = p + z * z / (2 * n), z * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    return max(0.0, (middle - half) / (1 + z * z / n)), min(1.0, (middle + half) / (1 + z * z / n))


def rows(results: Results) -> list[dict[str, Any]]:
    """One dictionary of numbers for each law of the campaign."""
    laws = _laws(results.plan)
    return [_row(name, results, where) for name, where in laws.items()]


def summary(results: Results) -> str:
    """A few lines for people."""
    lines = []
    for row in rows(results):
        n, low, high = row["samples"], *row["interval"]
        between = f" (95 %: {100 * low:.2f} to {100 * high:.2f} %)" if results.plan.drawn else ""
        lines.append(
            f"{row['controller']}: {row['settled']} of {n} settled, {100 * row['fraction']:.2f} "
            f"%{between}"
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


def write(results: Results, path: Path, provenance: dict[str, Any] | None = None) -> None:
    """The rows as JSON, with where they come from. OSError."""
    told = {
        "rows": rows(results),
        "reasons": dict(results.reasons.most_common(20)),
        "provenance": provenance or {},
    }
    path.write_text(json_text(told))


def _laws(plan: Plan) -> dict:
    """law -> which samples (n,) are its own."""
    if "controller" not in plan.varied:
        return {plan.laws[0]: np.ones(plan.size, bool)}
    of_sample = numbers(plan, 0, plan.size)["controller"]
    return {name: of_sample == name for name in dict.fromkeys(plan.laws)}


def _row(name: str, results: Results, where: Array) -> dict:
    counts = {word: int((results.ended[where] == i).sum()) for i, word in enumerate(ENDS)}
    done = sum(counts.values())
    row = {
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
