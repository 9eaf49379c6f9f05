"""The results of the laws in benchmarks/scores, and the check whether they are of the current
suite.
"""

import json
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

from rbdyn_ros.control import law_selection
from rbdyn_ros.evaluation import report, suite
from rbdyn_ros.evaluation.score import select_cases

ROOT = Path(__file__).resolve().parents[1]
SCORES = ROOT / "benchmarks" / "scores"
LAWS = ("lqr", "nested_lqr", "pd", "mpc", "swing_up", "ilqr", "tracking")
OTHERS = {  # each with the laws that it is held against
    "lqg": ("lqr",),
    "h_infinity": ("lqr",),
    "policy": ("lqr",),
    "policy_swing_up": ("ilqr",),
    "mppi": ("lqr", "ilqr"),
}
NAMES = (*LAWS, *OTHERS)
IN_PART = ("mppi",)  # the whole suite would take hours
# name -> (law, kinds) where the law has other kinds of its own
FOR_OTHER_KINDS = {"policy_swing_up": ("policy", ("swing_up",))}
NOT_MEANT = "not for this kind of law"


def evaluation(path: Path, refuse: Callable) -> dict:
    """Return an evaluation.json; call `refuse(sentence)` for another file."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        refuse(f"--take {path} cannot be read: {error.strerror}")
    except ValueError as error:
        refuse(f"--take {path} is not JSON: {error}")
    if not isinstance(found, dict) or not {"law", "rows", "provenance"} <= found.keys():
        refuse(
            f"--take {path} is not what `evaluate` writes; give the evaluation.json of its --out"
        )
    if name_of(found) not in NAMES:
        refuse(f"--take {path} is about {found['law']}; the tables are about {', '.join(NAMES)}")
    return found


def law_of(name: str) -> tuple[str, tuple]:
    """Return (law, the kinds that it was measured for) of the results of a name."""
    return FOR_OTHER_KINDS.get(name) or (name, law_selection.load(name).KINDS)


def name_of(found: dict) -> str:
    """Return the name of an evaluation's results."""
    which = found["law"], tuple(found.get("kinds", ()))
    return next((name for name, other in FOR_OTHER_KINDS.items() if other == which), which[0])


def take(new: dict) -> Path:
    """Replace the rows of the results of the same name by those of an evaluation; return the
    results' path.
    """
    name = name_of(new)
    path = SCORES / f"{name}.json"
    old = results(name) or {"rows": [], "provenance": {"sittings": []}}
    sittings = [*old["provenance"]["sittings"], *new["provenance"]["sittings"]]
    rows = {row["row"]: row for row in old["rows"]}
    for row in new["rows"]:
        cases = [{**case, "sitting": len(sittings) - 1} for case in row["cases"]]
        rows |= {row["row"]: {**row, "cases": cases}} if cases else {}
    order = sorted(rows.values(), key=lambda row: int(row["row"].removeprefix("S")))
    merged = {
        **new,
        "summary": count_rows(order),
        "provenance": {**new["provenance"], "sittings": sittings},
        "rows": order,
    }
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(merged, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return path


def count_rows(rows: list) -> str:
    """Return how many rows hold of those that apply and count for the law."""
    verdicts = [row["verdict"] for row in rows if row["counts"]]
    return f"{verdicts.count('holds')} of {len(verdicts) - verdicts.count(NOT_MEANT)}"


@cache
def applicable_cases(name: str) -> dict:
    """Return (row, label) -> case of the current suite, of all that is for the law."""
    current = suite.read(ROOT / "config" / "suites" / "standard.yaml")
    return {(case.row, case.label): case for case in select_cases(current, law_of(name)[1])[0]}


def stale(law: str) -> Iterator[str]:
    """Yield a sentence for each of a law's results that is not of the current suite."""
    found = results(law)
    if not found:
        yield f"{law}: there are no results; run `python -m rbdyn_ros evaluate --controller {law}`"
        return
    kinds = law_of(law)[1]
    if tuple(found["kinds"]) != kinds:
        yield f"{law}: it was measured for {found['kinds']}, and is for {list(kinds)}"
    measured = {
        (row["row"], case["label"]): case
        for row in found["rows"]
        for case in row["cases"]
        if case["verdict"] != NOT_MEANT
    }
    for case in applicable_cases(law).values():
        known = measured.pop((case.row, case.label), None)
        asked = json.loads(json.dumps(report.specification(case)))
        if known is None and law in IN_PART:
            continue
        if known is None:
            yield f"{law}: {case.name} is not measured"
        elif any(known[key] != asked[key] for key in asked) or [
            text for text, _ in known["requirements"]
        ] != list(map(str, case.requirements)):
            yield f"{law}: {case.name} was measured with other settings or bounds"
    yield from (f"{law}: {' '.join(name)} is no case of the suite" for name in measured)


def results(law: str) -> dict:
    """Return the results of a law, {} where there are none."""
    path = SCORES / f"{law}.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
