"""A case with its verdict."""

import math
from typing import Any, NamedTuple

from rbdyn_ros.evaluation.measured import Measured
from rbdyn_ros.evaluation.suite import Case

HOLDS, MISSES, BROKEN, NOT_MEANT = "holds", "misses", "broken", "not for this kind of law"


class Judged(NamedTuple):
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


def judged(case: Case, measured: Measured) -> Judged:
    """Hold what was measured against the requirements."""
    kept = tuple(
        (str(requirement), requirement.holds(measured.values)) for requirement in case.requirements
    )
    verdict = HOLDS if all(holds for _, holds in kept) else MISSES
    return Judged(
        case.row,
        case.label,
        verdict,
        measured.values,
        kept,
        measured.note,
        measured.curves,
        case.key,
    )


def broken(case: Case, sentence: str) -> Judged:
    """A case that could not be measured to its end: it does not hold."""
    return Judged(case.row, case.label, BROKEN, note=sentence, key=case.key)


def not_meant(case: Case, why: str) -> Judged:
    """A case that does not apply."""
    return Judged(case.row, case.label, NOT_MEANT, note=why, key=case.key)


def of_row(cases: list[Judged]) -> str:
    """The verdict of a row: the worst of the cases that apply."""
    verdicts = [case.verdict for case in cases]
    return next((verdict for verdict in (BROKEN, MISSES, HOLDS) if verdict in verdicts), NOT_MEANT)


def plain(case: Judged) -> dict[str, Any]:
    """As JSON has it: numbers that are not finite become words."""
    values = {
        name: value if math.isfinite(value) else str(value) for name, value in case.values.items()
    }
    return {
        **case._asdict(),
        "values": values,
        "requirements": [list(kept) for kept in case.requirements],
    }


def from_plain(fields: dict[str, Any]) -> Judged:
    """The converse of `plain`. KeyError, TypeError, ValueError for something else."""
    values = {name: float(value) for name, value in fields["values"].items()}
    return Judged(
        **{
            **fields,
            "values": values,
            "requirements": tuple((text, bool(holds)) for text, holds in fields["requirements"]),
        }
    )
