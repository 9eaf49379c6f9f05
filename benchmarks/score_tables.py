"""The tables of README.md and doc/ about the control laws, made from what `evaluate` measured.

    python benchmarks/score_tables.py               write every table anew
    python benchmarks/score_tables.py --check       1 if a table or a result is not up to date
    python benchmarks/score_tables.py --take FILE   take over new results, row by row, then write

FILE is the evaluation.json of `python -m rbdyn_ros evaluate --controller LAW --out OUT`; results
are benchmarks/scores/LAW.json, in the same form; the number `sitting` of a case says in which of
the sittings of its provenance it was measured. The tables of the leaderboard are made from the
entries in benchmarks/leaderboard. A table stands between `<!-- scores: NAME -->` and
`<!-- scores end -->`.
"""

import argparse
import json
import math
import re
import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path

from rbdyn_ros.control import select
from rbdyn_ros.evaluation import report, suite
from rbdyn_ros.evaluation.leaderboard import board
from rbdyn_ros.evaluation.score import applying

ROOT = Path(__file__).resolve().parents[1]
SCORES = ROOT / "benchmarks" / "scores"
ENTRIES = ROOT / "benchmarks" / "leaderboard"
PAGES = ("README.md", "doc/evaluation.md", "doc/control.md", "doc/leaderboard.md")
LAWS = ("lqr", "nested_lqr", "pd", "mpc", "swing_up", "ilqr", "tracking")
OTHERS = {  # each with the laws that it is held against
    "lqg": ("lqr",),
    "h_infinity": ("lqr",),
    "policy": ("lqr",),
    "policy_swing_up": ("ilqr",),
    "mppi": ("lqr", "ilqr"),
}
NAMES = (*LAWS, *OTHERS)
IN_PART = ("mppi", "policy_swing_up")  # the whole suite would take long
# name -> (law, kinds) where the law has other kinds of its own
FOR_OTHER_KINDS = {"policy_swing_up": ("policy", ("swing_up",))}
WORSE = "▼"
PARTS = re.compile("; | … ")  # of a cell with several numbers
FILLED = {"width": 120, "subsequent_indent": "  ", "break_on_hyphens": False}
MARK = re.compile(r"(<!-- scores: (\w+) -->\n)(.*?)(<!-- scores end -->)", re.DOTALL)
NONE, OPEN = "–", "not measured"  # the case is not for the law; it is, and nobody has measured it
NOT_MEANT = "not for this kind of law"
OPTIMUM = "21.5°"  # within 2 m, by collocation
WITHIN, WITHIN_ANY = ("S22", "2 m"), ("S31", "2 m")  # the largest tilt within 2 m: known, unknown
PATHS = (("S20", "of the plant"), ("S21", ""))


def main() -> int:
    """0 done, or everything is up to date; 1 something is not."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--check", action="store_true", help="only look")
    parser.add_argument(
        "--take",
        metavar="FILE",
        type=Path,
        nargs="+",
        default=[],
        help="evaluation.json of new results",
    )
    arguments = parser.parse_args()
    new = [evaluation(path, parser.error) for path in arguments.take]
    for found in new:
        print(f"wrote {take(found)}")
    faults = [fault for name in NAMES for fault in stale(name)]
    texts = {ROOT / page: (ROOT / page).read_text(encoding="utf-8") for page in PAGES}
    made = {path: written(text) for path, text in texts.items()}
    if arguments.check:
        faults += [
            f"{path.relative_to(ROOT)}: its tables are not those of the results"
            for path in texts
            if made[path] != texts[path]
        ]
    else:
        for path, text in made.items():
            path.write_text(text, encoding="utf-8")
    print("\n".join(faults), file=sys.stderr if faults else sys.stdout, end="\n" if faults else "")
    return 1 if faults else 0


def evaluation(path: Path, refuse: Callable) -> dict:
    """An evaluation.json; `refuse(sentence)` for what is none."""
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
    """(law, the kinds that it was measured for) of the results of a name."""
    return FOR_OTHER_KINDS.get(name) or (name, select.load(name).KINDS)


def name_of(found: dict) -> str:
    """The name of an evaluation's results."""
    which = found["law"], tuple(found.get("kinds", ()))
    return next((name for name, other in FOR_OTHER_KINDS.items() if other == which), which[0])


def take(new: dict) -> Path:
    """Put the rows of an evaluation in the place of those of the same name; the results' path."""
    name = name_of(new)
    path = SCORES / f"{name}.json"
    old = results(name) or {"rows": [], "provenance": {"sittings": []}}
    sittings = [*old["provenance"]["sittings"], *new["provenance"]["sittings"]]
    rows = {row["row"]: row for row in old["rows"]}
    for row in new["rows"]:
        cases = [{**case, "sitting": len(sittings) - 1} for case in row["cases"]]
        rows |= {row["row"]: {**row, "cases": cases}} if cases else {}
    order = sorted(rows.values(), key=lambda row: int(row["row"].removeprefix("S")))
    told = {
        **new,
        "summary": counted(order),
        "provenance": {**new["provenance"], "sittings": sittings},
        "rows": order,
    }
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(told, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return path


def counted(rows: list) -> str:
    """How many rows hold of those that apply and count for the law."""
    verdicts = [row["verdict"] for row in rows if row["counts"]]
    return f"{verdicts.count('holds')} of {len(verdicts) - verdicts.count(NOT_MEANT)}"


@cache
def meant(name: str) -> dict:
    """(row, label) -> case of the current suite, of all that is for the law."""
    current = suite.read(ROOT / "config" / "suites" / "standard.yaml")
    return {(case.row, case.label): case for case in applying(current, law_of(name)[1])[0]}


def stale(law: str) -> Iterator[str]:
    """What of a law's results is not of the current suite, a sentence each."""
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
    for case in meant(law).values():
        known = measured.pop((case.row, case.label), None)
        asked = json.loads(json.dumps(report.asked(case)))
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
    """The results of a law, {} where there are none."""
    path = SCORES / f"{law}.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


def written(text: str) -> str:
    """A page with its tables made anew."""
    return MARK.sub(lambda found: found[1] + TABLES[found[2]]() + "\n" + found[4], text)


class Cases:
    """The numbers of a law, as a table shows them."""

    def __init__(self, law: str):
        self.law, self.rows = law, {row["row"]: row for row in results(law).get("rows", ())}

    def case(self, row: str, label: str = "") -> dict | None:
        """A case that was measured; None if it was not, or is not for the law."""
        cases = {case["label"]: case for case in self.rows.get(row, {}).get("cases", ())}
        return (
            cases[label]
            if label in cases and cases[label]["verdict"] not in (NOT_MEANT, "broken")
            else None
        )

    def missing(self, row: str, label: str = "") -> str:
        """What stands in the place of a case that was not measured."""
        return OPEN if (row, label) in meant(self.law) else NONE

    def number(
        self, row: str, label: str, value: str, digits: int, unit: str, factor: float = 1.0
    ) -> str:
        """A measured value, rounded."""
        case = self.case(row, label)
        if case is None:
            return self.missing(row, label)
        number = float(case["values"].get(value, math.nan)) * factor
        return f"{number:.{digits}f}{unit}" if math.isfinite(number) else "never"

    def starts(self, row: str, label: str = "") -> str:
        """How many of the starts succeeded."""
        case = self.case(row, label)
        return case["note"].removesuffix(" starts") if case else self.missing(row, label)

    def tilt(self) -> str:
        """The largest tilt at 20 N, with room to roll where the law is meant for that."""
        wide = self.number("S6", "20 N", "tilt", 1, "°")
        return wide if wide != NONE else self.number("S4", "20 N", "tilt", 1, "°")

    def push(self) -> str:
        """The largest push, with room to roll where the law is meant for that."""
        wide = self.number("S7", "room to roll", "push", 2, " N s")
        return wide if wide != NONE else self.number("S7", "standing", "push", 2, " N s")

    def summary(self) -> str:
        """How many rows hold of those that are wholly measured, and how many are not."""
        missing = self.missing_rows()
        left = f" ({len(missing)} not measured)" if missing else ""
        return counted([row for row in self.rows.values() if row["row"] not in missing]) + left

    def missing_rows(self) -> set:
        """The rows of which a case is not measured."""
        known = {(row, case["label"]) for row in self.rows for case in self.rows[row]["cases"]}
        asked = {name for name, case in meant(self.law).items() if not case.of_plant}
        return {row for row, _ in asked - known}


def joined(*parts: str, between: str = "; ") -> str:
    """Several numbers in one cell; a dash for none."""
    return next((word for word in (NONE, OPEN) if word in parts), between.join(parts))


def laws() -> str:
    """Which controller, with what it reaches."""
    lqr, nested, mpc, swing_up, ilqr, tracking = (
        Cases(law) for law in ("lqr", "nested_lqr", "mpc", "swing_up", "ilqr", "tracking")
    )
    known, unknown = (
        c.number(*at, "tilt", 1, "°") for c, at in ((mpc, WITHIN), (lqr, WITHIN_ANY))
    )
    soon, later = (c.number("S19", "", "settled_median", 1, " s") for c in (ilqr, swing_up))
    paths = joined(*(tracking.number(*at, "error_rms", 1, " µm", 1e3) for at in PATHS))
    lines = (
        "discrete Riccati on the stepper's own linearization, in the tangent plane of the sphere",
        f"Riccati level sets: recovers {nested.tilt()} at 20 N, the theoretical limit being 32.7°",
        f"keeps force and travel within their limits (OSQP): {known} within 2 m, "
        f"where `lqr` has {unknown} and the optimum is {OPTIMUM}",
        "energy and L_z shaping, travel barrier, catch by model rollout: "
        f"{swing_up.starts('S14')} hanging starts",
        f"a planned swing-up, followed and caught: at rest after {soon} from hanging "
        f"(`swing_up`: {later})",
        f"circle; figure of eight, exact feed-forward: {paths} RMS",
        "gains of your own; no force",
    )
    names = ("lqr", "nested_lqr", "mpc", "swing_up", "ilqr", "tracking", "pd`, `rest")
    heads = ("`controller`", "what it is")
    return table(heads, [(f"`{name}`", line) for name, line in zip(names, lines)])


@cache
def ranking() -> board.Board:
    """The ranking of the repository's entries."""
    return board.collect(board.folders_of([ENTRIES]), board.suite_of_board())


def leaderboard() -> str:
    """The scores of the README: discipline, rank, entry, score, its parts."""
    heads = ("", "#", "entry", "score", "performance", "robustness", "uptime")
    lines = [
        (title if line.rank == 1 else "", cells[0], f"`{cells[1]}`", *cells[2 : len(heads) - 1])
        for name, title in (("balance", "**balance**"), ("swing_up", "**swing-up**"))
        for line in ranking().lines[name]
        for cells in (board.cells(name, line),)
    ]
    return table(heads, lines)


def board_balance() -> str:
    """The ranking of the laws that balance."""
    return board.markdown(ranking(), "balance")


def board_swing_up() -> str:
    """The ranking of the laws that swing up."""
    return board.markdown(ranking(), "swing_up")


def board_tracking() -> str:
    """The ranking of the laws that follow a path."""
    return board.markdown(ranking(), "tracking")


def values(*parts: tuple, between: str = "; ") -> Callable:
    """The function from a law to a cell of numbers: each part is what `Cases.number` takes."""
    return lambda cases: joined(*(cases.number(*part) for part in parts), between=between)


def starts(row: str, label: str = "") -> Callable:
    """The function from a law to a cell with the starts that succeeded, and when in the median."""
    return lambda cases: joined(
        cases.starts(row, label), cases.number(row, label, "settled_median", 2, " s")
    )


LINES = (  # for each number of a cell, whether more (+) or less (-) is better; head; cell
    ("-", "settled from 10° (S3)", values(("S3", "", "settling_time", 2, " s"))),
    ("+", "largest tilt (S4, S6)", Cases.tilt),
    (
        "++",
        "the same within 2 m; 1 m, which the law knows (S22)",
        values(*(("S22", label, "tilt", 1, "°") for label in ("2 m", "1 m"))),
    ),
    (
        "++",
        "the same, which it need not know (S31)",
        values(*(("S31", label, "tilt", 1, "°") for label in ("2 m", "1 m"))),
    ),
    ("+", "largest push on the tip (S7)", Cases.push),
    ("+", "stands a delay of (S8)", values(("S8", "", "delay_margin", 0, " ms"))),
    (
        "++",
        "the same behind encoders, given the acting; the commanded force (S32)",
        values(
            ("S32", "delay, given the acting force", "delay_margin", 0, " ms"),
            ("S32", "delay, given the commanded force", "delay_margin", 0, " ms"),
        ),
    ),
    (
        "-+",
        "stands its force times (S9)",
        values(("S9", "", "gain_low", 2, ""), ("S9", "", "gain_high", 0, ""), between=" … "),
    ),
    (
        "--",
        "step of 0.5 m: settled; undershoot (S27)",
        values(("S27", "", "settling_time", 2, " s"), ("S27", "", "undershoot", 0, " %")),
    ),
    ("-", "settled with a plant 20 % off, the slowest of six (S28)", lambda cases: slowest(cases)),
    (
        "-",
        "cart rms, encoders of 4096 lines (S11)",
        values(("S11", "standing", "cart_rms", 2, " mm")),
    ),
    (
        "++",
        "tilt with a force 20; 70 ms late (S29)",
        values(*(("S29", label, "tilt", 1, "°") for label in ("20 ms", "70 ms"))),
    ),
    ("+-", "swing-up from hanging: success; median (S14)", starts("S14")),
    ("+-", "from any attitude (S16)", starts("S16")),
    ("-", "from hanging exactly (S19)", values(("S19", "", "settled_median", 2, " s"))),
    (
        "+-",
        "rod mass, rod length, cart mass +20 % at once (S24)",
        starts("S24", "rod mass, rod length, cart mass +20 %"),
    ),
    (
        "+-",
        "five numbers up to ±20 %, encoders, 20 ms late (S24)",
        starts("S24", "each up to ±20 %, encoders, 20 ms late"),
    ),
    (
        "--",
        "circle; eight, rms (S20, S21)",
        values(*((*name, "error_rms", 1, " µm", 1e3) for name in PATHS)),
    ),
    ("+", "region of attraction (S23)", lambda cases: region(cases)),
    ("-", "computing time, part of the period (S30)", lambda cases: computing(cases)),
    ("+", "rows that hold", Cases.summary),
)


def measured() -> str:
    """What was measured, a column for each law."""
    found = [Cases(law) for law in LAWS]
    lines = [(head, *(show(cases) for cases in found)) for _, head, show in LINES]
    return table(("", *(f"`{law}`" for law in LAWS)), lines)


def others() -> str:
    """What was measured of the others, and where each is worse than those it is held against."""
    references = tuple(dict.fromkeys(law for against in OTHERS.values() for law in against))
    cells = {name: [show(Cases(name)) for *_, show in LINES] for name in (*references, *OTHERS)}
    bad = {
        name: [
            any(is_worse(cells[name][i], cells[law][i], signs) for law in against)
            for i, (signs, *_) in enumerate(LINES)
        ]
        for name, against in {law: () for law in references}.items() | OTHERS.items()
    }
    lines = [
        (head, *(cells[name][i] + f" {WORSE}" * bad[name][i] for name in cells))
        for i, (_, head, _) in enumerate(LINES)
        if any(cells[name][i] != NONE for name in cells)
    ]
    words = []
    for name, against in OTHERS.items():
        heads = [line[1] for line, is_bad in zip(LINES, bad[name]) if is_bad]
        rows = re.findall(r"S\d+", " ".join(heads))
        laws = " or ".join(f"`{law}`" for law in against)
        line = f"- `{name}` is worse than {laws} in: {', '.join(rows) or 'nothing'}"
        words.append(textwrap.fill(line, **FILLED))
    return table(("", *(f"`{name}`" for name in cells)), lines) + "\n\n" + "\n".join(words)


def is_worse(cell: str, reference: str, signs: str) -> bool:
    """Whether a number of a cell is worse than that of the reference, as they are rounded."""
    if {cell, reference} & {NONE, OPEN}:
        return False
    pairs = zip(PARTS.split(cell), PARTS.split(reference), signs)
    return any(size(one, sign) < size(other, sign) for one, other, sign in pairs)


def size(part: str, sign: str) -> float:
    """How good a part of a cell is, the number in it times the sign: 3.28 s, 199 of 200, never."""
    if part == "never":
        return -math.inf
    number, _, of = part.partition(" of ")
    ratio = float(number.split()[0].rstrip("°")) / (float(of.split()[0]) or 1.0 if of else 1.0)
    return ratio if sign == "+" else -ratio


def slowest(c: Cases) -> str:
    """The longest settling time with a plant that is not as declared."""
    labels = [label for row, label in meant(c.law) if row == "S28"]
    cells = [c.number("S28", label, "settling_time", 2, " s") for label in labels]
    return OPEN if OPEN in cells else min(cells, key=lambda cell: size(cell, "-"), default=NONE)


def region(c: Cases) -> str:
    """The region of attraction of a law that balances, or swings up."""
    return first(
        c.number("S23", label, "fraction", 2, " %")
        for label in ("standing, 1 ms", "swing-up, 1 ms")
    )


def computing(c: Cases) -> str:
    """The 99th percentile of a command against the period, of the one case that is for the law."""
    return first(
        c.number("S30", label, "of_period", 1, " %") for label in ("standing", "swing-up", "path")
    )


def first(texts: Iterable) -> str:
    """The first that is for the law; a dash if none is."""
    return next((text for text in texts if text != NONE), NONE)


def misses() -> str:
    """What misses its bound, law by law."""
    lines = []
    for law in NAMES:
        cases = Cases(law)
        rows = cases.rows.values()
        missed = [row for row in rows if row["verdict"] in ("misses", "broken")]
        words = [f"{row['row']} ({'; '.join(map(missed_case, bad(row)))})" for row in missed]
        left = cases.missing_rows()
        words += [f"{OPEN}: {', '.join(sorted(left))}"] if left else []
        line = f"- `{law}`: {', '.join(words) or 'none'}"
        lines.append(textwrap.fill(line, **FILLED))
    return "\n".join(lines)


def bad(row: dict) -> list:
    """The cases of a row that do not hold."""
    return [case for case in row["cases"] if case["verdict"] in ("misses", "broken")]


def missed_case(case: dict) -> str:
    """A case with what it misses."""
    words = []
    for text, holds in case["requirements"]:
        name, sign, bound = text.split()
        if not holds:
            value = float(case["values"].get(name, math.nan))
            word = name.replace("_", " ")
            words.append(f"{word} {value:.4g}, bound {'≤' if sign == '<=' else '≥'} {bound}")
    return f"{case['label']}: {', '.join(words) or case['note']}".removeprefix(": ")


def by_force() -> str:
    """The largest tilts over the drive's limit."""
    forces = ("10 N", "20 N", "30 N", "50 N", "100 N")
    lqr, nested = (
        tuple(Cases(law).number(row, force, "tilt", 1, "°") for force in forces)
        for law, row in (("lqr", "S4"), ("nested_lqr", "S6"))
    )
    limit = (
        "full force towards the fall (no law can do more)",
        "17.8°",
        "32.7°",
        "44.0°",
        "58.3°",
        "73.0°",
    )
    return table(
        ("", *forces),
        [("recoverable tilt, `lqr`", *lqr), ("recoverable tilt, `nested_lqr`", *nested), limit],
    )


def by_travel() -> str:
    """The largest tilts over the travel."""
    lqr = tuple(
        Cases("lqr").number(row, label, "tilt", 1, "°")
        for row, label in (("S4", "20 N"), ("S31", "2 m"), ("S31", "1 m"))
    )
    mpc = tuple(
        Cases("mpc").number(row, label, "tilt", 1, "°")
        for row, label in (("S4", "20 N"), ("S22", "2 m"), ("S22", "1 m"))
    )
    optimum = ("optimal control (collocation)", "32.6°", OPTIMUM, "15.3°")
    return table(
        ("20 N", "free travel", "2 m", "1 m"),
        [("recoverable tilt, `lqr`", *lqr), ("recoverable tilt, `mpc`", *mpc), optimum],
    )


def table(heads: tuple, lines: list) -> str:
    """A table of Markdown."""
    rows = [heads, ("---",) * len(heads), *lines]
    return "\n".join(
        "|"
        + "|".join(f" {cell} ".replace("  ", " ") if cell != "---" else cell for cell in row)
        + "|"
        for row in rows
    )


TABLES = {
    table.__name__: table
    for table in (
        *(laws, leaderboard, board_balance, board_swing_up, board_tracking),
        *(measured, others, misses, by_force, by_travel),
    )
}

if __name__ == "__main__":
    sys.exit(main())
