"""`swing_up` in all lanes: the forces side by side, the question whether a rod can be caught one by one."""

import math

from rbdyn_ros.campaigns import queue
from rbdyn_ros.campaigns.course import RUNNING
from rbdyn_ros.campaigns.lane_tilt import tilt
from rbdyn_ros.campaigns.lanes import ASKED_X, ASKED_Y, CATCH, CAUGHT, END, KZ, LANES, LOOKED, P3, PERIODS, state
from rbdyn_ros.controllers.catching import is_catchable
from rbdyn_ros.controllers.feedback import unsaturated
from rbdyn_ros.controllers.saturation import saturated
from rbdyn_ros.controllers.swing_up import LOOK, RELEASE, WIDEST, swing
from rbdyn_ros.kernel import kernel


@kernel
def run(plan, course, starts, plants, outcomes):
    """Every start to its end. starts (n, 11), plants (n, 8), outcomes (n, 6) is written."""
    line = queue.formed(course, starts, plants, outcomes)
    while queue.runs(course, line):
        _look(plan, course.period, line.lanes)
        _command(plan, line.lanes)
        queue.advance(course, line)


@kernel
def _look(plan, period, a):
    """Who is caught: `controllers.swing_up.decide` without the force."""
    lowest = math.cos(RELEASE)
    for j in range(LANES):
        t = a[PERIODS + j] * period
        if a[CAUGHT + j] > 0.0:
            a[CAUGHT + j] = 1.0 if a[KZ + j] > lowest else 0.0
        elif a[END + j] == RUNNING and t - a[LOOKED + j] >= LOOK - 1e-9:
            a[LOOKED + j] = t
            caught = is_catchable(plan.net, a[P3 + j], state(a, j), (0.0, 0.0), WIDEST)
            a[CAUGHT + j] = 1.0 if caught else 0.0
            if caught and a[CATCH + j] != a[CATCH + j]:
                a[CATCH + j] = t


@kernel
def _command(plan, a):
    """The regulator for a rod that is caught, (K.9) for the others."""
    net = plan.net
    gains = (net.gains[0], net.gains[1], net.gains[2], net.gains[3])
    for j in range(LANES):
        s = state(a, j)
        held = unsaturated(s[2], s[3], tilt(s[0], s[1]), (0.0, 0.0), gains, net.force_limit)
        swung = swing(plan, a[P3 + j], s, (0.0, 0.0))
        caught = a[CAUGHT + j] > 0.0
        ux, uy = saturated(held[0] if caught else swung[0], held[1] if caught else swung[1], net.force_limit)
        a[ASKED_X + j], a[ASKED_Y + j] = ux, uy
