"""The common style of all figures: one color and one name for each method, and plain axes."""

from typing import Any

import numpy as np

COLORS = {
    "truth": "#222222",
    "tqdl": "#d1495b",
    "frozen": "#e08e79",
    "coupled": "#edae49",
    "rk4": "#edae49",
    "euler_lagrange": "#c2649f",
    "rattle_s2": "#2a9d6f",
    "moser_veselov": "#1f6fb4",
    "modified": "#0b2f5b",
    "quaternion_midpoint": "#58b4d6",
    "se3_variational": "#7a5195",
    "se3 newton": "#7a5195",
    "se3 riqn": "#b07fc7",
}
LABELS = {
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
GREY = "#8a8a8a"
# of matplotlib, in all figures; the annotation of `rc_context` lists its names
STYLE: dict[Any, Any] = {"legend.frameon": False, "legend.fontsize": 9.0}


def line_style(key: str) -> dict[str, str]:
    """Return color and label of a method, as keywords of `plot`."""
    return {"color": COLORS[key], "label": LABELS[key]}


def label_axes(axes, title: str, x: str, y: str) -> None:
    """Set title and axis labels, a light grid, no box."""
    axes.set_title(title, loc="left", fontsize=10.5, fontweight="bold")
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    axes.grid(True, which="major", color="#dddddd", linewidth=0.6)
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(labelsize=9)
    axes.xaxis.set_minor_formatter("")  # logarithmic axes would crowd theirs
    axes.yaxis.set_minor_formatter("")


def plot_error(axes, x, error, least: float = 0.0, **line) -> None:
    """Plot |error| on a logarithmic axis from the second row on, as `least` where it is
    smaller.
    """
    axes.semilogy(x[1:], np.maximum(np.abs(error[1:]), least), **line)


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
