"""`nested_lqr` in all lanes: rung by rung, from gentle to aggressive, who may stand on it."""

import math
from typing import NamedTuple

from rbdyn_ros.campaigns import queue
from rbdyn_ros.campaigns.lane_tilt import tilt
from rbdyn_ros.campaigns.lanes import (
    ASKED_X,
    ASKED_Y,
    CHOSEN,
    DTHX,
    DTHY,
    LANES,
    LEVEL,
    THX,
    THY,
    VX,
    VY,
    X,
    Y,
    state,
)  # fmt: skip
from rbdyn_ros.control.feedback import unsaturated
from rbdyn_ros.control.laws.nested_lqr import DOWN
from rbdyn_ros.kernel import inlined, kernel
from rbdyn_ros.numerics.saturation import saturated
from rbdyn_ros.types import Array


class Ladder(NamedTuple):
    """The law's numbers, as `control.laws.nested_lqr` has them."""

    gains: Array  # (n, 4)
    forms: Array  # (n, 4, 4)
    force_limit: float  # [N]


@kernel
def run(ladder, episode, starts, plants, outcomes):
    """Every start to its end. starts (n, 11), plants (n, 8), outcomes (n, 6) is written."""
    line = queue.formed(episode, starts, plants, outcomes)
    while queue.runs(episode, line):
        _choose(ladder, line.lanes)
        _command(ladder, line.lanes)
        queue.advance(episode, line)


@kernel
def _choose(ladder, a):
    """CHOSEN: the most aggressive rung in whose level set the state is; as many as there are
    rungs, if in none.
    """
    rungs = len(ladder.gains)
    for j in range(LANES):
        k, dk, _, _ = state(a, j)
        a[THX + j], a[THY + j], a[DTHX + j], a[DTHY + j] = tilt(k, dk)
        a[CHOSEN + j] = rungs
    for i in range(rungs - 1, -1, -1):
        S = ladder.forms[i]
        for j in range(LANES):
            ex, ey = (
                (a[X + j], a[VX + j], a[THX + j], a[DTHX + j]),
                (a[Y + j], a[VY + j], a[THY + j], a[DTHY + j]),
            )
            value = _form(S, ex) + _form(S, ey)
            a[CHOSEN + j] = i if value <= (DOWN if i < a[LEVEL + j] else 1.0) else a[CHOSEN + j]


@inlined
def _form(S, e):
    """e.S e of a symmetric S (4, 4)."""
    mixed = (
        e[0] * (S[0, 1] * e[1] + S[0, 2] * e[2] + S[0, 3] * e[3])
        + e[1] * (S[1, 2] * e[2] + S[1, 3] * e[3])
        + S[2, 3] * e[2] * e[3]
    )
    return (
        S[0, 0] * e[0] * e[0]
        + S[1, 1] * e[1] * e[1]
        + S[2, 2] * e[2] * e[2]
        + S[3, 3] * e[3] * e[3]
        + 2.0 * mixed
    )


@kernel
def _command(ladder, a):
    """The chosen gain; outside every level set the gentlest, and the reference's pull is cut."""
    last = len(ladder.gains) - 1
    for j in range(LANES):
        inside = a[CHOSEN + j] <= last
        rung = int(a[CHOSEN + j]) if inside else last
        K = ladder.gains[rung]
        gains, pull = (K[0], K[1], K[2], K[3]), math.inf if inside else ladder.force_limit
        th = (a[THX + j], a[THY + j], a[DTHX + j], a[DTHY + j])
        ux, uy = unsaturated(
            (a[X + j], a[Y + j]), (a[VX + j], a[VY + j]), th, (0.0, 0.0), gains, pull
        )
        a[ASKED_X + j], a[ASKED_Y + j] = saturated(ux, uy, ladder.force_limit)
        a[LEVEL + j] = rung
