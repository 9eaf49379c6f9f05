"""The outcome in a terminal: a line per row, below it what does not hold, and why."""

import math

from rbdyn_ros.evaluation import measures
from rbdyn_ros.evaluation.judged import BROKEN, HOLDS, MISSES, NOT_MEANT, Judged, of_row
from rbdyn_ros.evaluation.suite import Row, Suite

MARKS = {HOLDS: "ok", MISSES: "MISSES", BROKEN: "BROKEN", NOT_MEANT: "-"}


def table(suite: Suite, cases: dict) -> str:
    """Every row of the suite with what was measured (case name -> Judged)."""
    lines = []
    for row in suite.rows:
        found = [cases[case.name] for case in row.cases if case.name in cases]
        lines.append(f"{row.name:5} {MARKS[of_row(found)] if found else 'open':7} {row.title}")
        lines += [f"{'':13} {_line(row, case)}" for case in found if case.verdict != NOT_MEANT]
    return "\n".join(lines)


def summary(suite: Suite, cases: dict) -> str:
    """How many rows hold."""
    rows = [[cases[case.name] for case in row.cases if case.name in cases] for row in suite.rows]
    verdicts = [of_row(found) for found in rows if found]
    meant = [verdict for verdict in verdicts if verdict != NOT_MEANT]
    parts = [f"{meant.count(HOLDS)} of {len(meant)} rows hold"]
    parts += [f"{meant.count(verdict)} {word}" for verdict, word in ((MISSES, "miss"), (BROKEN, "broken")) if verdict in meant]
    parts += [f"{len(rows) - len(verdicts)} open"] if len(verdicts) < len(rows) else []
    return ", ".join(parts) + f"; {len(verdicts) - len(meant)} are not for this kind of law"


def number(value: float) -> str:
    """Four digits, as a person would write them."""
    if not math.isfinite(value):
        return {math.inf: "never"}.get(value, "-")
    return f"{value:.4g}" if abs(value) < 1e4 else f"{value:.3e}"


def with_unit(measure: str, name: str, value: float) -> str:
    """A value as it is shown: "3.27 s"."""
    unit = measures.load(measure).VALUES[name].unit
    return f"{number(value)} {unit}".strip()


def _line(row: Row, case: Judged) -> str:
    label = f"{case.label}: " if case.label else ""
    if case.verdict == BROKEN:
        return f"{label}{case.note}"
    measure = next(c.measure for c in row.cases if c.name == case.name)
    shown = [_required(measure, case, text, holds) for text, holds in case.requirements]
    return label + ", ".join(shown) + (f"  ({case.note})" if case.note and case.verdict == MISSES else "")


def _required(measure: str, case: Judged, text: str, holds: bool) -> str:
    name, sign, bound = text.split()
    value = case.values.get(name, math.nan)
    return f"{name} {with_unit(measure, name, value)}" + ("" if holds else f" (must be {sign} {bound})")
