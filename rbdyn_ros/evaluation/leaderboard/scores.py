"""The scores of an entry, from the values of its cases.

In each discipline the score is the mean of its parts, each in [0, 1]:

    performance  success (1 - mean tanh(pi c / scale)), over five costs c
    robustness   the mean share of runs that stand, over what is varied
    uptime       the share of the time upright
    accuracy     mean (1 - tanh(pi e / 20 mm)), over the paths, e the rms distance      (tracking)
"""

import math
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from rbdyn_ros.evaluation.suite import Case, Suite

DISCIPLINES = {
    "balance": "Balance",
    "swing_up": "Swing-up",
    "tracking": "Tracking",
}
ACCURATE = 20.0  # [mm]


def _accuracy(values: Mapping[str, float]) -> float:
    error = values.get("error_rms", math.inf)
    return 1.0 - math.tanh(math.pi * error / ACCURATE)


# measure -> the part that it is of, and its share of that from the values of a case
PARTS: dict[str, tuple[str, Callable[[Mapping[str, float]], float]]] = {
    "performance": ("performance", lambda values: values.get("score", 0.0)),
    "robustness": ("robustness", lambda values: values.get("success", 0.0) / 100.0),
    "uptime": ("uptime", lambda values: values.get("uptime", 0.0) / 100.0),
    "tracking": ("accuracy", _accuracy),
}


class Scores(NamedTuple):
    """What an entry reached in a discipline."""

    total: float  # in [0, 1]
    parts: dict[str, float]  # part -> in [0, 1]


def cases_of(suite: Suite, discipline: str) -> list[Case]:
    """The cases of a discipline."""
    return [case for row in suite.rows for case in row.cases if discipline in case.kinds]


def disciplines(suite: Suite, kinds: Iterable[str]) -> list[str]:
    """The disciplines of the suite that are for a law of these kinds."""
    kinds = set(kinds)
    return [name for name in DISCIPLINES if name in kinds and cases_of(suite, name)]


def score(suite: Suite, discipline: str, values: Mapping[str, Mapping[str, float]]) -> Scores:
    """The scores of a discipline; `values` are those of the cases by their names, missing ones
    count 0.
    """
    shares: dict[str, list[float]] = {}
    for case in cases_of(suite, discipline):
        part, share = PARTS[case.measure]
        found = share(values.get(case.name, {}))
        shares.setdefault(part, []).append(found if math.isfinite(found) else 0.0)
    parts = {part: math.fsum(found) / len(found) for part, found in shares.items()}
    return Scores(math.fsum(parts.values()) / len(parts) if parts else 0.0, parts)
