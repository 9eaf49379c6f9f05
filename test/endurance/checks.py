"""Checks, the criteria of a run: numbers with limits."""

from typing import NamedTuple


class Check(NamedTuple):
    """A number and its limit."""

    name: str
    value: float
    limit: float
    unit: str
    least: bool = False  # the value must be at least the limit, not at most

    @property
    def ok(self) -> bool:
        """Whether the value is within its limit; an unknown one, nan, is not."""
        return self.value >= self.limit if self.least else self.value <= self.limit

    @property
    def sentence(self) -> str:
        """The check with its result in words."""
        bound = "at least" if self.least else "at most"
        return (
            f"{'ok  ' if self.ok else 'FAIL'} {self.name}: {self.value:.4g} {self.unit} ({bound} "
            f"{self.limit:g})"
        )


def count_check(name: str, number: float, least: float) -> Check:
    """Return the check that there are as many as there must be."""
    return Check(name, float(number), float(least), "", least=True)
