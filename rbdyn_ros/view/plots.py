"""The scrolling plots of the page: values of a `SceneState` over time, with marks for events."""

import math
from collections import deque
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np
import viser
from viser import uplot

from rbdyn_ros.types import Array
from rbdyn_ros.view.source import IMPACT, PUSH, WATCHDOG, Event, SceneState

SPAN, RATE = 10.0, 20.0  # [s] shown; [Hz] at which samples are kept
POINTS = int(SPAN * RATE)
HEIGHT = 118  # [px]
NOTE = (
    "<div style='font-size:0.8em;padding:0 0.9em'>"
    f"The last {SPAN:g} s over simulated time [s]; red lines are events.</div>"
)
_BLUE, _ORANGE, _GREEN, _RED = "#1f62d2", "#e07a2e", "#288c50", "#d62828"
_GREY, _PALE = "#7a828a", "#b4bac0"
MARKED, FAULT = (IMPACT, WATCHDOG, PUSH), "fault: "
_BELOW, _ABOVE = -1.0, 2.0  # of the plot, whose marks reach from 0 to 1


class Curve(NamedTuple):
    """A line of a plot."""

    label: str
    color: str
    value: Callable[[SceneState], float]


class Plot(NamedTuple):
    """Curves that share a plot."""

    title: str
    least: tuple[float, float]  # what the axis shows at least
    curves: tuple[Curve, ...]


PLOTS = (
    Plot("tilt [°]", (0.0, 1.0), (Curve("tilt", _ORANGE, lambda s: math.degrees(s.tilt)),)),
    Plot(
        "cart [m]: x blue, y green, set points grey",
        (-0.1, 0.1),
        (
            Curve("x", _BLUE, lambda s: s.cart[0]),
            Curve("y", _GREEN, lambda s: s.cart[1]),
            Curve("x set", _GREY, lambda s: s.set_point[0] if s.set_point else math.nan),
            Curve("y set", _PALE, lambda s: s.set_point[1] if s.set_point else math.nan),
        ),
    ),
    Plot(
        "force [N]: x blue, y green; commanded grey",
        (-1.0, 1.0),
        (
            Curve("x commanded", _GREY, lambda s: s.commanded[0]),
            Curve("y commanded", _PALE, lambda s: s.commanded[1]),
            Curve("x applied", _BLUE, lambda s: s.applied[0]),
            Curve("y applied", _GREEN, lambda s: s.applied[1]),
        ),
    ),
    Plot("energy [J]", (-1.0, 1.0), (Curve("energy", _ORANGE, lambda s: s.energy),)),
    Plot(
        "energy balance error [µJ]",
        (-1.0, 1.0),
        (Curve("balance", _RED, lambda s: 1e6 * s.balance),),
    ),
    Plot(
        "age of the command [ms]",
        (0.0, 1.0),
        (Curve("age", _BLUE, lambda s: 1e3 * s.command_age),),
    ),
    Plot("real-time factor", (0.0, 1.0), (Curve("factor", _GREEN, lambda s: s.real_time_factor),)),
)


class Plots:
    """The plots of one page, and the samples of the last seconds."""

    def __init__(self, gui: viser.GuiApi):
        self._curves = [curve for plot in PLOTS for curve in plot.curves]
        self._samples: deque[tuple[float, ...]] = deque(maxlen=POINTS)
        self._events: deque[Event] = deque(maxlen=100)
        gui.add_html(NOTE)
        self._handles = [self._add(gui, plot) for plot in PLOTS]

    def sample(self, state: SceneState) -> None:
        """Keep a state, if the last is old enough; clear all where time has gone back."""
        last = self._samples[-1][0] if self._samples else -math.inf
        if state.time < last:
            self._samples.clear()
            self._events.clear()
        elif state.time - last < 1.0 / RATE:
            return
        self._samples.append((state.time, *(float(c.value(state)) for c in self._curves)))

    def mark(self, events: Iterable[Event]) -> None:
        """Keep impacts, trips of the watchdog, pushes and faults, which are marked."""
        self._events.extend(e for e in events if e.kind in MARKED or FAULT in e.sentence)

    def draw(self) -> None:
        """Send the samples of the last seconds; hide a plot of which nothing is known."""
        if len(self._samples) < 2:
            return
        table = np.array(self._samples).T
        newest = table[0, -1]
        table = np.ascontiguousarray(table[:, table[0] >= newest - SPAN])
        marked = _find_marks(table[0], self._events)
        marks, column = np.where(marked, _ABOVE, _BELOW), 1
        for plot, handle in zip(PLOTS, self._handles):
            curves = table[column : column + len(plot.curves)]
            column += len(plot.curves)
            known = curves[np.isfinite(curves)]
            handle.visible = bool(len(known))
            if len(known):
                drawable = (_fill_beginning(curve, float(known[0])) for curve in curves)
                handle.data = (table[0], *drawable, marks)

    def _add(self, gui: viser.GuiApi, plot: Plot) -> Any:
        lines = [
            uplot.Series(label=curve.label, stroke=curve.color, width=1.5, points={"show": False})
            for curve in plot.curves
        ]
        marks = uplot.Series(
            label="event", scale="marks", stroke=_RED, width=1.0, points={"show": False}
        )
        empty = tuple(np.zeros(2) for _ in range(len(lines) + 2))
        return gui.add_uplot(
            empty,
            (uplot.Series(label="t"), *lines, marks),
            title=plot.title,
            scales={
                "x": uplot.Scale(time=False, auto=True),
                "y": uplot.Scale(auto=True, range=_soft_range(*plot.least)),
                "marks": uplot.Scale(auto=False, range=(0.0, 1.0)),
            },
            axes=(uplot.Axis(size=24, space=60), uplot.Axis(size=52, space=26)),
            legend=uplot.Legend(show=False),
            height=HEIGHT,
            padding=(8, 12, 0, 0),
        )


def _soft_range(low: float, high: float) -> Any:
    """Return a range that follows the curves, and is no narrower than [low, high]."""
    end = {"pad": 0.1, "mode": 1}
    return {"min": {**end, "soft": low}, "max": {**end, "soft": high}}


def _fill_beginning(curve: Array, known: float) -> Array:
    """Return a curve (n,) that begins with a number, which the page needs to find its range; an
    unknown one begins with `known`, a point of the same plot, and has no line.
    """
    finite = np.flatnonzero(np.isfinite(curve))
    drawable = curve.copy()
    if len(finite):
        drawable[: finite[0]] = curve[finite[0]]
    else:
        drawable[0] = known
    return drawable


def _find_marks(t: Array, events: Iterable[Event]) -> Array:
    """Return which samples (n,) are the first after an event."""
    found = np.zeros(len(t), bool)
    shown = [event.time for event in events if t[0] <= event.time <= t[-1]]
    found[np.searchsorted(t, shown)] = True
    return found
