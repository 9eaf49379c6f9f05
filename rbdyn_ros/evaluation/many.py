"""Many starts of one law: in parallel lanes of compiled code where the law has a compiled form,
else one closed loop after the other.

A run has settled by `metrics.SWING_UP`; its time is the start of the second for which that holds.
"""

import math

import numpy as np

from rbdyn_ros.campaigns import batch
from rbdyn_ros.campaigns.episode import Episode
from rbdyn_ros.evaluation.bench import Bench
from rbdyn_ros.evaluation.metrics import SWING_UP, Scenario, SettlingDetector, SettlingScore
from rbdyn_ros.faults.options import Faults, actual
from rbdyn_ros.types import Array, State


def is_compiled(bench: Bench, scenario: Scenario) -> bool:
    """Return whether the law has a compiled form that covers the scenario: true state, at most a
    delay and a mismatch.
    """
    if bench.over_ros:
        return False
    delay = scenario.faults.command_delay
    plain = Faults(command_delay=delay, mismatch=scenario.faults.mismatch)
    whole = abs(delay / scenario.period - round(delay / scenario.period)) < 1e-9
    simple = (
        scenario.faults == plain
        and whole
        and scenario.observer == "none"
        and scenario.integrator == "rk4"
    )
    return simple and batch.compiled_form(bench.law(scenario)) is not None


def outcomes(bench: Bench, scenario: Scenario, starts: Array, duration: float) -> Array:
    """Return the rows (n, 3) of `SettlingScore` of the starts (n, 11). Raise LawFailed if the law
    fails.
    """
    if is_compiled(bench, scenario):
        return _run_lanes(bench, scenario, starts, duration)
    return np.array([_run_one(bench, scenario, start, duration) for start in starts])


def _run_lanes(bench: Bench, scenario: Scenario, starts: Array, duration: float) -> Array:
    c = scenario
    steps, delay = round(c.period / c.step), round(c.faults.command_delay / c.period)
    planned = Episode(duration, c.period, steps, delay, c.travel or math.inf)
    found = batch.run(bench.law(c), actual(bench.params, c.faults), starts, planned, threads=1)
    return np.column_stack((found.settled, found.travel, found.effort))


def _run_one(bench: Bench, scenario: Scenario, start: Array, duration: float) -> SettlingScore:
    settling = SettlingDetector(SWING_UP)
    run = bench.run(scenario, State(0.0, start[:6], start[6:]), duration, stop=settling)
    return settling.score(run)
