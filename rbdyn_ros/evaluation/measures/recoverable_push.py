"""The largest push on the tip of a standing rod after which it stands again."""

import math

from rbdyn_ros.evaluation import metrics
from rbdyn_ros.evaluation.metrics import Metric
from rbdyn_ros.numerics.bracket import edge
from rbdyn_ros.pendulum import spherical_pendulum


def measure(bench, scenario, settings) -> Metric:
    """Search the largest impulse by bisection."""
    azimuth, lasting = math.radians(settings["azimuth"]), settings["contact_time"]
    length = bench.params.rod_length

    def can_recover(impulse: float) -> bool:
        push = metrics.push_tip(impulse, azimuth, length, lasting)
        run = bench.run(
            scenario,
            spherical_pendulum.upright(),
            settings["duration"],
            pushes=(push,),
            stop=metrics.until_rest(after=push.duration),
        )
        return metrics.has_recovered(run)

    found = edge(can_recover, settings["largest"], settings["tolerance"])
    note = "by bisection: assumes that all weaker pushes are recovered too"
    return Metric({"push": found.holds}, {"tried": found.tried, "recovered": found.outcomes}, note)
