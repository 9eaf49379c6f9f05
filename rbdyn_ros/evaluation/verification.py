"""The verification of an entry of the leaderboard: its recorded forces give the recorded motion
(replay), its law gives these forces (probe), and its values come again within their intervals.
"""

import json
import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from rbdyn_ros.control import law_options
from rbdyn_ros.evaluation import force_record, measures
from rbdyn_ros.evaluation.bench import ControllerUnderTest, LawFailed
from rbdyn_ros.evaluation.entry import LAW, PARTS, criteria
from rbdyn_ros.evaluation.law_process import IsolatedBench
from rbdyn_ros.evaluation.metrics import SAME
from rbdyn_ros.evaluation.results import Criterion
from rbdyn_ros.evaluation.score import controller_under_test
from rbdyn_ros.evaluation.suite import Case, Suite
from rbdyn_ros.numerics.saturation import limit_force
from rbdyn_ros.parameters.simulation import PLANT, plant_params
from rbdyn_ros.parameters.yaml_file import Override
from rbdyn_ros.plant.closed_loop import ControlError
from rbdyn_ros.plant.rollout import Rollout
from rbdyn_ros.schema import defaults
from rbdyn_ros.types import State

PROBE = 1000  # commands
CLOSE = {"rel_tol": 0.01, "abs_tol": 0.01}  # of values that no random number is in


def controller(entry: Mapping[str, Any], folder: Path, suite: Suite) -> ControllerUnderTest:
    """Return the law of an entry, with its options, from its own folder or from this installation.
    Raise ValueError, in one sentence, if there is no such law here, or it has other options.
    """
    name = str((folder / entry["path"]).resolve()) if entry["path"] else entry["law"]
    values = {
        key: str((folder / value).resolve()) if str(value).startswith(f"{LAW}/") else value
        for key, value in entry["parameters"].items()
        if key not in law_options.SHARED.values()  # which the suite sets
    }
    source = f"the entry {entry['name']}"
    given = [Override(key, json.dumps(value), source) for key, value in values.items()]
    patience = max((sitting.get("patience", 0.0) for sitting in entry["sittings"]), default=2.0)
    kinds = ",".join(entry["kinds"]) or None
    return controller_under_test(name, (), kinds, suite.plant, patience, overrides=given)


def replayed(
    entry: Mapping[str, Any], cases: list[Case], found: Mapping[str, Criterion]
) -> Iterator[tuple[Case, Rollout | None, str]]:
    """Yield (case, its replay, what is wrong with it) of each case with a record. No code of the
    law is run.
    """
    values = {k: tuple(v) if isinstance(v, list) else v for k, v in entry["parameters"].items()}
    # a parameter that came later has its default, with which nothing changes
    params = plant_params(defaults(PLANT) | values)
    for case in cases:
        before = found[case.name]
        if "record" not in before.curves:
            continue
        try:
            run = force_record.replay(params, case.scenario, before.curves["record"])
        except ValueError as error:
            yield case, None, str(error)
            continue
        now = measures.load(case.measure).values(run, case.settings) if before.values else {}
        wrong = [
            f"{key} is {before.values.get(key, math.nan):.4g}, but {value:.4g} of the record"
            for key, value in now.items()
            if not math.isclose(value, before.values.get(key, math.nan), **CLOSE)
        ]
        yield case, run, "; ".join(wrong)


def probe(under_test: ControllerUnderTest, case: Case, run: Rollout) -> str:
    """Return how the law's forces differ from those of a recorded run in the same states; "" where
    they are the same. Raise LawFailed if the law fails.
    """
    prepare = getattr(measures.load(case.measure), "prepare", lambda name, scenario, _: scenario)
    bench = IsolatedBench(under_test)
    law = bench.law(prepare(under_test.name, case.scenario, case.settings))
    limit, zero = case.scenario.force_limit, np.zeros(2)
    try:
        for t, q, v, recorded in zip(run.t[:PROBE], run.q, run.v, run.force):
            force, _ = limit_force(tuple(law.command(float(t), State(t, q, v), zero)), limit)
            if math.dist(force, recorded) > SAME:
                return (
                    f"the law {under_test.name} is another than was measured: its force at t = "
                    f"{t:.3f} s is ({force[0]:.4g}, {force[1]:.4g}) N, and was "
                    f"({recorded[0]:.4g}, {recorded[1]:.4g}) N"
                )
    except ControlError as error:
        return str(error)
    finally:
        law.close()
    return ""


def offline(
    law: ControllerUnderTest, entry: Mapping[str, Any], cases: list[Case]
) -> Iterator[tuple[str, str, str]]:
    """Yield (case, comparison, how it differs) of replay and probe of the recorded cases."""
    for case, run, why in replayed(entry, cases, criteria(entry)):
        yield case.name, "replayed", why
        if run:
            try:
                why = probe(law, case, run)
            except LawFailed as error:
                why = str(error)
            yield case.name, "its law", why


def show(case: str, how: str, why: str) -> bool:
    """Print a comparison, and return whether there is no difference."""
    print(f"{case}, {how}: {why or 'the same'}", flush=True)
    return not why


def difference(before: Criterion, now: Criterion) -> str:
    """Return how a case differs from before by more than the intervals allow; "" where it does
    not.
    """
    if before.verdict != now.verdict and not (now.values and before.values):
        return f"was {before.verdict}, is {now.verdict}: {now.note or before.note}"
    counts = [value for _, value, _ in PARTS.values() if value in {**before.values, **now.values}]
    name = next(iter(counts), "success")
    old, new = (found.values.get(name, math.nan) for found in (before, now))
    halves = [found.values.get("interval", 0.0) for found in (before, now)]
    if (
        abs(old - new) <= sum(halves)
        or math.isclose(old, new, **CLOSE)
        or old != old
        and new != new
    ):
        return ""
    return f"{name} was {old:.4g} ± {halves[0]:.2g}, is {new:.4g} ± {halves[1]:.2g}"
