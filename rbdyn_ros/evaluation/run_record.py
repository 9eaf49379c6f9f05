"""The record of a run of the pendulum, its table and its figure: tilt, cart, force and energy over
time, and the path of the tip, of one run or of several that are laid over each other.
"""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from rbdyn_ros.evaluation.trial import axis, tilt
from rbdyn_ros.figures import (
    BLUE,
    ORANGE,
    canvas,
    draw_legend,
    label_axes,
    line_looks,
    save,
)
from rbdyn_ros.files import write_table
from rbdyn_ros.origin import describe
from rbdyn_ros.types import Array

PICTURES, TABLES = (".png", ".svg", ".pdf"), (".csv", ".npz")
STILL = 1e-6  # [m] below which an axis has not moved
SMALL = 1e-3  # change of the energy, relative to its size, that is drawn without its start
MOST = 40  # runs in one figure, for more looks of lines cannot be told
UNITS = {
    **{"t": "s", "x": "m", "y": "m", "qw": "", "qx": "", "qy": "", "qz": ""},
    **{"vx": "m/s", "vy": "m/s", "wx": "rad/s", "wy": "rad/s", "wz": "rad/s", "E": "J"},
    **{"Lz": "kg m^2/s", "Px": "kg m/s", "Py": "kg m/s", "p3": "kg m^2/s"},
    **{"iterations": "", "residual": "", "Fx": "N", "Fy": "N"},
}


class Run(NamedTuple):
    """The record of a run of the pendulum: a row for each instant, in named arrays."""

    columns: dict[str, Array]  # each (n,), as `simulate --out` writes them
    name: str  # in a legend
    title: str = ""  # law, integrator, plant and seed
    rod_length: float = math.nan  # [m]; nan where it is not known
    message: str = ""  # why the run ended early

    def __repr__(self) -> str:
        """Return the name, the number of rows, the time of the last one, and how the run ended."""
        end = f" until {self.t[-1]:g} s" if len(self.t) else ""
        how = "ok" if self.ok else f"ended early: {self.message}"
        return f"<Run {self.name}: {len(self.t)} rows{end}; {how}>"

    @property
    def ok(self) -> bool:
        """Whether the run reached its planned end."""
        return not self.message

    @property
    def t(self) -> Array:
        """The times (n,) [s]."""
        return self.columns["t"]

    @property
    def q(self) -> Array:
        """The configurations (n, 6): x y of the cart [m], and wxyz of the rod, body to world."""
        return self._stack("x", "y", "qw", "qx", "qy", "qz")

    @property
    def v(self) -> Array:
        """The velocities (n, 5): vx vy of the cart [m/s], and wx wy wz of the rod [rad/s, body];
        nan where a table does not have them.
        """
        return self._stack("vx", "vy", "wx", "wy", "wz")

    @property
    def cart(self) -> Array:
        """The positions of the cart (n, 2) [m]."""
        return self._stack("x", "y")

    @property
    def tilt(self) -> Array:
        """The angle between rod and vertical (n,) [°], from 0 to 180."""
        return np.degrees(tilt(self.q))

    @property
    def tip(self) -> Array:
        """The positions of the rod's tip (n, 3) [m, world]; nan where its length is not known."""
        joint = np.column_stack((self.cart, np.zeros(len(self.t))))
        return joint + self.rod_length * axis(self.q)

    @property
    def force(self) -> Array:
        """The mean force on the cart (n, 2) [N] from a row to the next; nan after the last, and
        without a law.
        """
        return self._stack("Fx", "Fy")

    @property
    def energy(self) -> Array:
        """The energy of cart and rod (n,) [J]; nan where a table does not have it."""
        return self._stack("E")[:, 0]

    def _stack(self, *names: str) -> Array:
        unknown = np.full(len(self.t), math.nan)
        return np.column_stack([self.columns.get(name, unknown) for name in names])

    def to_csv(self, path: str | Path) -> Path:
        """Write the columns to a .csv, or an .npz, and beside it their units and the origin of the
        file; return the path. Raise ValueError for another suffix, OSError if it cannot be
        written.
        """
        if Path(path).suffix.lower() not in TABLES:
            raise ValueError(f"path is {path}; it must end in .csv or .npz")
        write_table(self.columns, path)
        self.describe(path)
        return Path(path)

    def describe(self, table: str | Path) -> None:
        """Write the metadata of a table of these columns beside it. Raise OSError if that cannot
        be done.
        """
        known = {} if math.isnan(self.rod_length) else {"rod.length": self.rod_length}
        units = {name: UNITS.get(name, "") for name in self.columns}
        describe(table, units, self.title, known)

    def plot(self, path: str | Path | None = None):
        """Return a Matplotlib figure of tilt, cart, force, energy and path of the tip; write it to
        a .png, .svg or .pdf where a path is given.

        Raise ValueError for another suffix, OSError if it cannot be written.
        """
        return show((self,), path)


def show(runs: Sequence[Run], path: str | Path | None = None):
    """Return a Matplotlib figure of the runs; write it to a .png, .svg or .pdf where a path is
    given.

    Raise ValueError for another suffix, and for no runs or too many, OSError if it cannot be
    written.
    """
    if path is not None and Path(path).suffix.lower() not in PICTURES:
        raise ValueError(f"path is {path}; it must end in .png, .svg or .pdf")
    figure = draw(runs)
    if path is not None:
        save(figure, path, describe_runs(runs))
    return figure


def name_runs(runs: Sequence[Run], labels: Sequence[str] | None = None) -> list[Run]:
    """Return the runs, named by the labels; without any, those of one name are numbered. Raise
    ValueError for labels that are not as many.
    """
    if labels is not None:
        if len(labels) != len(runs):
            raise ValueError(
                f"--labels has {len(labels)} words; it must have {len(runs)}, one for each run"
            )
        return [run._replace(name=label) for run, label in zip(runs, labels)]
    names = [run.name for run in runs]
    numbered = []
    for i, run in enumerate(runs):
        number = f" ({names[: i + 1].count(run.name)})" if names.count(run.name) > 1 else ""
        numbered.append(run._replace(name=run.name + number))
    return numbered


def describe_runs(runs: Sequence[Run]) -> str:
    """Return the title of a figure of the runs."""
    if len(runs) == 1:
        return runs[0].title or runs[0].name
    return f"{', '.join(run.name for run in runs[:-1])} and {runs[-1].name}"


def draw(runs: Sequence[Run]):
    """Return a figure of the runs: of one its title above, x and y in two colors; of several a
    color for each, with a legend. Raise ValueError for no runs and for too many.
    """
    if not 1 <= len(runs) <= MOST:
        raise ValueError(f"there are {len(runs)} runs; a figure shows 1 to {MOST}")
    for run in runs:
        if not len(run.t):
            raise ValueError(f"the run {run.name} has no rows; a figure needs one")
    has_force = any(np.isfinite(run.force).any() for run in runs)
    has_energy = any(np.isfinite(run.energy).any() for run in runs)
    shown = {"tilt": True, "cart": True, "force": has_force, "energy": has_energy}
    names = [name for name, is_known in shown.items() if is_known]
    figure = canvas(7.2, 0.9 + 1.05 * len(names), dpi=200)  # the width of a page of a journal
    grid = figure.add_gridspec(len(names), 2, width_ratios=(1.6, 1.0))
    rows = [figure.add_subplot(grid[0, 0])]
    rows += [figure.add_subplot(grid[i, 0], sharex=rows[0]) for i in range(1, len(names))]
    panels = dict(zip(names, rows))
    path = figure.add_subplot(grid[:, 1])
    is_change = all(_is_conserved(run.energy) for run in runs)
    for run, look in zip(runs, line_looks(len(runs))):
        _draw_run(panels, run, look, len(runs) == 1, is_change)
        _draw_path(path, run, look)
    _label(panels, path, runs, is_change)
    named = panels["tilt"]  # by runs, or else by components
    if len(runs) == 1:
        figure.suptitle(runs[0].title or runs[0].name, fontsize=8, wrap=True)
        named = panels["cart"]
    handles, labels = named.get_legend_handles_labels()
    if labels:
        place = {"loc": "outside lower center", "ncols": min(4, len(labels))}
        draw_legend(figure, handles, labels, **place)
    return figure


def _is_conserved(energy: Array) -> bool:
    """Return whether the energy (n,) changes so little that its ticks would repeat its start."""
    known = energy[np.isfinite(energy)]
    return not len(known) or bool(np.ptp(known) <= SMALL * np.abs(known).max())


def _moving(values: Array) -> list[int]:
    """Return the components of a motion or force (n, 2) that do not stay zero."""
    return [i for i in (0, 1) if np.nan_to_num(np.abs(values[:, i])).max() > STILL]


def _draw_run(
    panels: dict[str, Any], run: Run, look: dict[str, str], alone: bool, is_change: bool
) -> None:
    """Draw the curves of a run, one row as a dot; a component that stays zero is left out."""
    line: dict[str, Any] = {
        **look,
        "linewidth": 1.3,
        **({"marker": "."} if len(run.t) == 1 else {}),
    }
    panels["tilt"].plot(run.t, run.tilt, label=run.name, **line)
    both = {i for values in (run.cart, run.force) for i in _moving(values)} == {0, 1}
    for name, values in (("cart", run.cart), ("force", run.force)):
        if name not in panels:
            continue
        for i in (0, 1) if both else _moving(values) or [0]:
            own = {"color": (BLUE, ORANGE)[i]} if alone else {"linewidth": (1.4, 0.6)[i]}
            label = {"label": f"along {'xy'[i]}"} if alone and (both or i) else {}
            style = {"drawstyle": "steps-post"} if name == "force" else {}
            panels[name].plot(run.t, values[:, i], **{**line, **own, **label, **style})
    if "energy" in panels:
        panels["energy"].plot(run.t, run.energy - is_change * run.energy[0], **line)


def _draw_path(axes, run: Run, look: dict[str, str]) -> None:
    """Draw the path of the tip from above, from o to x; of the cart where the rod's length is not
    known.
    """
    path = run.cart if math.isnan(run.rod_length) else run.tip[:, :2]
    axes.plot(*path.T, **look, linewidth=1.1)
    for at, mark in ((path[0], "o"), (path[-1], "x")):
        axes.plot(*at, mark, color=look["color"], markersize=5)


def _label(panels: dict[str, Any], path, runs: Sequence[Run], is_change: bool) -> None:
    """Label and limit the axes."""
    has_y = any(1 in _moving(values) for run in runs for values in (run.cart, run.force))
    thin = " (y thin)" if len(runs) > 1 and has_y else ""
    energy = "change of energy" if is_change else "energy"
    units = {"tilt": "tilt [°]", "energy": f"{energy} [J]"}
    units |= {"cart": f"cart{thin} [m]", "force": f"force{thin} [N]"}
    last = [*panels][-1]
    for name, axes in panels.items():
        label_axes(axes, "time [s]" if name == last else "", units[name], size=8.0)
        axes.tick_params(labelbottom=name == last)
        axes.ticklabel_format(axis="y", useOffset=False, scilimits=(-3, 5))
    panels["tilt"].set_ylim(bottom=0.0)
    begin, end = min(run.t[0] for run in runs), max(run.t[-1] for run in runs)
    if begin < end:
        panels["tilt"].set_xlim(begin, end)
    of_tip = not any(math.isnan(run.rod_length) for run in runs)
    what = "Tip " if of_tip else "Tip, or cart where the rod's\nlength is unknown, "
    title = f"{what}from above:{' ' if of_tip else chr(10)}o start, x end"
    label_axes(path, "x [m]", "y [m]", title, size=8.0)
    path.set_aspect("equal", adjustable="datalim")
