"""The outcome in a terminal: a line per row, below it what does not hold, and why."""

import math

from rbdyn_ros.evaluation import measures
from rbdyn_ros.evaluation.criterion import (
    BROKEN,
    HOLDS,
    MISSES,
    NOT_APPLICABLE,
    Criterion,
    row_verdict,
)
from rbdyn_ros.evaluation.suite import Row, Suite

MARKS = {HOLDS: "ok", MISSES: "MISSES", BROKEN: "BROKEN", NOT_APPLICABLE: "-"}


def table(suite: Suite, cases: dict[str, Criterion]) -> str:
    """Every row of the suite with what was measured (case name -> Criterion)."""
    lines = []
    for row in suite.rows:
        found = [cases[case.name] for case in row.cases if case.name in cases]
        lines.append(
            f"{row.name:5} {MARKS[row_verdict(found)] if found else 'open':7} {row.title}"
        )
        lines += [
            f"{'':13} {_line(row, case)}" for case in found if case.verdict != NOT_APPLICABLE
        ]
    return "\n".join(lines)


def summary(suite: Suite, cases: dict[str, Criterion]) -> str:
    """How many rows hold. The rows of the plant are counted apart: no law takes part in them."""
    law, plant = ([row for row in suite.rows if row.of_plant == plant] for plant in (False, True))
    verdicts = _verdicts(law, cases)
    others = verdicts.count(NOT_APPLICABLE)
    if law and others == len(law):
        parts = ["no row is for this kind of law"]
    else:
        parts = [_count(verdicts, len(law)) + f"; {others} are not for this kind of law"]
    parts += [f"the plant's own: {_count(_verdicts(plant, cases), len(plant))}"] if plant else []
    return "; ".join(parts)


def _verdicts(rows: list, cases: dict) -> list:
    found = ([cases[case.name] for case in row.cases if case.name in cases] for row in rows)
    return [row_verdict(known) for known in found if known]


def _count(verdicts: list, rows: int) -> str:
    """How many of those that apply hold, miss, are broken, are open."""
    meant = [verdict for verdict in verdicts if verdict != NOT_APPLICABLE]
    parts = [f"{meant.count(HOLDS)} of {len(meant)} rows hold"]
    parts += [
        f"{meant.count(verdict)} {word}"
        for verdict, word in ((MISSES, "miss"), (BROKEN, "broken"))
        if verdict in meant
    ]
    parts += [f"{rows - len(verdicts)} open"] if len(verdicts) < rows else []
    return ", ".join(parts)


def number(value: float) -> str:
    """Four digits, as a person would write them."""
    if not math.isfinite(value):
        return {math.inf: "never"}.get(value, "-")
    return f"{value:.4g}" if abs(value) < 1e4 else f"{value:.3e}"


def with_unit(measure: str, name: str, value: float) -> str:
    """A value as it is shown: "3.27 s"; what never came has no unit."""
    unit = measures.load(measure).VALUES[name].unit if math.isfinite(value) else ""
    return f"{number(value)} {unit}".strip()


def _line(row: Row, case: Criterion) -> str:
    label = f"{case.label}: " if case.label else ""
    if case.verdict == BROKEN:
        return f"{label}{case.note}"
    measure = next(c.measure for c in row.cases if c.name == case.name)
    shown = [_format_requirement(measure, case, text, holds) for text, holds in case.requirements]
    return (
        label
        + ", ".join(shown)
        + (f"  ({case.note})" if case.note and case.verdict == MISSES else "")
    )


def _format_requirement(measure: str, case: Criterion, text: str, holds: bool) -> str:
    name, sign, bound = text.split()
    value = case.values.get(name, math.nan)
    return f"{name} {with_unit(measure, name, value)}" + (
        "" if holds else f" (must be {sign} {bound})"
    )
