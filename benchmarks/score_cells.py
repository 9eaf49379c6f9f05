"""The cells of the tables about a law, and the comparison of two cells."""

import math
import re
from collections.abc import Callable, Iterable

from score_results import NOT_MEANT, applicable_cases, count_rows, results

WORSE = "▼"
PARTS = re.compile("; | … ")  # of a cell with several numbers
NONE, OPEN = "–", "not measured"  # the case is not for the law; it is, and was not measured
PATHS = (("S20", "of the plant"), ("S21", ""))


class Cases:
    """The results of a law, as a table shows them."""

    def __init__(self, law: str):
        self.law, self.rows = law, {row["row"]: row for row in results(law).get("rows", ())}

    def case(self, row: str, label: str = "") -> dict | None:
        """Return a case that was measured; None if it was not, or is not for the law."""
        cases = {case["label"]: case for case in self.rows.get(row, {}).get("cases", ())}
        return (
            cases[label]
            if label in cases and cases[label]["verdict"] not in (NOT_MEANT, "broken")
            else None
        )

    def missing(self, row: str, label: str = "") -> str:
        """Return the cell of a case that was not measured."""
        return OPEN if (row, label) in applicable_cases(self.law) else NONE

    def number(
        self, row: str, label: str, value: str, digits: int, unit: str, factor: float = 1.0
    ) -> str:
        """Return a measured value, rounded."""
        case = self.case(row, label)
        if case is None:
            return self.missing(row, label)
        number = float(case["values"].get(value, math.nan)) * factor
        return f"{number:.{digits}f}{unit}" if math.isfinite(number) else "never"

    def starts(self, row: str, label: str = "") -> str:
        """Return how many of the starts succeeded."""
        case = self.case(row, label)
        return case["note"].removesuffix(" starts") if case else self.missing(row, label)

    def tilt(self) -> str:
        """Return the largest tilt at 20 N, with room to roll where the law is meant for that."""
        wide = self.number("S6", "20 N", "tilt", 1, "°")
        return wide if wide != NONE else self.number("S4", "20 N", "tilt", 1, "°")

    def push(self) -> str:
        """Return the largest push, with room to roll where the law is meant for that."""
        wide = self.number("S7", "room to roll", "push", 2, " N s")
        return wide if wide != NONE else self.number("S7", "standing", "push", 2, " N s")

    def summary(self) -> str:
        """Return how many rows hold of those that are wholly measured, and how many are not."""
        missing = self.missing_rows()
        left = f" ({len(missing)} not measured)" if missing else ""
        return count_rows([row for row in self.rows.values() if row["row"] not in missing]) + left

    def missing_rows(self) -> set:
        """Return the rows of which a case is not measured."""
        known = {(row, case["label"]) for row in self.rows for case in self.rows[row]["cases"]}
        asked = {name for name, case in applicable_cases(self.law).items() if not case.of_plant}
        return {row for row, _ in asked - known}


def join_cells(*parts: str, between: str = "; ") -> str:
    """Return several numbers in one cell; a dash for none."""
    return next((word for word in (NONE, OPEN) if word in parts), between.join(parts))


def values(*parts: tuple, between: str = "; ") -> Callable:
    """Return the function from a law to a cell of numbers: each part is what `Cases.number`
    takes.
    """
    return lambda cases: join_cells(*(cases.number(*part) for part in parts), between=between)


def starts(row: str, label: str = "") -> Callable:
    """Return the function from a law to a cell with the starts that succeeded, and when in the
    median.
    """
    return lambda cases: join_cells(
        cases.starts(row, label), cases.number(row, label, "settled_median", 2, " s")
    )


def is_worse(cell: str, reference: str, signs: str) -> bool:
    """Return whether a number of a cell is worse than that of the reference, as they are
    rounded.
    """
    if {cell, reference} & {NONE, OPEN}:
        return False
    pairs = zip(PARTS.split(cell), PARTS.split(reference), signs)
    return any(size(one, sign) < size(other, sign) for one, other, sign in pairs)


def size(part: str, sign: str) -> float:
    """Return how good a part of a cell is, the number in it times the sign: 3.28 s, 199 of 200,
    never.
    """
    if part == "never":
        return -math.inf
    number, _, of = part.partition(" of ")
    ratio = float(number.split()[0].rstrip("°")) / (float(of.split()[0]) or 1.0 if of else 1.0)
    return ratio if sign == "+" else -ratio


def slowest(c: Cases) -> str:
    """Return the longest settling time with a plant that is not as declared."""
    labels = [label for row, label in applicable_cases(c.law) if row == "S28"]
    cells = [c.number("S28", label, "settling_time", 2, " s") for label in labels]
    return OPEN if OPEN in cells else min(cells, key=lambda cell: size(cell, "-"), default=NONE)


def region(c: Cases) -> str:
    """Return the region of attraction of a law that balances, or swings up."""
    return first(
        c.number("S23", label, "fraction", 2, " %")
        for label in ("standing, 1 ms", "swing-up, 1 ms")
    )


def computing_time(c: Cases) -> str:
    """Return the 99th percentile of a command against the period, of the one case that is for the
    law.
    """
    return first(
        c.number("S30", label, "of_period", 1, " %") for label in ("standing", "swing-up", "path")
    )


def first(texts: Iterable) -> str:
    """Return the first that is for the law; a dash if none is."""
    return next((text for text in texts if text != NONE), NONE)


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
    ("+", "largest delay of the force (S8)", values(("S8", "", "delay_margin", 0, " ms"))),
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
        "stable with its force times (S9)",
        values(("S9", "", "gain_low", 2, ""), ("S9", "", "gain_high", 0, ""), between=" … "),
    ),
    (
        "--",
        "step of 0.5 m: settled; undershoot (S27)",
        values(("S27", "", "settling_time", 2, " s"), ("S27", "", "undershoot", 0, " %")),
    ),
    ("-", "settled with a plant 20 % off, the slowest of six (S28)", slowest),
    (
        "-",
        "cart rms, encoders of 4096 counts (S11)",
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
    ("+", "region of attraction (S23)", region),
    ("-", "computing time, part of the period (S30)", computing_time),
    ("+", "rows that hold", Cases.summary),
)
