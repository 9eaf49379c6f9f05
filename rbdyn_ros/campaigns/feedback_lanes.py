"""u = -K e in all lanes: `lqr`, `pd`."""

from typing import NamedTuple

from rbdyn_ros.campaigns import queue
from rbdyn_ros.campaigns.lane_tilt import tilt
from rbdyn_ros.campaigns.lanes import ASKED_X, ASKED_Y, LANES, state
from rbdyn_ros.control.feedback import unsaturated
from rbdyn_ros.kernel import kernel
from rbdyn_ros.numerics.saturation import saturated


class Feedback(NamedTuple):
    """The law's numbers."""

    gains: tuple  # K (4,)
    force_limit: float  # [N]


@kernel
def run(law, course, starts, plants, outcomes):
    """Every start to its end. starts (n, 11), plants (n, 8), outcomes (n, 6) is written."""
    line = queue.formed(course, starts, plants, outcomes)
    while queue.runs(course, line):
        _command(law, line.lanes)
        queue.advance(course, line)


@kernel
def _command(law, a):
    """The law of `control.feedback`, about the origin."""
    for j in range(LANES):
        k, dk, x, v = state(a, j)
        ux, uy = unsaturated(x, v, tilt(k, dk), (0.0, 0.0), law.gains, law.force_limit)
        a[ASKED_X + j], a[ASKED_Y + j] = saturated(ux, uy, law.force_limit)
