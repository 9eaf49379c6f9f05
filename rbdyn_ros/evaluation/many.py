"""Many starts of one law: compiled side by side where the law has such a form, one closed loop
after the other where not.

Settled: as `metrics.SWING_UP` has it; the time is the start of the second for which it holds.
"""

import math

import numpy as np

from rbdyn_ros.campaigns import batch
from rbdyn_ros.campaigns.course import Course
from rbdyn_ros.evaluation import metrics
from rbdyn_ros.evaluation.bench import Bench
from rbdyn_ros.evaluation.conditions import Conditions
from rbdyn_ros.faults.mismatch import actual
from rbdyn_ros.faults.options import Faults
from rbdyn_ros.types import Array, State

COLUMNS = ("settled", "travel", "effort")  # [s] nan: never; [m]; [N^2 s]


def compiled(bench: Bench, conditions: Conditions) -> bool:
    """Whether the law has a compiled form, and the conditions are such that it applies: true
    state, at most a delay and a mismatch.
    """
    if bench.over_ros:
        return False
    delay = conditions.faults.command_delay
    plain = Faults(command_delay=delay, mismatch=conditions.faults.mismatch)
    whole = abs(delay / conditions.period - round(delay / conditions.period)) < 1e-9
    simple = (
        conditions.faults == plain
        and whole
        and conditions.observer == "none"
        and conditions.integrator == "rk4"
    )
    return simple and batch.compiled(bench.law(conditions)) is not None


def outcomes(bench: Bench, conditions: Conditions, starts: Array, duration: float) -> Array:
    """(n, 3) rows of `COLUMNS` of the starts (n, 11). LawFailed."""
    if compiled(bench, conditions):
        return _together(bench, conditions, starts, duration)
    return np.array([_alone(bench, conditions, start, duration) for start in starts])


def _together(bench: Bench, conditions: Conditions, starts: Array, duration: float) -> Array:
    c = conditions
    steps, delay = round(c.period / c.step), round(c.faults.command_delay / c.period)
    within = metrics.SWING_UP
    planned = Course(
        duration,
        c.period,
        steps,
        delay,
        c.travel or math.inf,
        within.tilt,
        within.distance,
        within.hold,
    )
    found = batch.run(bench.law(c), actual(bench.params, c.faults), starts, planned, threads=1)
    return np.column_stack((found.settled, found.travel, found.effort))


def _alone(bench: Bench, conditions: Conditions, start: Array, duration: float) -> tuple:
    settling = metrics.SettlingDetector(metrics.SWING_UP)
    run = bench.run(conditions, State(0.0, start[:6], start[6:]), duration, stop=settling)
    settled = settling.since if run.ended == metrics.SETTLED else math.nan
    return settled, float(metrics.distances(run).max()), metrics.effort(run)
