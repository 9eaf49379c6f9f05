"""What a row asks for: "settling_time <= 3.5"."""

import math
import re
from typing import NamedTuple

_FORM = re.compile(r"\s*([a-z]\w*)\s*(<=|>=)\s*([-+0-9.eE]+)\s*")


class Requirement(NamedTuple):
    """A bound on one value of a measure."""

    value: str  # its name
    upper: bool  # at most, else at least
    bound: float  # in the unit of the value

    def holds(self, values: dict[str, float]) -> bool:
        """Whether the value keeps the bound; one that is missing or not a number does not."""
        measured = values.get(self.value, math.nan)
        return measured <= self.bound if self.upper else measured >= self.bound

    def __str__(self) -> str:
        return f"{self.value} {'<=' if self.upper else '>='} {self.bound:g}"


def parse(text: object, known: tuple[str, ...], where: str) -> Requirement:
    """The requirement that a text means; ValueError, starting with `where`, for another form or a
    value not among `known`.
    """
    form = _FORM.fullmatch(text) if isinstance(text, str) else None
    bound = _number(form[3]) if form else None
    if form is None or bound is None:
        raise ValueError(
            f"{where}: {text!r} is not a requirement; write a value, <= or >=, and a number, "
            f"such as '{known[0]} <= 3.5'"
        )
    if form[1] not in known:
        raise ValueError(f"{where}: {form[1]} is not measured here; known are {', '.join(known)}")
    return Requirement(form[1], form[2] == "<=", bound)


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None
