"""An entry, measured anew: the law that it was measured with, and what differs."""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rbdyn_ros.control import options, select
from rbdyn_ros.control.provenance import identity
from rbdyn_ros.evaluation.bench import ControllerUnderTest
from rbdyn_ros.evaluation.controller_under_test import local_controller
from rbdyn_ros.evaluation.criterion import Criterion
from rbdyn_ros.evaluation.leaderboard.entry import LAW, check_files, files_of
from rbdyn_ros.evaluation.suite import Suite
from rbdyn_ros.parameters.plant import PLANT
from rbdyn_ros.schema import check

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
    known = {p.name: p for p in (*PLANT, *options.table(found.name, law))}
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
    if not (math.isfinite(a) and math.isfinite(b)):
        return a == b or (math.isnan(a) and math.isnan(b))
    return math.isclose(a, b, rel_tol=RELATIVE, abs_tol=ABSOLUTE)
