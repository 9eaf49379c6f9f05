"""A episode: how long pendulums run, when one has settled, and one control period of all lanes
together.
"""

import math
from typing import NamedTuple

from rbdyn_ros.campaigns.lanes import (
    ASKED_X,
    ASKED_Y,
    EFFORT,
    END,
    FAR,
    KZ,
    LANES,
    PERIODS,
    SINCE,
    UX,
    UY,
    X,
    Y,
    step,
)  # fmt: skip
from rbdyn_ros.evaluation.metrics import SWING_UP
from rbdyn_ros.kernel import kernel

RUNNING, SETTLED, OUT_OF_BOUNDS, TIMEOUT, DIVERGED = 0.0, 1.0, 2.0, 3.0, 4.0  # END
_INSTANT = 1e-9  # [s]


class Episode(NamedTuple):
    """The numbers of a run.

    Settled: tilt and distance stay within their bounds for `hold`; the time is that when they
    begin to.
    """

    duration: float = 10.0  # [s]
    period: float = 0.002  # [s] of the law
    steps: int = 1  # of the integrator, in a period
    delay: int = 0  # periods by which a force comes late
    # [m] of the cart from the origin; beyond, the run has failed. inf: no end of the rails
    travel: float = 2.0
    tilt: float = SWING_UP.tilt  # [rad]
    radius: float = SWING_UP.distance  # [m] of the cart from the origin
    hold: float = SWING_UP.hold  # [s]


@kernel
def go(episode, a, late, i):
    """Period i: the force that was asked for `delay` periods ago acts for a period; then the
    score.
    """
    _delay(episode.delay + 1, a, late, i)
    for _ in range(episode.steps):
        step(a, episode.period / episode.steps)
    _score(episode, math.cos(episode.tilt), a)


@kernel
def _delay(slots, a, late, i):
    """late (slots, 2, LANES), flat, goes round."""
    write, read = (i % slots) * 2 * LANES, ((i + 1) % slots) * 2 * LANES
    for j in range(LANES):
        late[write + j] = a[ASKED_X + j]
        late[write + LANES + j] = a[ASKED_Y + j]
    for j in range(LANES):
        a[UX + j] = late[read + j]
        a[UY + j] = late[read + LANES + j]


@kernel
def _score(episode, upright, a):
    """Count a period of those that run; whoever settles, leaves, is late or lost has ended.

    `upright` is cos(tilt).
    """
    for j in range(LANES):
        runs = a[END + j] == RUNNING
        periods = a[PERIODS + j] + (1.0 if runs else 0.0)
        t = periods * episode.period
        r = math.sqrt(a[X + j] * a[X + j] + a[Y + j] * a[Y + j])
        rests = a[KZ + j] >= upright and r <= episode.radius
        since = a[SINCE + j] if rests or not runs else t
        end = TIMEOUT if t >= episode.duration - _INSTANT else RUNNING
        end = SETTLED if t - since >= episode.hold - _INSTANT else end
        end = OUT_OF_BOUNDS if r > episode.travel else end
        end = end if r < math.inf else DIVERGED
        work = (a[UX + j] * a[UX + j] + a[UY + j] * a[UY + j]) * episode.period
        a[EFFORT + j] += work if runs else 0.0
        a[FAR + j] = r if runs and r > a[FAR + j] else a[FAR + j]
        a[PERIODS + j], a[SINCE + j] = periods, since
        a[END + j] = end if runs else a[END + j]
