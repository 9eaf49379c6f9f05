"""What the experiments share: the outcome, with tables, and claims that hold or do not; and the
style of all figures: one color and one name for each method, and plain axes.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple, TypeVar

import numpy as np

from rbdyn_ros import figures
from rbdyn_ros.figures import (
    BLACK,
    BLUE,
    BROWN,
    GREEN,
    GREY,
    NAVY,
    ORANGE,
    PINK,
    PURPLE,
    RED,
    SKY,
    YELLOW,
)
from rbdyn_ros.types import Array

T = TypeVar("T")


class Claim(NamedTuple):
    """One sentence of the verdict, with its number."""

    text: str
    value: float
    expected: str  # the range in words, such as "< 1e-10 J" or "1.9 to 2.1"
    holds: bool


class Outcome(NamedTuple):
    """The result of an experiment."""

    tables: dict  # name -> {column: array}; each becomes a CSV file
    claims: tuple  # of Claim


class Animation(NamedTuple):
    """The frames of an animated figure."""

    figure: object  # matplotlib Figure
    update: Callable  # frame number -> None
    frames: int
    rate: float  # [1/s]


def columns(names: str, rows: Iterable[Sequence[Any]]) -> dict[str, Array]:
    """Return a table by its columns' names, words of one string, from its rows."""
    table = list(rows)
    return {name: np.array([row[i] for row in table]) for i, name in enumerate(names.split())}


def word(name: str) -> str:
    """Return the name without spaces, as that of a table or a column."""
    return name.replace(" ", "_")


def where(table: dict[str, Array], **values: object) -> Array:
    """Return which rows of a table have these values in their columns (n,), numbers up to
    round-off.
    """
    return np.all(
        [
            np.isclose(table[name], value) if isinstance(value, float) else table[name] == value
            for name, value in values.items()
        ],
        axis=0,
    )


def names_of(table: dict[str, Array]) -> list[str]:
    """Return the methods of a table, in the order of their first rows."""
    return list(dict.fromkeys(table["method"].tolist()))


def only(table: dict[str, Array], column: str, **values: object) -> float:
    """Return the number of a column in the one row that has these values."""
    return table[column][where(table, **values)].item()


def below(text: str, value: float, bound: float, unit: str = "") -> Claim:
    """Return the claim value < bound."""
    return _claim(text, value, f"< {bound:g} {unit}", value < bound)


def above(text: str, value: float, bound: float, unit: str = "") -> Claim:
    """Return the claim value > bound."""
    return _claim(text, value, f"> {bound:g} {unit}", value > bound)


def between(text: str, value: float, low: float, high: float, unit: str = "") -> Claim:
    """Return the claim low <= value <= high."""
    return _claim(text, value, f"{low:g} to {high:g} {unit}", low <= value <= high)


def _claim(text: str, value: float, expected: str, holds: bool) -> Claim:
    return Claim(text, float(value), expected.rstrip(), bool(holds))


def claims_of(
    measured: Iterable[str], *rows: tuple[str, Callable[[], Claim]]
) -> tuple[Claim, ...]:
    """Return the claims whose methods, the words before each, are all among the measured."""
    known = set(measured)
    return tuple(claim() for methods, claim in rows if known >= set(methods.split()))


def verdict(outcome: Outcome) -> str:
    """Return the claims as lines of text, the failed ones marked."""
    if not outcome.claims:
        return "  nothing is claimed of these methods; the tables have their numbers"
    width = max(len(claim.text) for claim in outcome.claims)
    lines = [
        f"  {'holds' if c.holds else 'FAILS'}  {c.text:{width}}  {c.value:.4g}  (expected "
        f"{c.expected})"
        for c in outcome.claims
    ]
    return "\n".join(lines)


def is_confirmed(outcome: Outcome) -> bool:
    """Return whether every claim holds."""
    return all(claim.holds for claim in outcome.claims)


def track_progress(
    items: Iterable[T], progress: Callable[[float], None], start: float = 0.0, end: float = 1.0
) -> Iterator[T]:
    """Yield the items, one after the other, and report the progress between two fractions after
    each.
    """
    known = list(items)
    for i, item in enumerate(known, 1):
        yield item
        progress(start + (end - start) * i / len(known))


def slope(steps, errors) -> float:
    """Return the order of accuracy: the slope of log error over log step by least squares."""
    return float(np.polyfit(np.log(steps), np.log(errors), 1)[0])


METHOD_COLORS = {
    "truth": BLACK,
    "tqdl": RED,
    "frozen": ORANGE,
    "coupled": YELLOW,
    "rk4": YELLOW,
    "euler_lagrange": PINK,
    "rattle_s2": GREEN,
    "moser_veselov": BLUE,
    "modified": NAVY,
    "quaternion_midpoint": SKY,
    "se3_variational": PURPLE,
    "se3 newton": PINK,
    "se3 riqn": BROWN,
}
METHOD_LABELS = {
    "truth": "exact",
    "tqdl": "notebook's scheme (tqdl)",
    "frozen": "the same without the extra lag",
    "coupled": "the same model, coupled RK4",
    "rk4": "coupled RK4",
    "euler_lagrange": "DELE in pitch and cone",
    "rattle_s2": "RATTLE on the sphere",
    "moser_veselov": "Moser–Veselov",
    "modified": "Moser–Veselov, modified inertia",
    "quaternion_midpoint": "midpoint quaternion",
    "se3_variational": "SE(3) logarithm, constrained",
    "se3 newton": "SE(3) logarithm, Newton",
    "se3 riqn": "SE(3) logarithm, RIQN",
}
FEW = 30.0  # the end of a logarithmic axis over its beginning
BEHIND = {"color": GREY, "linewidth": 3.5, "alpha": 0.35}  # of a line that others are drawn over
# of matplotlib, in all figures; the annotation of `rc_context` lists its names
STYLE: dict[Any, Any] = {"legend.frameon": False, "legend.fontsize": 9.0}


def line_style(key: str, methods: Sequence[str] = ()) -> dict[str, str]:
    """Return color and label of a method, as keywords of `plot`; one of somebody else has its own
    name, and a color that none of the other `methods` has.
    """
    if key in METHOD_COLORS:
        return {"color": METHOD_COLORS[key], "label": METHOD_LABELS[key]}
    taken = {METHOD_COLORS.get(method) for method in methods}
    free = [color for color in figures.PALETTE if color not in taken]
    others = [method for method in methods if method not in METHOD_COLORS]
    return {"color": free[others.index(key) % len(free)], "label": key}


def label_axes(axes, title: str, x: str, y: str) -> None:
    """Set title and axis labels, a light grid, no box."""
    figures.label_axes(axes, x, y, title, size=10.0)
    axes.xaxis.set_minor_formatter(partial(_number, axes))
    axes.tick_params(axis="x", which="minor", pad=5.0)  # its ticks are shorter
    if axes.get_xscale() == "log":
        axes.xaxis.set_major_formatter(partial(_decade, axes))
    axes.yaxis.set_minor_formatter("")  # a logarithmic one would crowd its numbers


def _number(axes, value: float, _place: int) -> str:
    """Return the number at a minor tick of a logarithmic x axis: 2 and 5 of a decade, where it has
    so few decades that those alone do not number it.
    """
    return f"{value:g}" if _has_few_decades(axes) and f"{value:e}"[0] in "25" else ""


def _decade(axes, value: float, _place: int) -> str:
    """Return a power of ten, as a number where those between them have numbers as well."""
    if _has_few_decades(axes):
        return f"{value:g}"
    return f"$\\mathdefault{{10^{{{round(np.log10(value))}}}}}$"


def _has_few_decades(axes) -> bool:
    low, high = axes.get_xlim()
    return high < FEW * low


def plot_error(axes, x, error, least: float = 0.0, **line) -> None:
    """Plot |error| on a logarithmic axis from the second row on, as `least` where it is
    smaller.
    """
    axes.semilogy(x[1:], np.maximum(np.abs(error[1:]), least), **line)


def plot_envelope(axes, x, error, parts: int, least: float = 0.0, **line) -> None:
    """Plot the largest |error| in each of so many parts of x, on a logarithmic axis: the envelope
    of what oscillates too fast to be seen; `least` where it is smaller.
    """
    groups = zip(*(np.array_split(values[1:], parts) for values in (np.asarray(x), error)))
    rows = [(at.mean(), max(np.abs(part).max(), least)) for at, part in groups if len(at)]
    axes.semilogy(*np.transpose(rows), **line)


def slope_guide(axes, steps, error: float, order: int) -> None:
    """Draw a thin line of the given order through `error` at the largest step, labeled with its
    order.
    """
    low, high = min(steps), max(steps)
    axes.plot(
        [low, high],
        [error * (low / high) ** order, error],
        color=GREY,
        linewidth=0.8,
        linestyle=":",
    )
    axes.annotate(
        f"{order}",
        (low, error * (low / high) ** order),
        color=GREY,
        fontsize=9,
        ha="right",
        va="center",
    )
