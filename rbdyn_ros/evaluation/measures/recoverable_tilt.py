"""The largest tilt at rest from which the law brings the rod to stand."""

import math

import numpy as np

from rbdyn_ros.evaluation import metrics
from rbdyn_ros.evaluation.metrics import Metric
from rbdyn_ros.numerics.bracket import Edge, edge
from rbdyn_ros.pendulum import spherical_pendulum


def measure(bench, scenario, settings) -> Metric:
    """Search the largest tilt by bisection for each azimuth, starting near that of the azimuth
    before.
    """
    found: list[Edge] = []
    for azimuth in np.arange(settings["azimuths"]) * (2.0 * math.pi / settings["azimuths"]):

        def can_recover(tilt: float, azimuth=azimuth) -> bool:
            start = spherical_pendulum.upright(math.radians(tilt), azimuth)
            run = bench.run(scenario, start, settings["duration"], stop=metrics.until_rest())
            return metrics.has_recovered(run)

        near = found[-1].holds if found else None
        found.append(edge(can_recover, settings["largest"], settings["tolerance"], near))
    tilts = [one.holds for one in found]
    values = {
        "tilt": min(tilts),
        "spread": max(tilts) - min(tilts),
        "at_limit": float(all(one.at_limit for one in found)),
    }
    note = "by bisection: assumes that all smaller tilts are recovered too"
    return Metric(values, {"tried": found[0].tried, "recovered": found[0].outcomes}, note)
