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
MARGIN = 0.625  # [em] of viser's plots, into which that of a heading collapses
WIDTH = 363  # [px] of a plot in the panel
# [px] what a window 800 high leaves for all plots; the highest of one, its frame, the axis of time
ROOM, HIGHEST, FRAME, TIME_AXIS = 462, 118, 11, 24
_BLUE, _ORANGE, _GREEN, _RED = "#2f74e0", "#e07a2e", "#288c50", "#d62828"
_GREY, _PALE = "#7a828a", "#b4bac0"
MARKED, FAULT = (IMPACT, WATCHDOG, PUSH), "fault: "
_BELOW, _ABOVE = -1.0, 2.0  # of the plot, whose marks reach from 0 to 1


class Curve(NamedTuple):
    """A line of a plot."""

    label: str  # a word of the plot's heading, in the curve's color; "": that is enough
    color: str
    value: Callable[[SceneState], float]
    of_second: bool = True  # whether that of a second run is drawn as well


class Plot(NamedTuple):
    """Curves that share a plot."""

    title: str
    least: tuple[float, float]  # what the axis shows at least
    curves: tuple[Curve, ...]


PLOTS = (
    Plot("tilt [°]", (0.0, 1.0), (Curve("", _ORANGE, lambda s: math.degrees(s.tilt)),)),
    Plot(
        "cart [m]",
        (-0.1, 0.1),
        (
            Curve("x", _BLUE, lambda s: s.cart[0]),
            Curve("y", _GREEN, lambda s: s.cart[1]),
            Curve(
                "set point", _GREY, lambda s: s.set_point[0] if s.set_point else math.nan, False
            ),
            Curve("", _PALE, lambda s: s.set_point[1] if s.set_point else math.nan, False),
        ),
    ),
    Plot(
        "force [N]",
        (-1.0, 1.0),
        (
            Curve("commanded", _GREY, lambda s: s.commanded[0], False),
            Curve("", _PALE, lambda s: s.commanded[1], False),
            Curve("x", _BLUE, lambda s: s.applied[0]),
            Curve("y", _GREEN, lambda s: s.applied[1]),
        ),
    ),
    Plot("energy [J]", (-1.0, 1.0), (Curve("", _ORANGE, lambda s: s.energy),)),
    Plot(
        "energy balance error [µJ]",
        (-1.0, 1.0),
        (Curve("", _RED, lambda s: 1e6 * s.balance),),
    ),
    Plot(
        "age of the command [ms]",
        (0.0, 1.0),
        (Curve("", _BLUE, lambda s: 1e3 * s.command_age, False),),
    ),
    Plot(
        "real-time factor [–]",
        (0.0, 1.0),
        (Curve("", _GREEN, lambda s: s.real_time_factor, False),),
    ),
)


class Plots:
    """The plots of one page, and the samples of the last seconds."""

    def __init__(self, gui: viser.GuiApi, has_second: bool = False, room: int = ROOM):
        """Add the plots, in `room` [px]; `has_second` adds the curves of a second run, dashed."""
        self._has_second, self._room = has_second, room
        self._samples: deque[tuple[float, ...]] = deque(maxlen=POINTS)
        self._events: deque[Event] = deque(maxlen=100)
        self._shown: tuple[bool, ...] = ()  # of each plot, whether it is
        self._headings, self._handles = [], []
        for plot in PLOTS:
            self._headings.append(gui.add_html(self._heading(plot)))
            self._handles.append(self._add(gui, plot))

    def sample(self, state: SceneState, second: SceneState | None = None) -> None:
        """Keep a state, and that of a second run at the same time, if the last is old enough;
        clear all where time has gone back.
        """
        last = self._samples[-1][0] if self._samples else -math.inf
        if state.time < last:
            self._samples.clear()
            self._events.clear()
        elif state.time - last < 1.0 / RATE:
            return
        values = (
            float(curve.value(shown)) if shown else math.nan
            for plot in PLOTS
            for curve, shown in self._drawn(plot, state, second)
        )
        self._samples.append((state.time, *values))

    def mark(self, events: Iterable[Event]) -> None:
        """Keep impacts, trips of the watchdog, pushes and faults, which are marked."""
        self._events.extend(e for e in events if e.kind in MARKED or FAULT in e.sentence)

    def draw(self) -> None:
        """Send the samples of the last seconds; a plot of which nothing is known leaves its place
        to the others.
        """
        if len(self._samples) < 2:
            return
        table = np.array(self._samples).T
        newest = table[0, -1]
        table = np.ascontiguousarray(table[:, table[0] >= newest - SPAN])
        marked = _find_marks(table[0], self._events)
        marks, column = np.where(marked, _ABOVE, _BELOW), 1
        shown = []
        for plot, handle in zip(PLOTS, self._handles):
            count = len(self._drawn(plot, None, None))
            curves = table[column : column + count]
            column += count
            known = curves[np.isfinite(curves)]
            shown.append(bool(len(known)) or plot is PLOTS[-1])  # which has the axis of time
            if shown[-1]:
                first = float(known[0]) if len(known) else 0.0
                drawable = (_fill_beginning(curve, first) for curve in curves)
                handle.data = (table[0], *drawable, marks)
        self._share_room(tuple(shown))

    def _share_room(self, shown: tuple[bool, ...]) -> None:
        """Show these plots, as high as they fit together."""
        if shown == self._shown:
            return
        self._shown = shown
        height = min(HIGHEST, (self._room - TIME_AXIS) // sum(shown) - FRAME)
        for plot, heading, handle, is_shown in zip(PLOTS, self._headings, self._handles, shown):
            heading.visible = handle.visible = is_shown
            # by its aspect, so that a plot that is enlarged is higher as well
            handle.aspect = WIDTH / (height + TIME_AXIS * (plot is PLOTS[-1]))

    def _drawn(self, plot: Plot, first: Any, second: Any) -> list[tuple[Curve, Any]]:
        """Return the curves of a plot, each with what it is drawn of."""
        own = [(curve, first) for curve in plot.curves]
        return own + [(c, second) for c in plot.curves if c.of_second and self._has_second]

    def _heading(self, plot: Plot) -> str:
        """Return the name of a plot and of its curves, over its upper edge, where it takes no
        room.
        """
        words = [f"<b>{plot.title}</b>"]
        named = [curve for curve in plot.curves if curve.label]
        named.sort(key=lambda curve: not curve.of_second)
        words += [f"<span style='color:{curve.color}'>{curve.label}</span>" for curve in named]
        if plot is PLOTS[0]:
            words.append(f"the last {SPAN:g} s{'; second run dashed' * self._has_second}")
        return (
            f"<div style='position:relative;height:0;margin-top:{MARGIN}em;z-index:1;"
            "pointer-events:none'>"
            "<span style='position:absolute;left:6.6em;top:0.45em;font-size:0.75em;"
            f"white-space:nowrap'>{' &nbsp;'.join(words)}</span></div>"
        )

    def _add(self, gui: viser.GuiApi, plot: Plot) -> Any:
        lines = [
            uplot.Series(
                label=curve.label or plot.title,
                stroke=curve.color,
                width=1.5,
                points={"show": False},
                dash=(6.0, 4.0) if of_second else (),
            )
            for curve, of_second in self._drawn(plot, False, True)
        ]
        marks = uplot.Series(
            label="event", scale="marks", stroke=_RED, width=1.0, points={"show": False}
        )
        has_time = plot is PLOTS[-1]
        time = uplot.Axis(size=TIME_AXIS if has_time else 0, space=60, show=has_time)
        empty = tuple(np.zeros(2) for _ in range(len(lines) + 2))
        return gui.add_uplot(
            empty,
            (uplot.Series(label="t"), *lines, marks),
            scales={
                "x": uplot.Scale(time=False, auto=True),
                "y": uplot.Scale(auto=True, range=_soft_range(*plot.least)),
                "marks": uplot.Scale(auto=False, range=(0.0, 1.0)),
            },
            axes=(time, uplot.Axis(size=62, space=9)),
            legend=uplot.Legend(show=False),
            aspect=WIDTH / HIGHEST,
            padding=(16, 12, 4, 0),
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
