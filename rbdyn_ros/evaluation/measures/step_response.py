"""The response to a step of the cart's set point."""

import math

import numpy as np

from rbdyn_ros.evaluation import metrics
from rbdyn_ros.evaluation.metrics import Metric, Value
from rbdyn_ros.mechanics.pendulum import spherical_pendulum
from rbdyn_ros.schema import setting

QUESTION = "how does the cart come to a set point that jumps?"
OVER_ROS = True
SETTINGS = (
    setting(
        "distance",
        0.5,
        "m",
        "Sets the distance of the new set point from the old one.",
        above=0.0,
    ),
    setting("azimuth", 0.0, "deg", "Sets the direction of the new set point."),
    metrics.duration(15.0),
)
VALUES = {
    "settling_time": Value(
        "s", "since when the tilt is at most 0.5 degrees and the cart within 2 cm of the set point"
    ),
    "overshoot": Value("%", "of the distance, beyond the set point"),
    "undershoot": Value("%", "of the distance, first in the wrong direction"),
    "tilt": Value("deg", "largest tilt"),
    "effort": Value("N^2 s", "integral of the square of the force"),
}


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
