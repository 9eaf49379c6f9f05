"""An entry of the leaderboard: a folder with the measurements of one law, and its files.

    entry.json   values, curves and recorded forces of the cases, options, versions, seed, machine
    law/         the law, where it is a file of its author's, and the files that it reads

In each discipline the score is the mean of its parts, each in [0, 1]:

    performance  success (1 - mean tanh(pi c / scale)), over five costs c
    robustness   the mean share of runs that stand, over what is varied
    uptime       the share of the time upright
    accuracy     mean (1 - tanh(pi e / 20 mm)), over the paths, e the rms distance      (tracking)

The seed of all random numbers is drawn when the entry is measured, so that no law can know it.
"""

import json
import math
import re
import secrets
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from rbdyn_ros.control import law_selection
from rbdyn_ros.evaluation import report, results
from rbdyn_ros.evaluation.report import UNMEASURED, Evaluation
from rbdyn_ros.evaluation.results import BROKEN, Criterion, from_json, to_json
from rbdyn_ros.evaluation.suite import Case, Suite
from rbdyn_ros.evaluation.suite import read as read_suite
from rbdyn_ros.files import write_whole
from rbdyn_ros.parameters.shipped import config

FILE, LAW = "entry.json", "law"
NAMES = "letters, digits, '_', '-' and '.', at most 64, and not index"
FORM = 2  # of entry.json
_KEYS = {
    "name": str, "law": str, "path": str, "about": str, "kinds": list, "quick": bool, "seed": int,
    "parameters": dict, "identity": dict, "sittings": list, "cases": list,
}  # fmt: skip
DISCIPLINES = {"balance": "Balance", "swing_up": "Swing-up", "tracking": "Tracking"}
ACCURATE = 20.0  # [mm]
# measure -> the part of the score, the value that counts, and its share of that part
PARTS: dict[str, tuple[str, str, Callable[[float], float]]] = {
    "performance": ("performance", "score", lambda score: score),
    "robustness": ("robustness", "success", lambda percent: percent / 100.0),
    "uptime": ("uptime", "uptime", lambda percent: percent / 100.0),
    "tracking": ("accuracy", "error_rms", lambda e: 1.0 - math.tanh(math.pi * e / ACCURATE)),
}


def is_name(name: str) -> bool:
    """Return whether an entry may have this name, which is also that of its page."""
    return bool(re.fullmatch(r"(?i)(?!index$)[a-z0-9][a-z0-9_.-]{0,63}", name, re.ASCII))


def name_conflict(name: str, law: str, path: str) -> str:
    """Return why the name may not be used for this law; "" where it may."""
    if name not in law_selection.names() or (law == name and not path):
        return ""
    return (
        f"{name} calls itself by the name of a law of this installation, and is {path or law}; "
        "rename it"
    )


def suite_of_board(seed: int, chosen: tuple[str, ...] = (), quick: bool = False) -> Suite:
    """Return the suite of the leaderboard, with the seed of its random numbers."""
    return with_seed(read_suite(config("suites", "leaderboard.yaml"), chosen, quick), seed)


def draw_seed(resumed: Path | None = None) -> int:
    """Draw the seed of an entry, or return that of the one that is resumed."""
    before = results.heading(resumed) if resumed else {}
    return before.get("seed") or 1 + secrets.randbelow(2**31 - 1)


def with_seed(suite: Suite, seed: int) -> Suite:
    """Return the suite with this seed in each case."""

    def change(case: Case) -> Case:
        return case._replace(scenario=case.scenario._replace(seed=seed))

    rows = (row._replace(cases=tuple(map(change, row.cases))) for row in suite.rows)
    return suite._replace(rows=tuple(rows))


def content(name: str, made: Evaluation, seed: int) -> dict[str, Any]:
    """Return the content of entry.json."""
    suite, under_test, cases, sittings = made
    return {
        "form": FORM,
        "name": name,
        "law": under_test.name,
        "path": f"{LAW}/{Path(under_test.path).name}" if under_test.path else "",
        "about": f"{under_test.about or 'A law of rbdyn_ros'}.",
        "kinds": list(under_test.kinds),
        "quick": bool(sittings and sittings[-1].get("quick")),
        "seed": seed,
        "parameters": {
            key: f"{LAW}/{Path(value).name}" if _is_local(under_test.name, key, value) else value
            for key, value in under_test.heading(False)["parameters"].items()
        },
        "identity": {key: under_test.identity[key] for key in ("options", "versions")},
        "sittings": sittings,
        "cases": [
            to_json(cases[case.name]) | {"asked": specification(case)}
            for case in suite.cases
            if case.name in cases and cases[case.name].verdict not in UNMEASURED
        ],
    }


def _is_local(law: str, parameter: str, value: object) -> bool:
    """Return whether a value is the path of a file of the author's, which is in the entry."""
    return parameter == f"{law}.file" and ("/" in str(value) or bool(Path(str(value)).suffix))


def write(folder: Path, name: str, made: Evaluation, seed: int) -> list[Path]:
    """Write an entry into the folder and return the paths of its files. Raise OSError if that
    cannot be done.
    """
    found, under_test = content(name, made, seed), made.under_test
    written: dict[str, bytes | str] = {}
    if f"{LAW}/" in str([found["path"], *found["parameters"].values()]):
        written = {
            f"{LAW}/{Path(path).name}": Path(path).read_bytes() for path in under_test.files
        }
    written[FILE] = json.dumps(found, ensure_ascii=False) + "\n"
    for path, data in written.items():
        (folder / path).parent.mkdir(exist_ok=True)
        write_whole(folder / path, data)
    return [folder / path for path in written]


def read(folder: Path) -> dict[str, Any]:
    """Return the entry of a folder. Raise ValueError, in one sentence, if there is none, or the
    file is no entry.
    """
    path = folder / FILE
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        why = f"{FILE} cannot be read: {error.strerror}"
        raise ValueError(f"{folder} is no entry: {why}") from None
    except (ValueError, RecursionError):
        raise ValueError(f"{path} is no entry: it is not JSON") from None
    if not isinstance(found, dict) or found.get("form") != FORM:
        raise ValueError(f"{path} is no entry of form {FORM}; `evaluate --entry` writes one")
    for key, kind in _KEYS.items():
        if not isinstance(found.get(key), kind):
            raise ValueError(f"{path} is no entry: {key} is missing, or no {kind.__name__}")
    if not is_name(found["name"]):
        raise ValueError(f"{path} is no entry: its name is {found['name']!r}, not {NAMES}")
    criteria(found)
    return found


def criteria(entry: Mapping[str, Any]) -> dict[str, Criterion]:
    """Return the cases of an entry by their names. Raise ValueError for one that cannot be
    read.
    """
    try:
        found = [from_json({k: case[k] for k in Criterion._fields}) for case in entry["cases"]]
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        why = f"has a case that cannot be read: {error}"
        raise ValueError(f"the entry {entry['name']} {why}") from None
    return {case.name: case for case in found}


def refusal(entry: Mapping[str, Any], suite: Suite) -> str:
    """Return why an entry has no rank, in one sentence; "" where it has one."""
    name, found = entry["name"], criteria(entry)
    if entry["quick"]:
        return f"{name} was measured in the quick form; measure it without --quick"
    if why := name_conflict(name, entry["law"], entry["path"]):
        return why
    if not (known := disciplines(suite, entry["kinds"])):
        return f"{name} is for no discipline; --kind chooses among {', '.join(DISCIPLINES)}"
    recorded = {f"{c['row']} {c['label']}".strip(): c.get("asked") for c in entry["cases"]}
    for case in (case for discipline in known for case in cases_of(suite, discipline)):
        if case.name not in found:
            return f"{name} is not complete: {case.name} is not measured; --resume goes on with it"
        if recorded[case.name] != specification(case):
            return f"{name} was measured by another suite: {case.name} is another case now"
        if found[case.name].verdict == BROKEN:
            return f"{name} failed at {case.name}: {found[case.name].note}"
    return ""


def specification(case: Case) -> dict[str, Any]:
    """Return everything that a case sets but its seed and its limit of time, as JSON has it."""
    asked = report.specification(case) | {"bounds": list(map(str, case.requirements))}
    asked["settings"] = {k: v for k, v in case.settings.items() if k != "time_limit"}
    del asked["conditions"]["seed"]
    return json.loads(json.dumps(asked))


def cases_of(suite: Suite, discipline: str) -> list[Case]:
    """Return the cases of a discipline."""
    return [case for case in suite.cases if discipline in case.kinds]


def disciplines(suite: Suite, kinds: Iterable[str]) -> list[str]:
    """Return the disciplines of the suite that are for a law of these kinds."""
    kinds = set(kinds)
    return [name for name in DISCIPLINES if name in kinds and cases_of(suite, name)]


def score(
    suite: Suite, discipline: str, values: Mapping[str, Mapping[str, float]]
) -> dict[str, float]:
    """Return the total of a discipline, half its 95 % interval, and its parts, each in [0, 1];
    `values` are those of the cases by their names, and missing ones count 0.
    """
    shares: dict[str, list[float]] = {}
    squares: dict[str, list[float]] = {}
    for case in cases_of(suite, discipline):
        part, value, share = PARTS[case.measure]
        measured = values.get(case.name, {})
        found, half = share(measured.get(value, math.nan)), measured.get("interval", 0.0)
        shares.setdefault(part, []).append(found if math.isfinite(found) else 0.0)
        squares.setdefault(part, []).append((half / 100.0) ** 2)
    parts = {part: math.fsum(found) / len(found) for part, found in shares.items()}
    variances = [math.fsum(found) / len(found) ** 2 for found in squares.values()]
    n = max(1, len(parts))
    interval = math.sqrt(math.fsum(variances)) / n
    return {"total": math.fsum(parts.values()) / n, "interval": interval, **parts}


def scores(suite: Suite, entry: Mapping[str, Any]) -> dict[str, dict[str, float]]:
    """Return the scores of an entry in its disciplines."""
    values = {name: case.values for name, case in criteria(entry).items()}
    return {name: score(suite, name, values) for name in disciplines(suite, entry["kinds"])}


def describe(scores: Mapping[str, float]) -> str:
    """Return a score in words: total, interval and parts."""
    parts = (f"{k} {v:.3f}" for k, v in scores.items() if k not in ("total", "interval"))
    return f"{scores['total']:.3f} ± {scores['interval']:.3f} ({', '.join(parts)})"
