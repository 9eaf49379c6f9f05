"""The share of the time in which the rod is upright, under random pushes."""

import math

import numpy as np

from rbdyn_ros.evaluation import metrics
from rbdyn_ros.evaluation.metrics import Metric
from rbdyn_ros.simulation.rollout import Rollout
from rbdyn_ros.types import Array

REST = 1.0  # [s] after which a rod that comes up again has swung up once more


def starts(bench, scenario, settings) -> int:
    """Return how many runs there are."""
    return settings["runs"]


def outcomes(bench, scenario, settings, part: range) -> Array:
    """Return rows (n, 3): the share of the time upright [%], swing-ups, pushes."""
    duration, length, rows = settings["duration"], bench.params.rod_length, []
    size = settings["interval"], settings["largest"]
    for number in part:
        rng = np.random.default_rng((scenario.seed, number, 60))
        pushes = metrics.draw_pushes(rng, duration, *size, length)
        run = bench.run(scenario, metrics.start_state(settings), duration, pushes=pushes)
        h = run.t.item(1) - run.t.item(0) if len(run.t) > 1 else math.inf
        upright = metrics.is_upright(run)[1:].sum()
        rows.append((100.0 * h * upright / duration, swing_ups(run), len(pushes)))
    return np.array(rows)


def swing_ups(run: Rollout) -> float:
    """Return how often the rod becomes upright, at least `REST` after it was upright before."""
    up, count, last = metrics.is_upright(run), 0, -math.inf
    for t, is_up, was_up in zip(run.t[1:].tolist(), up[1:].tolist(), up[:-1].tolist()):
        if is_up and not was_up and t - last > REST:
            count += 1
        if is_up:
            last = t
    return float(count)


def summary(settings, rows: Array) -> Metric:
    """Return the mean of the runs, and the worst."""
    values = {
        "uptime": float(rows[:, 0].mean()),
        "worst": float(rows[:, 0].min()),
        "swing_ups": float(rows[:, 1].sum()),
        "pushes": float(rows[:, 2].sum()),
    }
    return Metric(values, {"uptime": np.round(rows[:, 0], 4).tolist()})
