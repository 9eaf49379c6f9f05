"""The look of all figures: colors, an empty figure, axes with a light grid, legends.

Without a home folder that can be written, Matplotlib keeps its cache in a temporary folder, which
it says in two lines; the pictures are the same, so these lines are left out.
"""

import logging
from typing import Any

PALETTE = (
    "#1f6fb4",
    "#d9732b",
    "#2a9d6f",
    "#7a5195",
    "#c2649f",
    "#8a6d3b",
    "#58b4d6",
    "#edae49",
    "#0b2f5b",
    "#d1495b",
)
BLUE, ORANGE, GREEN, *_ = PALETTE
_LINES = "-", "--", ":", "-."  # of the first ten lines, of the next ten, and so on
GREY, RED = "#8a8a8a", "#c1272d"
logging.getLogger("matplotlib").addFilter(
    lambda record: record.funcName != "_get_config_or_cache_dir"
)


def canvas(width: float, height: float, dpi: float | None = None):
    """Return an empty figure of this size [inch]."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), dpi=dpi, layout="constrained")


def label_axes(axes, x: str, y: str, title: str = "", size: float = 9.0) -> None:
    """Label the axes in letters of this size [points], and draw a light grid and no box."""
    if title:
        axes.set_title(title, loc="left", fontsize=size + 0.5, fontweight="bold")
    axes.set_xlabel(x, fontsize=size)
    axes.set_ylabel(y, fontsize=size)
    axes.grid(True, color="#e2e2e2", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(labelsize=size - 1.0)


def line_looks(count: int) -> list[dict[str, str]]:
    """Return color and style of so many lines in one figure, no two alike up to forty."""
    kinds = [{"color": color, "linestyle": line} for line in _LINES for color in PALETTE]
    return [kinds[i % len(kinds)] for i in range(count)]


def draw_legend(place, *lines, **style: Any) -> None:
    """Draw a legend without a frame into axes or a figure, of their labels or of these `lines`."""
    place.legend(*lines, **{"frameon": False, "fontsize": 8, **style})
