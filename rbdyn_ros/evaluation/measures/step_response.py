"""The response to a step of the cart's set point."""

import math

import numpy as np

from rbdyn_ros.evaluation import metrics
from rbdyn_ros.evaluation.metrics import Metric
from rbdyn_ros.pendulum import spherical_pendulum


def measure(bench, scenario, settings) -> Metric:
    """Run the law once."""
    azimuth, distance = math.radians(settings["azimuth"]), settings["distance"]
    ahead = np.array((math.cos(azimuth), math.sin(azimuth)))
    goal = tuple((distance * ahead).tolist())
    run = bench.run(
        scenario,
        spherical_pendulum.upright(),
        settings["duration"],
        reference=goal,
        stop=metrics.until_rest(goal),
    )
    way = run.q[:, :2] @ ahead / distance
    values = {
        "settling_time": metrics.settling_time(run, goal),
        "overshoot": 100.0 * max(0.0, float(way.max()) - 1.0),
        "undershoot": 100.0 * max(0.0, -float(way.min())),
        "tilt": math.degrees(float(metrics.tilts(run).max())),
        "effort": metrics.effort(run),
    }
    return Metric(values, {**metrics.curves(run), "goal": list(goal)}, metrics.ending(run))
