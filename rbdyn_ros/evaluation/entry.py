"""An entry of the leaderboard: a folder with the measurements of one law, its files and its
scores, under a fingerprint.

    entry.json   scores, values and curves of the cases, options, versions, files, seeds, machine
    README.md    the same for readers, with pictures
    B1.svg, ...  the pictures
    law/         the law, where it is a file of its author's, and the files that it reads

A change of entry.json after it was made is found by its fingerprint, a change of the law by the
fingerprints of its files, and invented numbers by `--verify`, which measures them anew.

In each discipline the score is the mean of its parts, each in [0, 1]:

    performance  success (1 - mean tanh(pi c / scale)), over five costs c
    robustness   the mean share of runs that stand, over what is varied
    uptime       the share of the time upright
    accuracy     mean (1 - tanh(pi e / 20 mm)), over the paths, e the rms distance      (tracking)
"""

import hashlib
import json
import math
import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

from rbdyn_ros.control import select
from rbdyn_ros.control.provenance import law_files
from rbdyn_ros.evaluation import pictures, report
from rbdyn_ros.evaluation.bench import ControllerUnderTest
from rbdyn_ros.evaluation.report import Evaluation
from rbdyn_ros.evaluation.results import BROKEN, NOT_APPLICABLE, Criterion, from_json, to_json
from rbdyn_ros.evaluation.suite import Case, Suite
from rbdyn_ros.files import write_whole

FILE, README, LAW = "entry.json", "README.md", "law"
NAMES = "letters, digits, '_', '-' and '.', at most 64, and not index"
FORM = 1  # of entry.json
_KEYS = {
    "form": int, "name": str, "law": str, "path": str, "about": str, "kinds": list, "quick": bool,
    "parameters": dict, "identity": dict, "files": dict, "sittings": list, "cases": list,
    "scores": dict, "fingerprint": str,
}  # fmt: skip
SUITE = "leaderboard.yaml"  # in config/suites
_DOCUMENT = "A law of rbdyn_ros."


def is_name(name: str) -> bool:
    """Return whether an entry may have this name, which is also that of its page beside
    index.html.
    """
    return bool(re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}", name)) and (
        name.lower() != "index"
    )


def name_conflict(name: str, law: str, path: str) -> str:
    """Return why the name may not be used for this law; "" where it may."""
    if name in select.names() and (path or law != name):
        return (
            f"{name} calls itself by the name of a law of this installation, and is "
            f"{path or law}; rename it"
        )
    return ""


def content(name: str, made: Evaluation) -> dict[str, Any]:
    """Return the content of entry.json, with its fingerprint."""
    suite, under_test, cases, sittings = made
    law = select.load(under_test.controller)
    files = {path.name: hash_of(path.read_bytes()) for path in files_of(law, under_test)}
    found = {
        "form": FORM,
        "name": name,
        "law": under_test.name,
        "path": f"{LAW}/{Path(under_test.path).name}" if under_test.path else "",
        "about": _about(law),
        "kinds": list(under_test.kinds),
        "quick": bool(sittings and sittings[-1].get("quick")),
        "parameters": _with_local_files(under_test, law),
        "identity": under_test.identity,
        "files": files,
        "sittings": sittings,
        "cases": [
            to_json(cases[case.name]) | {"measure": case.measure, "asked": specification(case)}
            for case in suite.cases
            if case.name in cases and cases[case.name].verdict != NOT_APPLICABLE
        ],
        "scores": _scores(suite, under_test.kinds, cases),
    }
    return {**found, "fingerprint": fingerprint(found)}


def write(folder: Path, name: str, made: Evaluation) -> list[Path]:
    """Write an entry into the folder and return the paths of its files. Raise OSError if that
    cannot be done.
    """
    (suite, under_test, cases, _), found = made, content(name, made)
    drawn = {
        f"{row.name}.svg": picture
        for row in suite.rows
        if (picture := pictures.svg(row, row.select(cases)))
    }
    local = Path(under_test.path).name if under_test.path else ""
    named = [value for value in found["parameters"].values() if str(value).startswith(f"{LAW}/")]
    paths = files_of(select.load(under_test.controller), under_test) if local or named else []
    own = {f"{LAW}/{path.name}": path.read_bytes() for path in paths}
    texts = {
        FILE: json.dumps(found, indent=1, ensure_ascii=False) + "\n",
        README: readme(found, suite, list(drawn)),
    }
    written = {**own, **drawn, **texts}
    for path, data in written.items():
        (folder / path).parent.mkdir(exist_ok=True)
        write_whole(folder / path, data)
    return [folder / path for path in written]


def read(folder: Path) -> dict[str, Any]:
    """Return the entry of a folder.

    Raise ValueError, with one sentence, if there is none, the file is no entry, or it or a file of
    the law in it was changed after it was made.
    """
    path = folder / FILE
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ValueError(
            f"{folder} is no entry: {FILE} cannot be read: {error.strerror}"
        ) from None
    except (ValueError, RecursionError):
        raise ValueError(f"{path} is no entry: it is not JSON") from None
    if not isinstance(found, dict) or found.get("form") != FORM:
        raise ValueError(f"{path} is no entry of form {FORM}; `evaluate --entry` writes one")
    for key, kind in _KEYS.items():
        if not isinstance(found.get(key), kind):
            raise ValueError(f"{path} is no entry: {key} is missing, or no {kind.__name__}")
    if not is_name(found["name"]):
        raise ValueError(f"{path} is no entry: its name is {found['name']!r}, not {NAMES}")
    if found["fingerprint"] != fingerprint(found):
        raise ValueError(f"{path} was changed after it was made: its fingerprint does not fit")
    if found["path"] or any(str(v).startswith(f"{LAW}/") for v in found["parameters"].values()):
        check_files(found, filter(Path.is_file, (folder / LAW).glob("*")))
    return found


def check_files(entry: Mapping[str, Any], paths: Iterable[Path]) -> None:
    """Raise ValueError, with one sentence, where a file of the law is not among these, or differs
    from the one that was measured.
    """
    here = {path.name: hash_of(path.read_bytes()) for path in paths}
    for file, recorded in entry["files"].items():
        if here.get(file) != recorded:
            state = "is not there" if file not in here else "is another one than was measured"
            raise ValueError(f"{entry['name']} has no rank: {file} of the law {state}")


def criteria(entry: Mapping[str, Any]) -> dict[str, Criterion]:
    """Return the cases of an entry by their names. Raise ValueError for a case that cannot be
    read.
    """
    try:
        found = [from_json({k: case[k] for k in Criterion._fields}) for case in entry["cases"]]
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ValueError(
            f"the entry {entry['name']} has a case that cannot be read: {error}"
        ) from None
    return {case.name: case for case in found}


def refusal(entry: Mapping[str, Any], suite: Suite) -> str:
    """Return why an entry has no rank, in one sentence; "" where it has one. Raise ValueError for
    a case that cannot be read.
    """
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
    if entry["scores"] != _scores(suite, entry["kinds"], found):
        return f"{name} has scores that do not follow from its cases"
    return ""


def fingerprint(content: Mapping[str, Any]) -> str:
    """Return the SHA-256 of the content of an entry, without its fingerprint."""
    known = {key: value for key, value in content.items() if key != "fingerprint"}
    return hash_of(json.dumps(known, sort_keys=True, ensure_ascii=False).encode())


def files_of(law: ModuleType, under_test: ControllerUnderTest) -> list[Path]:
    """Return the law's own file, those in its folder that it imports, those that its `FILES` name,
    and that of its option `file`.
    """
    named = [path for path, _ in _named_files(law, under_test)]
    return [*law_files(law), *map(Path, getattr(law, "FILES", ())), *named]


def _named_files(law: ModuleType, under_test: ControllerUnderTest) -> list[tuple[Path, str]]:
    """Return [(file, option)] of the option `file` of a law, which its `find` turns into a
    path.
    """
    option = f"{under_test.name}.file"
    given = under_test.identity.get("options", {}).get(option, {}).get("value")
    return [(Path(getattr(law, "find", Path)(given)), option)] if given else []


def _with_local_files(under_test: ControllerUnderTest, law: ModuleType) -> dict[str, Any]:
    """Return the parameters; a file of the author's is named by its place in the entry."""
    values = under_test.heading(False)["parameters"]
    local = {
        option: f"{LAW}/{path.name}"
        for path, option in _named_files(law, under_test)
        if option in values and ("/" in values[option] or path.suffix in values[option])
    }
    return values | local


def specification(case: Case) -> dict[str, Any]:
    """Return the specification of a case, as JSON has it."""
    return json.loads(
        json.dumps(report.specification(case) | {"bounds": list(map(str, case.requirements))})
    )


def _scores(suite: Suite, kinds: Iterable[str], cases: Mapping[str, Criterion]) -> dict[str, Any]:
    values = {name: case.values for name, case in cases.items()}
    return {
        name: {part: round(v, 4) for part, v in score(suite, name, values).items()}
        for name in disciplines(suite, kinds)
    }


def _about(law: ModuleType) -> str:
    """Return the first sentence of the law's docstring."""
    text = " ".join((law.__doc__ or _DOCUMENT).split())
    return text.partition(". ")[0].rstrip(".") + "."


def hash_of(data: bytes) -> str:
    """Return the SHA-256 of a file, in hexadecimal."""
    return hashlib.sha256(data).hexdigest()


def readme(entry: Mapping[str, Any], suite: Suite, drawn: list[str]) -> str:
    """Return the text for readers."""
    name, law = entry["name"], entry["path"] or entry["law"]
    last = entry["sittings"][-1] if entry["sittings"] else {"machine": {}}
    lines = [f"# {name}", "", entry["about"], "", f"Law: `{law}`.", ""]
    for discipline, found in entry["scores"].items():
        parts = ", ".join(
            f"{part} {value:.3f}" for part, value in found.items() if part != "total"
        )
        lines.append(f"- **{DISCIPLINES[discipline]}: {found['total']:.3f}** ({parts})")
    lines += ["", "| case | what was measured |", "|---|---|"]
    for case in entry["cases"]:
        values = ", ".join(
            f"{key.replace('_', ' ')} {value if isinstance(value, str) else f'{value:.4g}'}"
            for key, value in case["values"].items()
        )
        lines.append(f"| {case['row']} {case['label']} | {values or case['note']} |")
    titles = {f"{row.name}.svg": row.title for row in suite.rows}
    lines += [""] + [f"![{titles[file]}]({file})\n" for file in drawn]
    lines += [
        f"Measured {last['date']} on {last['machine'].get('processor', 'a processor')}."
        if entry["sittings"]
        else "",
        "",
        f"    python -m rbdyn_ros leaderboard --verify {name}    # measures it anew and compares",
        "",
        "SHA-256 of the law's files:",
        "",
        *(f"    {value}  {file}" for file, value in entry["files"].items()),
        "",
    ]
    return "\n".join(lines)


DISCIPLINES = {"balance": "Balance", "swing_up": "Swing-up", "tracking": "Tracking"}
ACCURATE = 20.0  # [mm]


# measure -> the part of the score, the value that counts, and its share of that part
PARTS: dict[str, tuple[str, str, Callable[[float], float]]] = {
    "performance": ("performance", "score", lambda score: score),
    "robustness": ("robustness", "success", lambda percent: percent / 100.0),
    "uptime": ("uptime", "uptime", lambda percent: percent / 100.0),
    "tracking": ("accuracy", "error_rms", lambda e: 1.0 - math.tanh(math.pi * e / ACCURATE)),
}


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
    """Return the total of a discipline and its parts, each in [0, 1]; `values` are those of the
    cases by their names, and missing ones count 0.
    """
    shares: dict[str, list[float]] = {}
    for case in cases_of(suite, discipline):
        part, value, share = PARTS[case.measure]
        found = share(values.get(case.name, {}).get(value, math.nan))
        shares.setdefault(part, []).append(found if math.isfinite(found) else 0.0)
    parts = {part: math.fsum(found) / len(found) for part, found in shares.items()}
    return {"total": math.fsum(parts.values()) / len(parts) if parts else 0.0} | parts
