"""A campaign as a picture: a map over two axes, curves over one, and, where there is no grid,
curves over the drawn numbers.
"""

from pathlib import Path

import numpy as np

from rbdyn_ros.evaluation.campaigns import quantities
from rbdyn_ros.evaluation.campaigns.plan import Axis, CampaignPlan, numbers
from rbdyn_ros.evaluation.campaigns.store import ENDS, MEANING, CampaignResults, interval, titles
from rbdyn_ros.figures import PALETTE, RED, axis_label, canvas, draw_legend, label_axes, save
from rbdyn_ros.types import Array

# greys, which the map does not have, and one that stands out
SHADES = {"left": "#d9d9d9", "late": "#969696", "lost": "#525252", "failed": RED}
BINS, PANELS = 12, 9  # of the drawn numbers


def write(results: CampaignResults, path: Path) -> None:
    """Draw the picture and save it. Raise OSError if it cannot be written."""
    from matplotlib import rc_context
    from matplotlib.rcsetup import cycler

    plan = results.plan
    numeric = [
        axis for axis in plan.axes if not isinstance(axis.values[0], str) and len(axis.values) > 1
    ]
    facets = _facets(plan)
    figure = canvas(6.4, 4.8)
    with rc_context({"axes.prop_cycle": cycler(color=PALETTE)}):  # of the laws, in their order
        if len(numeric) >= 2:
            _maps(figure, results, facets, numeric)
        elif numeric:
            _curves(figure, results, facets, numeric[0].name, np.sort(numeric[0].values))
        else:
            _draw(figure, results, facets)
    _legend(figure)
    save(figure, path, f"Campaign of {plan.size} samples", dpi=130)


def _legend(figure) -> None:
    """Draw a legend of all panels below them."""
    found = [axes.get_legend_handles_labels() for axes in figure.axes]
    shown = {label: handle for pair in found for handle, label in zip(*pair)}
    if shown:
        place = {"loc": "outside lower center", "ncols": 4}
        draw_legend(figure, shown.values(), shown.keys(), **place)


def label(plan: CampaignPlan, name: str) -> str:
    """Return a name in words, with its unit."""
    return axis_label(name, quantities.table(plan.laws)[name].unit)


def _facets(plan: CampaignPlan) -> dict:
    """Return title -> which samples (n,), one for each combination of the words that vary, if any
    do.
    """
    columns = numbers(plan, 0, plan.size)
    called = titles(plan)
    name = dict(plan.fixed).get("controller", "")
    facets = {called.get(name, name): np.ones(plan.size, bool)}
    for name, words in plan.varied.items():
        if isinstance(words[0], str):
            facets = {
                f"{title} {called.get(word, word)}".strip(): where & (columns[name] == word)
                for title, where in facets.items()
                for word in dict.fromkeys(words)
            }
    return {title: where for title, where in facets.items() if where.any()}


def _maps(figure, results: CampaignResults, facets: dict, numeric: list) -> None:
    """Draw maps over the first two axes: the settling time where a cell has one sample, else the
    part that settled.
    """
    x, y = numeric[:2]
    cells = _Cells(results.plan, x, y)
    single = results.plan.size == len(facets) * len(x.values) * len(y.values)
    figure.set_size_inches(1.2 + 5.2 * len(facets), 5.2)
    most = float(np.nanmax(results.settled, initial=0.0)) if single else 1.0
    for i, (title, where) in enumerate(facets.items()):
        axes = figure.add_subplot(1, len(facets), i + 1)
        shown = (
            cells.mean(results.settled, where & results.success)
            if single
            else cells.mean(results.success, where & results.computed)
        )
        image = cells.draw(axes, shown, cmap="viridis", vmin=0.0, vmax=most or 1.0)
        if single:
            _shade(axes, results, where, cells)
        part = results.success[where].sum() / max(1, results.computed[where].sum())
        words = label(results.plan, x.name), label(results.plan, y.name)
        label_axes(axes, *words, f"{title}: {100 * part:.2f} % settle")
    figure.colorbar(
        image, ax=figure.axes, label="settled after [s]" if single else "part that settles [–]"
    )


class _Cells:
    """The cells of two axes."""

    def __init__(self, plan: CampaignPlan, x: Axis, y: Axis):
        columns = numbers(plan, 0, plan.size)
        self._shape, self._edges = (len(x.values), len(y.values)), (_edges(x), _edges(y))
        self._i, self._j = (
            np.unique(columns[axis.name], return_inverse=True)[1] for axis in (x, y)
        )

    def mean(self, values: Array, where: Array) -> Array:
        """Return the mean over the samples `where`, cell by cell; nan where there is none."""
        total, count = np.zeros(self._shape), np.zeros(self._shape)
        np.add.at(total, (self._i[where], self._j[where]), values[where])
        np.add.at(count, (self._i[where], self._j[where]), 1.0)
        with np.errstate(invalid="ignore"):
            return total / count

    def draw(self, axes, cells: Array, **how):
        """Draw the cells as colored rectangles; nan is left out."""
        return axes.pcolormesh(*self._edges, cells.T, **how)


def _edges(axis: Axis) -> Array:
    """Return the edges half way from value to value, and as far beyond the outermost."""
    at = np.sort(axis.values)
    middles = 0.5 * (at[1:] + at[:-1])
    return np.concatenate(([2.0 * at[0] - middles[0]], middles, [2.0 * at[-1] - middles[-1]]))


def _shade(axes, results: CampaignResults, where: Array, cells: _Cells) -> None:
    """Shade the cells of those that did not settle by how they ended."""
    from matplotlib.colors import ListedColormap

    for code, word in enumerate(ENDS[1:], start=1):
        chosen = where & (results.ended == code)
        if chosen.any():
            cells.draw(
                axes, cells.mean(results.ended, chosen), cmap=ListedColormap([SHADES[word]])
            )
            # of the legend
            axes.plot([], [], "s", color=SHADES[word], markersize=8, label=MEANING[word])


def _curves(figure, results: CampaignResults, facets: dict, name: str, values: Array) -> None:
    """Draw the part that settles, with its interval, and the settling times over one axis."""
    figure.set_size_inches(7.0, 6.0)
    above, below = figure.subplots(2, 1, sharex=True)
    column = numbers(results.plan, 0, results.plan.size)[name]
    for title, where in facets.items():
        _curve(
            above, below, results, [where & (column == value) for value in values], values, title
        )
    label_axes(above, "", "part that settles [–]")
    above.set_ylim(-0.02, 1.02)
    label_axes(below, label(results.plan, name), "settled after [s]: median, and 95 % dotted")


def _curve(above, below, results: CampaignResults, groups: list, at: Array, title: str) -> None:
    color = _draw_part(above, results, [group & results.computed for group in groups], at, title)
    settled = [results.settled[group & results.success] for group in groups]
    times = np.array([np.percentile(t, (50, 95)) if len(t) else (np.nan, np.nan) for t in settled])
    below.plot(at, times[:, 0], marker="o", markersize=3, color=color, label=title)
    below.plot(at, times[:, 1], linestyle=":", color=color)


def _draw_part(axes, results: CampaignResults, groups: list, at: Array, title: str) -> str:
    """Draw the part that settles in each group, with its interval; return the color of the
    line.
    """
    good = [int(results.success[group].sum()) for group in groups]
    n = [int(group.sum()) for group in groups]
    ends = np.array([*map(interval, good, n)])
    line = axes.plot(at, np.array(good) / np.maximum(1, n), marker="o", markersize=3, label=title)[
        0
    ]
    axes.fill_between(at, *ends.T, color=line.get_color(), alpha=0.2)
    return line.get_color()


def _draw(figure, results: CampaignResults, facets: dict) -> None:
    """Draw the part that settles over each drawn number, in bins of equally many samples."""
    columns = numbers(results.plan, 0, results.plan.size)
    names = [draw.name for draw in results.plan.drawn if columns[draw.name].dtype.kind == "f"][
        :PANELS
    ]
    wide = min(3, max(1, len(names)))
    tall = max(1, -(-len(names) // wide))
    figure.set_size_inches(1.0 + 3.8 * wide, 0.8 + 3.2 * tall)
    for i, name in enumerate(names):
        axes = figure.add_subplot(tall, wide, i + 1)
        for title, where in facets.items():
            edges = np.quantile(columns[name][where], np.linspace(0.0, 1.0, BINS + 1))
            bins = np.searchsorted(edges, columns[name], side="right").clip(1, BINS)
            groups = [where & (bins == i + 1) & results.computed for i in range(BINS)]
            _draw_part(axes, results, groups, 0.5 * (edges[:-1] + edges[1:]), title)
        label_axes(axes, label(results.plan, name), "part that settles [–]")
        axes.set_ylim(-0.02, 1.02)
    if not names:
        axes = figure.subplots()
        groups = [where & results.computed for where in facets.values()]
        axes.bar(
            list(facets), [results.success[group].sum() / max(1, group.sum()) for group in groups]
        )
        label_axes(axes, "", "part that settles [–]")
        axes.set_ylim(-0.02, 1.02)
