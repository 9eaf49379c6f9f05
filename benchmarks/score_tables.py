"""Write the tables of doc/ about the control laws, made from the results of
`evaluate`.

    python benchmarks/score_tables.py               write every table anew
    python benchmarks/score_tables.py --check       1 if a table or a result is not up to date
    python benchmarks/score_tables.py --take FILE   take over new results, row by row, then write

FILE is the evaluation.json of `python -m rbdyn_ros evaluate --controller LAW --out OUT`; results
are benchmarks/scores/LAW.json, in the same form; the number `sitting` of a case is that of the
sitting of its provenance in which it was measured. The tables of the leaderboard are made from the
entries in benchmarks/leaderboard. A table stands between `<!-- scores: NAME -->` and `<!-- scores
end -->`.
"""

import argparse
import math
import re
import sys
import textwrap
from functools import cache
from pathlib import Path

from score_cells import LINES, NONE, OPEN, PATHS, WORSE, Cases, is_worse, join_cells
from score_results import LAWS, NAMES, OTHERS, ROOT, evaluation, stale, take

from rbdyn_ros.evaluation import board
from rbdyn_ros.evaluation.entry import suite_of_board

ENTRIES = ROOT / "benchmarks" / "leaderboard"
BOARD = suite_of_board(0)
PAGES = ("doc/choosing.md", "doc/evaluation.md", "doc/control.md", "doc/leaderboard.md")
FILLED = {"width": 120, "subsequent_indent": "  ", "break_on_hyphens": False}
MARK = re.compile(r"(<!-- scores: (\w+) -->\n)(.*?)(<!-- scores end -->)", re.DOTALL)
FORCES = "acting force", "commanded force"  # that an observer is given
SENSED = (  # sensors, and the case of the suite
    ("encoders of 4096 lines", ("S11", "standing")),
    ("encoders of 2048 lines", ("S12", "")),
    ("encoder of the cart and an IMU", ("S13", "")),
)
OPTIMUM = "21.5°"  # within 2 m, by collocation
WITHIN, WITHIN_ANY = ("S22", "2 m"), ("S31", "2 m")  # the largest tilt within 2 m: known, unknown


def main() -> int:
    """Write or check the tables; return 0 if that is done or everything is up to date, else 1."""
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
    made = {path: update_tables(text) for path, text in texts.items()}
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


def update_tables(text: str) -> str:
    """Return a page with its tables made anew."""
    return MARK.sub(lambda found: found[1] + TABLES[found[2]]() + "\n" + found[4], text)


def laws() -> str:
    """Return the table of the controllers, with what they reach."""
    lqr, nested, mpc, swing_up, ilqr, tracking = (
        Cases(law) for law in ("lqr", "nested_lqr", "mpc", "swing_up", "ilqr", "tracking")
    )
    known, unknown = (
        c.number(*at, "tilt", 1, "°") for c, at in ((mpc, WITHIN), (lqr, WITHIN_ANY))
    )
    soon, later = (c.number("S19", "", "settled_median", 1, " s") for c in (ilqr, swing_up))
    paths = join_cells(*(tracking.number(*at, "error_rms", 1, " µm", 1e3) for at in PATHS))
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
    """Return the ranking of the repository's entries."""
    return board.collect(board.folders_of([ENTRIES]), BOARD)


def ranking_of(discipline: str) -> str:
    """Return the ranking of a discipline with all its columns."""
    lines = ranking().lines[discipline]
    rows = (board.cells(discipline, line, BOARD) for line in lines)
    quoted = [(rank, f"`{name}`", *values) for rank, name, *values, _ in rows]
    heads = [head for head, _ in board.heads(discipline, BOARD)[:-1]]
    return table(heads, quoted)


def board_balance() -> str:
    """Return the ranking of the laws that balance."""
    return ranking_of("balance")


def board_swing_up() -> str:
    """Return the ranking of the laws that swing up."""
    return ranking_of("swing_up")


def board_tracking() -> str:
    """Return the ranking of the laws that follow a path."""
    return ranking_of("tracking")


def sensors() -> str:
    """Return what laws reach on the true state and behind the sensors of a real cart."""
    found = [(law, Cases(law)) for law in ("lqr", "lqg", "h_infinity")]
    rows = [
        (f"settled from 10°, {what}", lambda c, at=at: c.number(*at, "settling_time", 2, " s"))
        for what, at in (("true state", ("S3", "")), *SENSED)
    ]
    rows += [
        (f"force at rest, {what}", lambda c, at=at: c.number(*at, "force_rms", 2, " N"))
        for what, at in SENSED
    ]
    rows += [
        (f"delay margin, {what}", lambda c, at=at: c.number(*at, "delay_margin", 0, " ms"))
        for what, at in (
            ("true state", ("S8", "")),
            *((f"encoders, given the {u}", ("S32", f"delay, given the {u}")) for u in FORCES),
        )
    ]
    lines = [(head, *(show(cases) for _, cases in found)) for head, show in rows]
    return table(("", *(f"`{law}`" for law, _ in found)), lines)


def measured() -> str:
    """Return the table of measurements, a column for each law."""
    found = [Cases(law) for law in LAWS]
    lines = [(head, *(show(cases) for cases in found)) for _, head, show in LINES]
    return table(("", *(f"`{law}`" for law in LAWS)), lines)


def others() -> str:
    """Return the table of the other laws, and where each is worse than those it is compared
    with.
    """
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
        rows = dict.fromkeys(re.findall(r"S\d+", " ".join(heads)))
        laws = " or ".join(f"`{law}`" for law in against)
        line = f"- `{name}` is worse than {laws} in: {', '.join(rows) or 'nothing'}"
        words.append(textwrap.fill(line, **FILLED))
    return table(("", *(f"`{name}`" for name in cells)), lines) + "\n\n" + "\n".join(words)


def misses() -> str:
    """Return what misses its bound, law by law: of each row the first bound, and how many."""
    lines = []
    for law in NAMES:
        cases = Cases(law)
        found = [
            (f"`{law}`", row["row"], *missed[0], f"{len(missed)}")
            for row in cases.rows.values()
            if (missed := [bound for case in bad(row) for bound in missed_bounds(case)])
        ]
        left = sorted(cases.missing_rows(), key=lambda row: int(row[1:]))
        found += [(f"`{law}`", ", ".join(left), OPEN, "", "", "")] if left else []
        lines += found or [(f"`{law}`", "none", "", "", "", "")]
    return table(("law", "row", "first bound missed", "reached", "bound", "bounds missed"), lines)


def bad(row: dict) -> list:
    """Return the cases of a row that do not hold."""
    return [case for case in row["cases"] if case["verdict"] in ("misses", "broken")]


def missed_bounds(case: dict) -> list:
    """Return what a case misses: the number's name, the number and its bound."""
    found = []
    for text, holds in case["requirements"]:
        name, sign, bound = text.split()
        if not holds:
            value = float(case["values"].get(name, math.nan))
            words = f"{case['label']}: {name.replace('_', ' ')}".removeprefix(": ")
            reached = "never" if math.isinf(value) else f"{value:.4g}"
            found.append((words, reached, f"{'≤' if sign == '<=' else '≥'} {bound}"))
    return found or [(f"{case['label']}: {case['note']}".removeprefix(": "), "", "")]


def by_force() -> str:
    """Return the table of the largest tilts over the drive's limit."""
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
    """Return the table of the largest tilts over the travel."""
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
    """Return a table of Markdown."""
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
        *(laws, sensors, board_balance, board_swing_up, board_tracking),
        *(measured, others, misses, by_force, by_travel),
    )
}

if __name__ == "__main__":
    sys.exit(main())
