"""How much weaker or stronger the force may be before the loop becomes unstable, measured and by theory."""

import math

from rbdyn_ros.evaluation import course, margins
from rbdyn_ros.evaluation.bisection import edge
from rbdyn_ros.evaluation.measured import Measured, Value
from rbdyn_ros.models import spherical_pendulum
from rbdyn_ros.settings.parameter import Parameter

QUESTION = "how much weaker or stronger may the force be?"
OVER_ROS = False  # the force of a node is not amplified on its way
SETTINGS = (
    Parameter("tilt", 0.01, "deg", "of the rod at the start: small, so that the loop is linear", low=0.0, low_open=True),
    Parameter("duration", 20.0, "s", "of a run", low=0.0, low_open=True),
    Parameter("tolerance", 3.0, "%", "of the bisection", low=0.0, low_open=True),
)
VALUES = {
    "gain_low": Value("", "smallest factor under which the motion decays"),
    "gain_high": Value("", "largest factor under which the motion decays, 200 at most"),
    "theory_low": Value("", "the same of the linear loop, from the derivative of the law"),
    "theory_high": Value("", "the same of the linear loop, from the derivative of the law"),
}
_SPAN = math.log(200.0)


def measure(bench, conditions, settings) -> Measured:
    """Bisection over the logarithm of the factor, downwards and upwards."""
    start, fine = spherical_pendulum.upright(math.radians(settings["tilt"])), math.log1p(0.01 * settings["tolerance"])

    def stands(gain: float) -> bool:
        return course.decays(bench.run(conditions, start, settings["duration"], gain=gain, stop=course.Calm(patient=True)))

    low = math.exp(-edge(lambda depth: stands(math.exp(-depth)), _SPAN, fine).holds)
    high = math.exp(edge(lambda height: stands(math.exp(height)), _SPAN, fine).holds)
    theory = margins.margins(spherical_pendulum.build(bench.params), margins.gains(bench.law(conditions)), conditions.period)
    return Measured({"gain_low": low, "gain_high": high, "theory_low": theory.gain_low, "theory_high": theory.gain_high})
