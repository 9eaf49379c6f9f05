"""The delay margin of the loop: the delay of the force at which it becomes unstable, measured and
by the linear theory.
"""

import math

from rbdyn_ros.evaluation import loop_margins
from rbdyn_ros.evaluation.metrics import Metric
from rbdyn_ros.numerics.bracket import edge


def measure(bench, scenario, settings) -> Metric:
    """Search the largest stable delay by bisection over whole periods."""
    h = scenario.period

    def is_stable(delay: float) -> bool:
        late = scenario._replace(
            faults=scenario.faults._replace(command_delay=round(delay / h) * h)
        )
        return loop_margins.is_stable(bench, late, settings)

    found = edge(is_stable, h * 2 ** math.ceil(math.log2(settings["largest"] / h)), 1.01 * h)
    measured = 1e3 * h * round(found.holds / h)
    prompt = scenario._replace(faults=scenario.faults._replace(command_delay=0.0))
    theory = 1e3 * loop_margins.of_scenario(bench, prompt).delay
    off = max(0.0, abs(measured + 500.0 * h - theory) - 500.0 * h) / theory * 100.0
    return Metric(
        {"delay_margin": measured, "theory": theory, "off_theory": off},
        {"tried": found.tried, "decayed": found.outcomes},
    )
