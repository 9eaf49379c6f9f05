"""One sample in `simulation.closed_loop`, for laws without a compiled form and for faults of any
kind; scored as lanes are.
"""

import math
from typing import NamedTuple

from rbdyn_ros.campaigns.course import LATE, LEFT, LOST, SETTLED, Course
from rbdyn_ros.evaluation import metrics
from rbdyn_ros.evaluation.metrics import SettlingDetector, Tolerance
from rbdyn_ros.faults.options import Faults
from rbdyn_ros.mechanics.integrators.select import select
from rbdyn_ros.mechanics.pendulum.spherical_pendulum import Params
from rbdyn_ros.simulation import closed_loop
from rbdyn_ros.types import Array, State

COMMAND_TIMEOUT = 10.0  # [s] for one command; the first one may compile


class Outcome(NamedTuple):
    """As a row of `batch.Outcomes`."""

    ended: float  # course.SETTLED, LEFT, LATE, or LOST where there is a reason
    settled: float  # [s]; nan: never
    caught: float  # nan: nobody asked
    travel: float  # [m]
    effort: float  # [N^2 s]
    lasted: float  # [s]
    reason: str  # what the law or the stepper did wrong


def run(
    law, params: Params, wrong: Faults, start: Array, course: Course, force_limit: float, seed: int
) -> Outcome:
    """The sample that begins at `start` (11,), q and v, with `params` declared and `wrong` going
    wrong.

    ValueError where the plant is not one. What a law does wrong is in the outcome.
    """
    try:
        law.reset()
    except Exception as error:  # whatever a stranger's law raises
        return Outcome(
            LOST,
            math.nan,
            math.nan,
            0.0,
            0.0,
            0.0,
            f"resetting the law raised {type(error).__name__}: {error}",
        )
    settling = SettlingDetector(Tolerance(course.tilt, course.radius, course.hold))
    conditions = closed_loop.Conditions(
        force_limit=force_limit,
        travel=course.travel,
        step=course.period / course.steps,
        faults=wrong,
        seed=seed,
        stop=settling,
        patience=COMMAND_TIMEOUT,
    )
    state = State(0.0, start[:6].copy(), start[6:].copy())
    return _scored(
        closed_loop.run(
            params, select("rk4"), law, state, course.duration, course.period, conditions
        ),
        settling,
    )


def _scored(run: closed_loop.ClosedLoop, settling: SettlingDetector) -> Outcome:
    settled = run.ended == metrics.SETTLED
    ended = LOST if run.fault else SETTLED if settled else LEFT if run.ended else LATE
    travel = float(metrics.distances(run)[1:].max(initial=0.0))
    return Outcome(
        ended,
        settling.since if settled else math.nan,
        math.nan,
        travel,
        metrics.effort(run),
        float(run.t[-1]),
        run.fault,
    )
