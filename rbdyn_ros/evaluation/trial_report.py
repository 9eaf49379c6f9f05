"""A balancing trial as observed on the topics, and its report: whether the rod stayed upright, and
how soon it came to rest; a table as text; and the picture, with curves over time on the left and
the paths of tip and cart on the right.
"""

import math
from pathlib import Path
from typing import NamedTuple

import numpy as np

from rbdyn_ros.evaluation import metrics
from rbdyn_ros.evaluation.trial import Trial, axis, longest_gap, tilt
from rbdyn_ros.figures import (
    BLACK,
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    RED,
    canvas,
    draw_legend,
    label_axes,
    save,
)
from rbdyn_ros.plant.statistics import TRIPS
from rbdyn_ros.types import Array

STANDING, LAST = metrics.STANDING.tilt, metrics.STANDING.hold  # [rad], [s] before the end
SETTLED = metrics.TRIAL.tilt  # [rad]
BLINK = 0.2  # [s] without a state, too short to leave `STANDING` and to return


class Verdict(NamedTuple):
    """Whether the rod stayed upright, for the exit code, and the reason."""

    is_upright: bool | None  # None: interrupted
    sentence: str

    def __str__(self) -> str:
        return f"FAILED: {self.sentence}" if self.is_upright is False else self.sentence


class SettlingTime(NamedTuple):
    """The time until the tilt stayed below `SETTLED`."""

    event: str
    time: float  # [s]; nan if it did not


def verdict(trial: Trial) -> Verdict:
    """Return whether the rod stayed upright: its tilt was below `STANDING` in the last second.

    What was not observed is not claimed: where states are missing from the last second there is no
    success, and pushes that came late are named. A trial that the user ended early is neither a
    success nor a failure.
    """
    if trial.failure:
        return Verdict(False, trial.failure)
    if not len(trial.t):
        if trial.interrupted:
            return Verdict(None, "interrupted before the start")
        return Verdict(False, "no state was seen")
    lean, end = tilt(trial.q), trial.duration
    if trial.interrupted:
        angle = math.degrees(lean[-1])
        return Verdict(None, f"interrupted after {trial.t[-1]:.1f} s, the rod at {angle:.1f}°")
    worst = math.degrees(lean[trial.t >= end - LAST].max(initial=0.0))
    if worst >= math.degrees(STANDING):
        why = f"; the controller reported: {trial.remark}" if trial.remark else ""
        return Verdict(
            False,
            f"the rod was not upright: up to {worst:.0f}° in the last second, "
            f"{math.degrees(STANDING):g}° allowed{why}",
        )
    blind = longest_gap(trial, max(0.0, end - LAST), end)
    if blind > BLINK:
        sentence = (
            f"it is not known whether the rod stayed upright: no state in view for {blind:.1f} s "
            "of the last second; the plant ran ahead of the observer"
        )
        return Verdict(False, sentence)
    sentence = f"the rod stayed upright: at most {worst:.2f}° in the last second"
    pushes = len(trial.pushes)
    if late := pushes - len(_observed_pushes(trial)):
        sentence += f"; but {late} of {pushes} pushes were not seen to act"
    return Verdict(True, sentence)


def settling(trial: Trial) -> list[SettlingTime]:
    """Return the `SettlingTime` after the release and after each push."""
    starts = [("release", 0.0)] + [
        (f"push {i}", push.felt) for i, push in enumerate(trial.pushes, 1)
    ]
    ends = [
        min((later for _, later in starts[i:] if not math.isnan(later)), default=math.inf)
        for i in range(1, len(starts) + 1)
    ]
    found, outside = [], tilt(trial.q) > SETTLED
    for (event, start), end in zip(starts, ends):
        chosen = (trial.t >= start) & (trial.t < end)
        since = metrics.inside_since(trial.t[chosen], outside[chosen])
        found.append(SettlingTime(event, since - start if math.isfinite(since) else math.nan))
    return found


def summary(trial: Trial, recorded: str) -> str:
    """Return one line per quantity; the last one says what was recorded. What was not observed is
    a dash.
    """
    lean, force = np.degrees(tilt(trial.q)), np.hypot(*trial.force.T)
    away = np.hypot(*(trial.q[:, :2] - trial.q[:1, :2]).T)
    settled = (f"{event} {_number(time, '.2f')} s" for event, time in settling(trial))
    pushes = [f"{_number(push.felt, '.2f')} s" for push in trial.pushes]
    rows = [
        (f"settled, below {math.degrees(SETTLED):g}°, after", ", ".join(settled)),
        *([("pushes felt at", ", ".join(pushes))] if pushes else []),
        ("largest tilt", f"{_largest(lean, '.1f')}°"),
        ("largest force", f"{_largest(force, '.1f')} N"),
        ("cart, farthest from its start", f"{_largest(away, '.2f')} m"),
        *_timing(trial),
        (
            "energy balance residual",
            f"{_largest(abs(trial.balance), '.1e')} J: change of energy - work of the forces + "
            "dissipation",
        ),
        ("recorded", recorded),
    ]
    width = max(len(name) for name, _ in rows)
    return "\n".join(f"  {name:{width}}  {text}" for name, text in rows)


def _timing(trial: Trial) -> list:
    counts = trial.counts
    trips = " / ".join(
        _number(counts.get(f"round_trip_{part}_ms"), ".2f") for part in ("p50", "p99", "max")
    )
    commands = min(TRIPS, counts.get("accepted", 0.0))
    seconds = trial.t[-1] if len(trial.t) else 0.0
    is_cut = trial.interrupted or trial.failure
    rate = seconds / trial.wall_time if trial.wall_time else math.nan
    return [
        ("round trip p50 / p99 / max", f"{trips} ms, over the last {commands:.0f} commands"),
        (
            "missed deadlines",
            f"{_number(counts.get('missed'), '.0f')} of {_number(counts.get('ticks'), '.0f')}",
        ),
        ("watchdog trips", _number(counts.get("watchdog_trips"), ".0f")),
        (
            "simulated and seen",
            f"{seconds:.2f} s in {trial.wall_time:.2f} s, real time × {_number(rate, '.2f')}",
        ),
        (
            "longest time without a state",
            f"{longest_gap(trial, 0.0, seconds if is_cut else trial.duration):.3f} s",
        ),
    ]


def _largest(values, form: str) -> str:
    return _number(values.max() if len(values) else None, form)


def _number(value: float | None, form: str) -> str:
    return "–" if value is None or math.isnan(value) else format(value, form)


RODS = 24  # drawn along the path
THINNEST = 0.6  # side of the box, relative to its longest


def write(trial: Trial, verdict: Verdict, rod_length: float, title: str, path: Path) -> None:
    """Draw the trial into a .png, .svg or .pdf; `rod_length` [m]. Raise OSError if it cannot be
    written.
    """
    figure = canvas(13.0, 7.5)
    grid = figure.add_gridspec(4, 2, width_ratios=(1.5, 1.0))
    rows = [figure.add_subplot(grid[i, 0]) for i in range(4)]
    _plot_tilt(rows[0], trial)
    _plot_components(rows[1], trial.t, trial.q[:, :2], 1.4)
    _plot_components(rows[2], trial.force_t, trial.force, 1.0)
    _plot_energy(rows[3], trial)
    for axes, label in zip(rows, ("tilt [°]", "cart [m]", "force [N]", "energy [J]")):
        _set_style(axes, trial, label, is_last=axes is rows[-1])
    _name_events(rows[0], trial)
    _plot_space(figure.add_subplot(grid[:, 1], projection="3d"), trial, rod_length)
    figure.suptitle(
        f"{title} – {verdict.sentence}",
        fontsize=13,
        fontweight="bold",
        color=RED if verdict.is_upright is False else BLACK,
    )
    save(figure, path, title, dpi=120)


def _plot_tilt(axes, trial: Trial) -> None:
    axes.axhline(
        math.degrees(STANDING), color=GREY, linewidth=0.8, linestyle="--", label="upright below"
    )
    axes.plot(trial.t, np.degrees(tilt(trial.q)), color=ORANGE, linewidth=1.4)
    axes.set_ylim(bottom=0.0)


def _plot_components(axes, t: Array, vectors: Array, width: float) -> None:
    """Plot both components of vectors (n, 2) over the times t (n,)."""
    for values, name, color in zip(vectors.T, "xy", (BLUE, GREEN)):
        axes.plot(t, values, color=color, linewidth=width, label=name)


def _plot_energy(axes, trial: Trial) -> None:
    axes.plot(trial.energy_t, trial.energy, color=BLUE, linewidth=1.8, label="energy")
    axes.plot(
        trial.energy_t,
        trial.energy - trial.balance,
        color=ORANGE,
        linewidth=1.8,
        linestyle=(0, (4, 4)),
        label="at the start + work since",
    )


def _set_style(axes, trial: Trial, label: str, is_last: bool) -> None:
    label_axes(axes, "time since the release [s]" if is_last else "", label, size=10.0)
    above = {"loc": "lower right", "bbox_to_anchor": (1.0, 1.0), "borderaxespad": 0.0}
    draw_legend(axes, **above, ncols=2, fontsize=9)
    axes.set_xlim(0.0, max(1e-3, trial.t[-1] if len(trial.t) else 0.0))
    axes.tick_params(labelbottom=is_last)
    for push in _observed_pushes(trial):
        axes.axvline(push.felt, color=RED, linewidth=0.9, alpha=0.6)


def _observed_pushes(trial: Trial) -> list:
    """Return the pushes that acted within the duration."""
    return [push for push in trial.pushes if push.felt <= trial.duration]


def _name_events(axes, trial: Trial) -> None:
    for push in _observed_pushes(trial):
        note = axes.annotate(
            f"push {push.force:.1f} N", (push.felt, 1.0), xycoords=("data", "axes fraction"),
            xytext=(4, -2), textcoords="offset points", color=RED, fontsize=9, va="top",
            annotation_clip=True,
        )  # fmt: skip
        note.set_in_layout(False)  # a push just before the end must not squeeze the axes


def _plot_space(axes, trial: Trial, rod_length: float) -> None:
    """Plot the cart's path on the ground, the tip's above it, and the rod at some instants; all at
    one scale.
    """
    axes.set(xlabel="x [m]", ylabel="y [m]")
    axes.set_zlabel("z [m]", labelpad=8)
    axes.tick_params(labelsize=9)
    axes.view_init(elev=24.0, azim=-60.0)
    if not len(trial.t):
        return
    cart = np.column_stack((trial.q[:, :2], np.zeros(len(trial.t))))
    tip = cart + rod_length * axis(trial.q)
    traveled = np.concatenate(([0.0], np.cumsum(np.linalg.norm(np.diff(tip, axis=0), axis=1))))
    for i in np.searchsorted(traveled, np.linspace(0.0, traveled[-1], RODS)):
        axes.plot(*np.stack((cart[i], tip[i])).T, color=GREY, linewidth=0.8, alpha=0.5)
    axes.plot(
        *np.stack((cart[-1], tip[-1])).T,
        color=BLACK,
        linewidth=3.0,
        label="rod at the end",
        solid_capstyle="round",
    )
    axes.plot(*tip.T, color=ORANGE, linewidth=1.4, label="path of the tip")
    axes.plot(*cart.T, color=BLUE, linewidth=1.4, label="path of the cart")
    axes.scatter(*cart[-1], color=BLUE, s=70, marker="s", depthshade=False)
    draw_legend(axes, loc="lower center", bbox_to_anchor=(0.5, 1.0), fontsize=9)
    _fit_box(axes, np.vstack((cart, tip)))


def _fit_box(axes, points) -> None:
    """Fit a box around everything, with equal scales, and not too thin."""
    low, high = points.min(axis=0), points.max(axis=0)
    size = np.maximum(1.15 * (high - low), THINNEST * (high - low).max())
    middle = 0.5 * (low + high)
    for limits, center, width in zip((axes.set_xlim, axes.set_ylim, axes.set_zlim), middle, size):
        limits(center - 0.5 * width, center + 0.5 * width)
    axes.set_box_aspect(size, zoom=0.95)  # its labels have room
    axes.locator_params(axis="x", nbins=3)
    axes.locator_params(axis="y", nbins=3)
