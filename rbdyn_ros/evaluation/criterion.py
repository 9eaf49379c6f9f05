"""A case with its verdict."""

import math
from typing import Any, NamedTuple

from rbdyn_ros.evaluation.metric import Metric
from rbdyn_ros.evaluation.suite import Case

HOLDS, MISSES, BROKEN, NOT_APPLICABLE = "holds", "misses", "broken", "not for this kind of law"
OPEN = "open"  # of a row of which nothing is measured


class Criterion(NamedTuple):
    """What came out of a case."""

    row: str
    label: str
    verdict: str
    values: dict = {}
    requirements: tuple = ()  # (text, whether it holds)
    note: str = ""
    curves: dict = {}
    key: str = ""  # of the case

    @property
    def name(self) -> str:
        """Row and label."""
        return f"{self.row} {self.label}".strip()


def judge(case: Case, measured: Metric) -> Criterion:
    """Hold what was measured against the requirements."""
    kept = tuple(
        (str(requirement), requirement.holds(measured.values)) for requirement in case.requirements
    )
    verdict = HOLDS if all(holds for _, holds in kept) else MISSES
    values, curves, note = measured
    return Criterion(case.row, case.label, verdict, values, kept, note, curves, case.key)


def mark_broken(case: Case, sentence: str) -> Criterion:
    """A case that could not be measured to its end: it does not hold."""
    return Criterion(case.row, case.label, BROKEN, note=sentence, key=case.key)


def mark_not_applicable(case: Case, why: str) -> Criterion:
    """A case that does not apply."""
    return Criterion(case.row, case.label, NOT_APPLICABLE, note=why, key=case.key)


def row_verdict(cases: list[Criterion]) -> str:
    """The verdict of a row: the worst of the cases that apply; OPEN without any."""
    verdicts = [case.verdict for case in cases] or [OPEN]
    known = (BROKEN, MISSES, HOLDS, NOT_APPLICABLE, OPEN)
    return next(verdict for verdict in known if verdict in verdicts)


def to_json(case: Criterion) -> dict[str, Any]:
    """As JSON has it: numbers that are not finite become words."""
    values = {
        name: value if math.isfinite(value) else str(value) for name, value in case.values.items()
    }
    return {
        **case._asdict(),
        "values": values,
        "requirements": [list(kept) for kept in case.requirements],
    }


def from_json(fields: dict[str, Any]) -> Criterion:
    """The converse of `to_json`. KeyError, TypeError, ValueError for something else."""
    values = {name: float(value) for name, value in fields["values"].items()}
    return Criterion(
        **{
            **fields,
            "values": values,
            "requirements": tuple((text, bool(holds)) for text, holds in fields["requirements"]),
        }
    )
