"""A block on a slope that sticks, slides, or comes back."""

import numpy as np

from rbdyn_ros.experiments import scenes
from rbdyn_ros.experiments.outcome import (
    BEHIND,
    Outcome,
    below,
    columns,
    label_axes,
    only,
    track_progress,
    where,
)
from rbdyn_ros.experiments.sliding_block import COLORS, simulate
from rbdyn_ros.figures import YELLOW

QUESTION = (
    "On a slope a block sticks, slides, or, pushed uphill, stops and comes back. Which of these "
    "does time-stepping get\n"
    "  exactly, and what does it cost to turn round inside a step?"
)
# slope [deg], mu, v0
CASES = (
    (10.0, 0.3, 1.0),
    (20.0, 0.3, 0.0),
    (20.0, 0.3, 1.0),
    (15.0, 0.2, -1.0),
    (16.69, 0.3, 0.5),
)
NAMES = (
    "slides to a stop",
    "slides off",
    "slides on",
    "uphill, back down",
    "at the friction angle",
)
STEPS = (2e-2, 1e-2, 5e-3, 2e-3)  # [s]
DURATION = 1.0  # [s]


def run(short: bool, progress) -> Outcome:
    """Simulate one second of every case at every step, and a long stick."""
    steps = STEPS[:3] if short else STEPS
    rows, tracks = [], {}
    for i, (degrees, mu, v0) in track_progress(enumerate(CASES), progress, end=0.8):
        params = scenes.Block(mu, np.radians(degrees))
        s, v = scenes.slide(params, v0, DURATION)
        for h in steps:
            track, _ = simulate(params, v0, h, DURATION)
            rows.append((degrees, mu, v0, h, track["s"][-1] - s, track["v"][-1] - v))
        tracks[f"track_{i + 1}"] = track
    stick, _ = simulate(scenes.Block(0.3, np.radians(10.0)), 0.0, 1e-2, 2.0 if short else 10.0)
    progress(1.0)
    tables = {
        "cases": columns("slope_deg mu v0 step way_error speed_error", rows),
        **tracks,
        "stick": stick,
    }
    return Outcome(tables, _claims(tables, steps))


def _claims(tables: dict, steps: tuple) -> tuple:
    cases = tables["cases"]

    def error(case: int, h: float) -> float:
        degrees, mu, v0 = CASES[case]
        return abs(only(cases, "way_error", slope_deg=degrees, mu=mu, v0=v0, step=h))

    def turning(h):
        return 2.0 * h * CASES[3][1] * scenes.GRAVITY * np.cos(np.radians(CASES[3][0])) * DURATION

    return (
        below(
            "sliding, from rest: distance after 1 s, any step",
            max(error(1, h) for h in steps),
            1e-10,
            "m",
        ),
        below("sliding, pushed downhill", max(error(2, h) for h in steps), 1e-10, "m"),
        below(
            "sliding 0.01 deg from the friction angle", max(error(4, h) for h in steps), 1e-10, "m"
        ),
        below("sliding to a stop, at 10 ms", error(0, 1e-2), 1e-4, "m"),
        below("uphill and back, at 10 ms", error(3, 1e-2), 1e-2, "m"),
        below(
            "at any step, over what a step of wrong friction costs, 2 h mu g cos a T",
            max(error(3, h) / turning(h) for h in steps),
            1.0,
        ),
        below("creep while sticking on 10 deg", float(np.ptp(tables["stick"]["s"])), 1e-10, "m"),
    )


def draw(outcome: Outcome, figure) -> None:
    """Draw distances and errors."""
    ways, errors = figure.subplots(1, 2)
    cases = outcome.tables["cases"]
    for i, ((degrees, mu, v0), name, color) in enumerate(zip(CASES, NAMES, (*COLORS, YELLOW))):
        track, params = outcome.tables[f"track_{i + 1}"], scenes.Block(mu, np.radians(degrees))
        ways.plot(
            track["t"],
            [scenes.slide(params, v0, t)[0] for t in track["t"]],
            **BEHIND,
        )
        ways.plot(
            track["t"],
            track["s"],
            color=color,
            linewidth=1.2,
            label=f"{name}: {degrees:g}°, μ = {mu:g}, {v0:g} m/s",
        )
        mine = where(cases, slope_deg=degrees, v0=v0)
        errors.loglog(
            cases["step"][mine],
            np.maximum(np.abs(cases["way_error"][mine]), 1e-16),
            "o-",
            color=color,
            label=name,
        )
    ways.legend()
    errors.legend(loc="center right")
    label_axes(ways, "Downhill (grey: exact)", "time [s]", "distance [m]")
    label_axes(errors, "Error of the distance after 1 s", "step [s]", "error [m]")
