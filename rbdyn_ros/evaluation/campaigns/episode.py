"""An episode: how long pendulums run, when one has settled, and one control period of all lanes
together. Starts wait in a queue for a lane; where a pendulum has ended its outcome is written and
the next one starts.
"""

import math
from typing import NamedTuple

import numpy as np

from rbdyn_ros.evaluation.campaigns.lanes import (  # fmt: skip
    ASKED_X,
    ASKED_Y,
    CATCH,
    CAUGHT,
    EFFORT,
    END,
    FAR,
    KZ,
    LANES,
    LOOKED,
    PERIODS,
    SINCE,
    SIZE,
    START,
    UX,
    UY,
    X,
    Y,
    begin,
    step,
)
from rbdyn_ros.evaluation.metrics import SWING_UP
from rbdyn_ros.kernel import inlined, kernel
from rbdyn_ros.types import Array

RUNNING, SETTLED, OUT_OF_BOUNDS, TIMEOUT, DIVERGED = 0.0, 1.0, 2.0, 3.0, 4.0  # END
_INSTANT = 1e-9  # [s]


class Episode(NamedTuple):
    """The numbers of a run.

    A pendulum has settled when tilt and distance stay within their bounds for `hold`; the time is
    the beginning of that.
    """

    duration: float = 10.0  # [s]
    period: float = 0.002  # [s] of the law
    steps: int = 1  # of the integrator, in a period
    delay: int = 0  # periods by which a force is delayed
    # [m] of the cart from the origin; beyond, the run has failed. inf: no end of the rails
    travel: float = 2.0
    tilt: float = SWING_UP.tilt  # [rad]
    radius: float = SWING_UP.distance  # [m] of the cart from the origin
    hold: float = SWING_UP.hold  # [s]


@kernel
def advance_lanes(episode, a, late, i):
    """Advance by period i: the force commanded `delay` periods ago acts for a period; then the
    score is updated.
    """
    _delay(episode.delay + 1, a, late, i)
    for _ in range(episode.steps):
        step(a, episode.period / episode.steps)
    _score(episode, math.cos(episode.tilt), a)


@kernel
def _delay(slots, a, late, i):
    """Delay the commanded forces by the ring buffer late (slots, 2, LANES), flat."""
    write, read = (i % slots) * 2 * LANES, ((i + 1) % slots) * 2 * LANES
    for j in range(LANES):
        late[write + j] = a[ASKED_X + j]
        late[write + LANES + j] = a[ASKED_Y + j]
    for j in range(LANES):
        a[UX + j] = late[read + j]
        a[UY + j] = late[read + LANES + j]


@kernel
def _score(episode, upright, a):
    """Count a period of the running pendulums, and end those that settle, leave the travel, time
    out or diverge. `upright` is cos(tilt).

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


PLANT = 8  # M b m l I1 I3 d g: the numbers of a plant
OUTCOME = 6  # end, settled [s], caught [s], farthest [m], effort [N^2 s], duration [s]
ROUND = 16  # periods between two checks for lanes that have ended
_IDLE = -1.0  # START of an idle lane


class Queue(NamedTuple):
    """The starts that wait, the lanes that run, and the progress."""

    starts: Array  # (n, 11) q and v
    plants: Array  # (n, 8)
    outcomes: Array  # (n, 6), to be written
    lanes: Array  # rows of `lanes`
    late: Array  # delayed forces
    progress: Array  # (3,) periods done, next start, busy lanes


# form_queue, runs and advance are inlined: a call with six arrays costs 4 % of lqr's steps.


@inlined
def form_queue(episode, starts, plants, outcomes):
    """Return the queue of all starts, with idle lanes."""
    a, late = np.zeros(SIZE), np.zeros((episode.delay + 1) * 2 * LANES)
    for j in range(LANES):
        a[START + j], a[END + j] = _IDLE, TIMEOUT
    return Queue(starts, plants, outcomes, a, late, np.zeros(3, np.int64))


@inlined
def is_running(episode, queue):
    """Return whether any lane is busy; every `ROUND` periods, first give the lanes that have ended
    to the next starts.
    """
    if queue.progress[0] % ROUND == 0:
        _serve(episode, queue)
    return queue.progress[2] > 0


@inlined
def advance(episode, queue):
    """Advance all lanes by one control period under the forces that the law has commanded."""
    advance_lanes(episode, queue.lanes, queue.late, queue.progress[0])
    queue.progress[0] += 1


@kernel
def _serve(episode, queue):
    """Write the outcomes of lanes that have ended, and give these lanes to the next starts."""
    a, following, busy = queue.lanes, queue.progress[1], 0
    for j in range(LANES):
        if a[END + j] != RUNNING:
            if a[START + j] != _IDLE:
                _write(episode, a, j, queue.outcomes[int(a[START + j])])
                a[START + j] = _IDLE
            if following < len(queue.starts):
                _begin(episode, a, queue.late, j, queue.starts[following], queue.plants[following])
                a[START + j] = following
                following += 1
        busy += a[END + j] == RUNNING
    queue.progress[1], queue.progress[2] = following, busy


@kernel
def _begin(episode, a, late, j, start, plant):
    """Put `start` into lane j, and clear the state of the previous one."""
    for row in range(0, SIZE, LANES):
        a[row + j] = 0.0
    for row in range(0, len(late), LANES):
        late[row + j] = 0.0
    begin(a, j, start, plant, episode.period / episode.steps)
    a[CAUGHT + j], a[LOOKED + j], a[CATCH + j] = 0.0, -math.inf, math.nan


@kernel
def _write(episode, a, j, outcome):
    """Write the outcome of lane j."""
    outcome[0], outcome[1], outcome[2] = a[END + j], a[SINCE + j], a[CATCH + j]
    outcome[3], outcome[4], outcome[5] = a[FAR + j], a[EFFORT + j], a[PERIODS + j] * episode.period
