"""From random starts to standing: how often, how soon, how far the cart goes."""

import math

import numpy as np

from rbdyn_ros.evaluation import many, starts as kinds
from rbdyn_ros.evaluation.measured import Measured, Value
from rbdyn_ros.settings.parameter import Parameter

QUESTION = "how often, and how soon, does the rod come up from anywhere?"
OVER_ROS = True
SETTINGS = (
    Parameter("start", "hanging", "", "how the starts are drawn", "string", choices=tuple(kinds.KINDS)),
    Parameter("starts", 2000, "", "how many, for a law with a compiled form", "int", low=1),
    Parameter("starts_one_by_one", 200, "", "how many, for a law without, or behind faults or an observer", "int", low=1),
    Parameter("starts_over_ros", 5, "", "how many, over topics", "int", low=1),
    Parameter("duration", 25.0, "s", "within which it must have settled", low=0.0, low_open=True),
)
VALUES = {
    "success": Value("%", "settled in time: tilt at most 2 degrees and cart within 5 cm for a second, never beyond the travel"),
    "settled_median": Value("s", "of those that settled"),
    "settled_p99": Value("s", "99th percentile of those that settled"),
    "settled_max": Value("s", "the last of those that settled"),
    "travel_median": Value("m", "largest distance of the cart, median of all"),
    "travel_max": Value("m", "largest distance of the cart, of those that settled"),
    "effort_median": Value("N^2 s", "integral of the square of the force, of those that settled"),
}


def starts(bench, conditions, settings) -> int:
    """How many starts there are."""
    if settings["start"] == "exact":
        return 1
    if bench.over_ros:
        return settings["starts_over_ros"]
    return settings["starts" if many.compiled(bench, conditions) else "starts_one_by_one"]


def outcomes(bench, conditions, settings, part: range) -> np.ndarray:
    """Rows of `many.COLUMNS`."""
    drawn = kinds.drawn(settings["start"], conditions.seed, part)
    return many.outcomes(bench, conditions, drawn, settings["duration"])


def summary(settings, rows: np.ndarray) -> Measured:
    """The numbers of all starts together."""
    good = np.isfinite(rows[:, 0])
    values = {"success": 100.0 * float(good.mean()), "travel_median": float(np.median(rows[:, 1]))}
    if good.any():
        times = rows[good, 0]
        p50, p99 = np.percentile(times, (50.0, 99.0))
        values |= {"settled_median": float(p50), "settled_p99": float(p99), "settled_max": float(times.max())}
        values |= {"travel_max": float(rows[good, 1].max()), "effort_median": float(np.median(rows[good, 2]))}
    curves = {"settled": [None if math.isnan(t) else round(t, 3) for t in rows[:, 0].tolist()]}
    return Measured(values, curves, f"{int(good.sum())} of {len(rows)} starts")
