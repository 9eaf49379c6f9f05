"""The curves of a row as a picture, whose form depends on what its cases recorded."""

import base64
import math

import numpy as np

from rbdyn_ros import figures
from rbdyn_ros.evaluation import measures
from rbdyn_ros.evaluation.results import Criterion
from rbdyn_ros.evaluation.suite import Row, setting, unit_of
from rbdyn_ros.figures import (
    GREY,
    PALETTE,
    RED,
    axis_label,
    canvas,
    draw_legend,
    label_axes,
    line_looks,
)


def picture(row: Row, cases: list[Criterion]) -> str:
    """Return the SVG of a row as the address of an <img>, or "" where there is nothing to draw."""
    return _address(svg(row, cases))


def svg(row: Row, cases: list[Criterion]) -> bytes:
    """Return the picture of a row as SVG, or b"" where there is nothing to draw."""
    drawn = [case for case in cases if case.curves]
    for key, draw in (
        ("path_x", _draw_paths),
        ("t", _draw_runs),
        ("stands", _draw_variations),
        ("settled", _draw_settling_times),
    ):
        chosen = [
            case for case in drawn if len(case.curves.get(key, ())) > 1
        ]  # one start is no histogram
        if chosen and not row.picture:
            return figures.svg(draw(chosen), row.title)
    measured = {
        case.name: case for case in cases if row.picture and row.picture["y"] in case.values
    }
    return figures.svg(_draw_sweep(row, measured), row.title) if measured else b""


def _draw_runs(cases: list):
    """Draw tilt, cart and force over time."""
    figure = canvas(10.0, 5.2)
    rows = figure.subplots(3, 1, sharex=True)
    for case, look in zip(cases, line_looks(len(cases))):
        c = case.curves
        goal = c.get("goal", (0.0, 0.0))
        cart = np.hypot(np.array(c["x"]) - goal[0], np.array(c["y"]) - goal[1])
        for axes, values in zip(rows, (c["tilt"], cart, c["force"])):
            axes.plot(c["t"], values, linewidth=1.3, label=case.label or None, **look)
    rows[0].axhline(0.5, color=GREY, linewidth=0.8, linestyle=":")
    rows[1].axhline(0.02, color=GREY, linewidth=0.8, linestyle=":")
    for axes, name in zip(rows, ("tilt [°]", "cart from its\nset point [m]", "force [N]")):
        label_axes(axes, "", name)
        axes.set_ylim(bottom=0.0)
    rows[-1].set_xlabel("time [s]; dotted in gray: settled is below", fontsize=9)
    if len(cases) > 1:
        labels = rows[0].get_legend_handles_labels()
        draw_legend(figure, *labels, loc="outside right upper")
    return figure


def _draw_paths(cases: list):
    """Draw the path of the cart and its reference path."""
    figure = canvas(4.6 * len(cases), 4.4)
    for axes, c in _side_by_side(figure, cases):
        axes.plot(c["path_x"], c["path_y"], color=GREY, linewidth=4.0, alpha=0.5, label="the path")
        axes.plot(c["x"], c["y"], color=PALETTE[0], linewidth=1.1, label="the cart")
        axes.set_aspect("equal", adjustable="datalim")
        label_axes(axes, "x [m]", "y [m]")
    draw_legend(figure, *axes.get_legend_handles_labels(), loc="outside lower center", ncols=2)
    return figure


def _draw_settling_times(cases: list):
    """Draw when runs settled: a map over tilt and rate, or a histogram."""
    if isinstance(cases[0].curves["settled"][0], list):
        return _draw_maps(cases)
    figure = canvas(10.0, 3.4)
    axes = figure.subplots()
    times = [[t for t in case.curves["settled"] if t is not None] for case in cases]
    last = math.ceil(max((max(t) for t in times if t), default=1.0))
    bins = np.linspace(0.0, last, 2 * last + 1).tolist()
    for case, t, look in zip(cases, times, line_looks(len(cases))):
        share = np.full(len(t), 100.0 / len(case.curves["settled"]))
        kind = "stepfilled" if len(cases) == 1 else "step"
        axes.hist(t, bins, weights=share, histtype=kind, linewidth=1.4, label=case.label, **look)
    label_axes(axes, "settled after [s]", "starts [%]")
    if len(cases) > 1:
        draw_legend(axes)
    return figure


def _draw_variations(cases: list):
    """Draw at which variations the rod stands, a line of marks for each case."""
    figure = canvas(10.0, 0.7 + 0.4 * len(cases))
    axes = figure.subplots()
    for place, case in enumerate(cases):
        size, stands = (np.array(case.curves[key]) for key in ("variation", "stands"))
        part = size / np.abs(size).max()
        groups = np.arange(len(size)) // len(set(size))  # a line for each number that is varied
        turn = 0.7 * ((groups + 0.5) / (groups[-1] + 1) - 0.5)
        for held, color, mark in ((1.0, PALETTE[2], "o"), (0.0, RED, "x")):
            chosen = stands == held
            axes.plot(part[chosen], place + turn[chosen], mark, color=color, markersize=4)
    axes.set_yticks(range(len(cases)), [case.label for case in cases])
    axes.invert_yaxis()
    label_axes(axes, "variation, part of the largest [–]; o stands, x does not", "")
    return figure


def _draw_maps(cases: list):
    figure = canvas(4.8 * len(cases), 4.2)
    for axes, c in _side_by_side(figure, cases):
        grid = np.array([[math.nan if t is None else t for t in line] for line in c["settled"]])
        extent = (-c["tilt"], c["tilt"], -c["rate"], c["rate"])
        axes.set_facecolor("#e6e2dc")
        image = axes.imshow(
            grid,
            extent=extent,
            origin="lower",
            aspect="auto",
            cmap="viridis_r",
            interpolation="nearest",
            vmin=0.0,
            vmax=float(np.nanmax(grid, initial=0.0)) or 1.0,
        )
        figure.colorbar(image, ax=axes, shrink=0.85).set_label("settled after [s]", fontsize=8)
        label_axes(axes, "initial tilt [°]", "initial rate of the tilt [rad/s]")
        axes.grid(False)
    return figure


def _side_by_side(figure, cases: list):
    """Yield, for each case, its axes, labeled with its name, and its curves."""
    for axes, case in zip(figure.subplots(1, len(cases), squeeze=False)[0], cases):
        axes.set_title(case.label, fontsize=9, loc="left")
        yield axes, case.curves


def _draw_sweep(row: Row, measured: dict):
    """Draw a value of each case over a setting of it, and its required bound."""
    figure = canvas(7.5, 3.6)
    axes, y = figure.subplots(), row.picture["y"]
    cases = sorted(
        (case for case in row.cases if case.name in measured),
        key=lambda case: setting(case, row.picture["x"]),
    )
    x = [setting(case, row.picture["x"]) for case in cases]
    axes.plot(
        x,
        [measured[case.name].values[y] for case in cases],
        "o-",
        color=PALETTE[0],
        label="measured",
    )
    bounds = [
        (at, r.bound) for at, case in zip(x, cases) for r in case.requirements if r.value == y
    ]
    if bounds:
        axes.plot(
            *zip(*bounds), "_", color=RED, markersize=16, markeredgewidth=1.6, label="required"
        )
    unit = measures.MEASURES[cases[0].measure].values[y].unit
    label_axes(
        axes,
        axis_label(row.picture["x"], unit_of(cases[0], row.picture["x"])),
        axis_label(y, unit),
    )
    axes.set_title(row.picture.get("title", row.title), fontsize=10, loc="left")
    axes.set_ylim(0.0, 1.05 * axes.get_ylim()[1])
    draw_legend(axes)
    return figure


def address(figure, title: str) -> str:
    """Return the figure as SVG, as the address of an <img>."""
    return _address(figures.svg(figure, title))


def _address(drawn: bytes) -> str:
    return "data:image/svg+xml;base64," + base64.b64encode(drawn).decode() if drawn else ""
