"""One sample in `simulation.closed_loop`, for laws without a compiled form and for faults of any kind; scored as lanes are."""

import math
from typing import NamedTuple

import numpy as np

from rbdyn_ros.campaigns.course import LATE, LEFT, LOST, SETTLED, Course
from rbdyn_ros.faults.options import Faults
from rbdyn_ros.mechanics.integrators.select import select
from rbdyn_ros.mechanics.pendulum.spherical_pendulum import Params
from rbdyn_ros.simulation import closed_loop
from rbdyn_ros.types import Array, State

_INSTANT = 1e-9  # [s]
PATIENCE = 10.0  # [s] for one command; the first one may compile


class Outcome(NamedTuple):
    """As a row of `batch.Outcomes`."""

    ended: float  # course.SETTLED, LEFT, LATE, or LOST where there is a reason
    settled: float  # [s]; nan: never
    caught: float  # nan: nobody asked
    travel: float  # [m]
    effort: float  # [N^2 s]
    lasted: float  # [s]
    reason: str  # what the law or the stepper did wrong


class Rests:
    """A `stop` of the closed loop that ends it when the rod and the cart have rested for the course's `hold`."""

    def __init__(self, course: Course):
        self.course, self.since = course, 0.0

    def __call__(self, t: float, q: Array, v: Array) -> str:
        """Look at the state at time t; what ends the run, or ""."""
        upright = 1.0 - 2.0 * (q[3] * q[3] + q[4] * q[4]) >= math.cos(self.course.tilt)
        if not (upright and math.hypot(q[0], q[1]) <= self.course.radius):
            self.since = t
        return "settled" if t - self.since >= self.course.hold - _INSTANT else ""


def steps(period: float, step: float) -> int:
    """The integrator's steps in a control period. ValueError if it is no multiple."""
    n = round(period / step)
    if n < 1 or abs(period / step - n) > 1e-9 * n:
        raise ValueError(f"period is {period:g} s; it must be a multiple of step, {step:g} s")
    return n


def run(
    law, params: Params, wrong: Faults, start: Array, course: Course, force_limit: float, seed: int
) -> Outcome:
    """The sample that begins at `start` (11,), q and v, with `params` declared and `wrong` going wrong.

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
    rests = Rests(course)
    conditions = closed_loop.Conditions(
        force_limit=force_limit,
        travel=course.travel,
        step=course.period / course.steps,
        faults=wrong,
        seed=seed,
        stop=rests,
        patience=PATIENCE,
    )
    state = State(0.0, start[:6].copy(), start[6:].copy())
    return _scored(
        closed_loop.run(
            params, select("rk4"), law, state, course.duration, course.period, conditions
        ),
        rests,
    )


def _scored(run: closed_loop.ClosedLoop, rests: Rests) -> Outcome:
    settled = run.ended == "settled"
    ended = LOST if run.fault else SETTLED if settled else LEFT if run.ended else LATE
    travel = float(np.hypot(run.q[1:, 0], run.q[1:, 1]).max(initial=0.0))
    effort = float((run.force**2).sum() * rests.course.period)
    return Outcome(
        ended,
        rests.since if settled else math.nan,
        math.nan,
        travel,
        effort,
        float(run.t[-1]),
        run.fault,
    )
