"""A release of the rod at a tilt: how soon it stands, and at what cost."""

import math

import numpy as np

from rbdyn_ros.evaluation import metrics
from rbdyn_ros.evaluation.metrics import Metric, Value

QUESTION = "how soon does a rod stand that is let go at a tilt, and at what price?"
OVER_ROS = True
SETTINGS = (
    metrics.TILT,
    metrics.AZIMUTH._replace(default=0.0),
    metrics.duration(10.0),
)
VALUES = {
    "settling_time": Value(
        "s", "since when the tilt is at most 0.5 degrees and the cart within 2 cm"
    ),
    "overshoot": Value("deg", "largest tilt to the other side"),
    "travel": Value("m", "largest distance of the cart"),
    "peak_force": Value("N", "largest force"),
    "effort": Value("N^2 s", "integral of the square of the force"),
    "compute_median": Value("ms", "processor time of a command, median"),
    "compute_max": Value("ms", "processor time of a command, largest"),
}


def measure(bench, scenario, settings) -> Metric:
    """Run the law once."""
    azimuth = math.radians(settings["azimuth"])
    start = metrics.start_state(settings)
    run = bench.run(scenario, start, settings["duration"], stop=metrics.until_rest())
    towards = metrics.lean(run) @ (math.cos(azimuth), math.sin(azimuth))
    values = {
        "settling_time": metrics.settling_time(run),
        "overshoot": math.degrees(max(0.0, -towards.min())),
        "travel": float(metrics.distances(run).max()),
        "peak_force": float(np.hypot(*run.force.T).max(initial=0.0)),
        "effort": metrics.effort(run),
        **metrics.computing_times(run),
    }
    return Metric(values, metrics.curves(run), metrics.ending(run))
