"""`swing_up` in all lanes: the forces side by side; what it identifies, and whether a rod can be
caught, one by one.
"""

import math

import numpy as np

from rbdyn_ros.campaigns.episode import RUNNING, advance, form_queue, runs
from rbdyn_ros.campaigns.lanes import (
    ASKED_X,
    ASKED_Y,
    CATCH,
    CAUGHT,
    DRAG,
    END,
    GAIN_DTH,
    GAIN_TH,
    GAIN_V,
    GAIN_X,
    HEAVY,
    KZ,
    LANES,
    LENGTH,
    LOOKED,
    MASS,
    P3,
    PERIODS,
    PUSHED_X,
    PUSHED_Y,
    state,
    tilt,
)  # fmt: skip
from rbdyn_ros.control import identification
from rbdyn_ros.control.feedback import linear_force
from rbdyn_ros.control.identification import FACTORS
from rbdyn_ros.control.laws import swing_up
from rbdyn_ros.control.laws.swing_up import (
    ADAPTED,
    COMMANDED,
    LOOK,
    PUSHED,
    RELEASE,
    WIDEST,
    swing,
)
from rbdyn_ros.control.planning.catching import is_catchable
from rbdyn_ros.kernel import kernel
from rbdyn_ros.numerics.saturation import saturate


@kernel
def run(plan, episode, starts, plants, outcomes):
    """Every start to its end. starts (n, 11), plants (n, 8), outcomes (n, 6) is written."""
    line = form_queue(episode, starts, plants, outcomes)
    memory = np.zeros((LANES, swing_up.SIZE))
    while runs(episode, line):
        _look(plan, episode.period, line.lanes, memory)
        _command(plan, episode.period, line.lanes)
        advance(episode, line)


@kernel
def _look(plan, period, a, memory):
    """Who is caught: `control.laws.swing_up.decide` without the force."""
    lowest = math.cos(RELEASE)
    for j in range(LANES):
        t = a[PERIODS + j] * period
        if a[CAUGHT + j] > 0.0:
            a[CAUGHT + j] = 1.0 if a[KZ + j] > lowest else 0.0
        elif a[END + j] == RUNNING and t - a[LOOKED + j] >= LOOK - 1e-9:
            m, s, p3 = memory[j], state(a, j), a[P3 + j]
            if a[LOOKED + j] == -math.inf:  # another start than before
                swing_up.forget(plan, m)
            a[LOOKED + j] = t
            m[COMMANDED], m[COMMANDED + 1] = a[ASKED_X + j], a[ASKED_Y + j]
            m[PUSHED], m[PUSHED + 1] = a[PUSHED_X + j], a[PUSHED_Y + j]
            a[PUSHED_X + j] = a[PUSHED_Y + j] = 0.0
            swing_up.identify(plan, m, t, p3, s)
            for i in range(4):  # LENGTH, MASS, HEAVY, DRAG; GAIN_X, GAIN_V, GAIN_TH, GAIN_DTH
                a[LENGTH + i * LANES + j] = m[FACTORS + i]
                a[GAIN_X + i * LANES + j] = m[ADAPTED + i]
            caught = is_catchable(swing_up.identified_criteria(plan, m), p3, s, (0.0, 0.0), WIDEST)
            a[CAUGHT + j] = 1.0 if caught else 0.0
            if caught and a[CATCH + j] != a[CATCH + j]:
                a[CATCH + j] = t


@kernel
def _command(plan, period, a):
    """The regulator for a rod that is caught, (K.9) for the others."""
    criteria = plan.criteria
    for j in range(LANES):
        s = state(a, j)
        gains = (a[GAIN_X + j], a[GAIN_V + j], a[GAIN_TH + j], a[GAIN_DTH + j])
        system = identification.scaled(
            criteria.system, a[LENGTH + j], a[MASS + j], a[HEAVY + j], a[DRAG + j]
        )
        held = linear_force(s[2], s[3], tilt(s[0], s[1]), (0.0, 0.0), gains, criteria.force_limit)
        swung = swing(system, plan.options, a[P3 + j], s, (0.0, 0.0))
        caught = a[CAUGHT + j] > 0.0
        ux, uy = saturate(
            held[0] if caught else swung[0], held[1] if caught else swung[1], criteria.force_limit
        )
        a[ASKED_X + j], a[ASKED_Y + j] = ux, uy
        a[PUSHED_X + j] += period * ux
        a[PUSHED_Y + j] += period * uy
