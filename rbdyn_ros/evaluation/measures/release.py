"""A release of the rod at a tilt: how soon it stands, and at what cost."""

import math

import numpy as np

from rbdyn_ros.evaluation import metrics
from rbdyn_ros.evaluation.metrics import Metric


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
