"""The largest push on the tip of a standing rod after which it stands again."""

import math

from rbdyn_ros.evaluation import metrics
from rbdyn_ros.evaluation.metrics import Metric, Value
from rbdyn_ros.mechanics.pendulum import spherical_pendulum
from rbdyn_ros.numerics.bisection import edge
from rbdyn_ros.schema import setting

QUESTION = "after how strong a push on the tip does a standing rod stand again?"
OVER_ROS = True
SETTINGS = (
    setting("azimuth", 0.0, "deg", "Sets the direction of the push."),
    setting("contact_time", 0.01, "s", "Sets how long the push lasts.", above=0.0),
    metrics.deadline(20.0),
    setting(
        "largest",
        4.0,
        "N s",
        "Sets the push at which the search begins.",
        above=0.0,
    ),
    metrics.tolerance(0.005, "N s"),
)
VALUES = {
    "push": Value(
        "N s", "by bisection, which takes for granted that all weaker pushes are recovered"
    ),
}


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
