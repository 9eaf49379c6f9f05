"""The share of the time in which the rod is upright, under random pushes."""

import math

import numpy as np

from rbdyn_ros.evaluation import metrics
from rbdyn_ros.evaluation.metrics import Metric
from rbdyn_ros.plant.rollout import Rollout
from rbdyn_ros.types import Array

MORE = 4  # runs
REST = 1.0  # [s] after which a rod that comes up again has swung up once more


def starts(bench, scenario, settings) -> int:
    """Return how many runs there are."""
    return settings["runs"]


def outcomes(bench, scenario, settings, part: range) -> Array:
    """Return rows (n, 3): the share of the time upright [%], swing-ups, pushes."""
    rows = []
    for number in part:
        pushes = draw(scenario, settings, number, bench.params.rod_length)
        start, duration = metrics.start_state(settings), settings["duration"]
        run = bench.run(scenario, start, duration, pushes=pushes)
        h = run.t.item(1) - run.t.item(0) if len(run.t) > 1 else math.inf
        upright = metrics.is_upright(run)[1:].sum()
        rows.append((100.0 * h * upright / duration, swing_ups(run), len(pushes)))
    return np.array(rows)


def draw(scenario, settings, number: int, length: float) -> tuple:
    """Draw the pushes of the run of that number on a rod of `length` [m]."""
    rng, size = np.random.default_rng((scenario.seed, number, 60)), settings["largest"]
    return metrics.draw_pushes(rng, settings["duration"], settings["interval"], size, length)


def more(settings, rows: Array) -> int:
    """Return how many further runs the interval needs before it is looked at again."""
    is_enough = 100.0 * metrics.mean_interval(rows[:, 0] / 100.0) <= settings["precision"]
    return 0 if not settings["precision"] or is_enough else MORE


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
    """Return the mean of the runs, its interval, and the worst."""
    values = {
        "uptime": float(rows[:, 0].mean()),
        "interval": 100.0 * metrics.mean_interval(rows[:, 0] / 100.0),
        "runs": float(len(rows)),
        "worst": float(rows[:, 0].min()),
        "swing_ups": float(rows[:, 1].sum()),
        "pushes": float(rows[:, 2].sum()),
    }
    return Metric(values, {"uptime": np.round(rows[:, 0], 4).tolist()})
