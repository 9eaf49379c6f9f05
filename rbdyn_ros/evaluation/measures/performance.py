"""One undisturbed run: success, time, and its costs in energy, force and motion."""

import math

import numpy as np

from rbdyn_ros.evaluation import metrics
from rbdyn_ros.evaluation.metrics import Metric
from rbdyn_ros.simulation.rollout import Rollout

SCALES = ("time", "energy", "force_cost", "smoothness", "velocity_cost")  # of the score
COSTS = ("energy", "max_force", "integrated_force", "force_cost", "smoothness", "velocity_cost")


def measure(bench, scenario, settings) -> Metric:
    """Run the law once."""
    run = bench.run(scenario, metrics.start_state(settings), settings["duration"])
    stands = metrics.settling_time(run) if settings["settle"] else metrics.upright_since(run)
    success = math.isfinite(stands)
    values = {"success": 100.0 * success, "time": stands, **costs(run)}
    loss = [math.tanh(math.pi * values[name] / settings[f"scale.{name}"]) for name in SCALES]
    values["score"] = 1.0 - sum(loss) / len(loss) if success else 0.0
    return Metric(values, metrics.curves(run), run.ended)


def costs(run: Rollout) -> dict[str, float]:
    """Return the costs of a run, by the names of COSTS."""
    if len(run.force) < 2:
        return dict.fromkeys(COSTS, math.nan)
    h = run.t.item(1) - run.t.item(0)
    size = np.hypot(*run.force.T)
    return {
        "energy": float(np.abs(run.force * np.diff(run.q[:, :2], axis=0)).sum()),
        "max_force": float(size.max()),
        "integrated_force": float(size.sum() * h),
        "force_cost": metrics.effort(run),
        "smoothness": float(np.diff(run.force, axis=0).std(axis=0).sum()),
        "velocity_cost": float((run.v[:-1, 2:4] ** 2).sum() * h),
    }
