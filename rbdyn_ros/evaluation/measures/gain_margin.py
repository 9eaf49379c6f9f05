"""The gain margins of the loop: the factors on the force at which it becomes unstable, measured
and by theory.
"""

import math

from rbdyn_ros.evaluation import loop_margins
from rbdyn_ros.evaluation.metrics import Metric
from rbdyn_ros.numerics.bracket import edge

_SPAN = math.log(200.0)


def measure(bench, scenario, settings) -> Metric:
    """Search the stable factors by bisection over their logarithm, downwards and upwards."""
    fine = math.log1p(0.01 * settings["tolerance"])

    def limit(way: float) -> float:
        def is_stable(far: float) -> bool:
            return loop_margins.is_stable(bench, scenario, settings, math.exp(way * far))

        return math.exp(way * edge(is_stable, _SPAN, fine).holds)

    values = {"gain_low": limit(-1.0), "gain_high": limit(1.0)}
    theory = loop_margins.of_scenario(bench, scenario)
    return Metric(values | {"theory_low": theory.gain_low, "theory_high": theory.gain_high})
