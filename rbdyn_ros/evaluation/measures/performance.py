"""One undisturbed run: success, time, and its costs in energy, force and motion.

It is measured twice: a law whose `reset` does not forget the past gives other forces then.
"""

import math

import numpy as np

from rbdyn_ros.evaluation import force_record, metrics
from rbdyn_ros.evaluation.metrics import Metric
from rbdyn_ros.plant.rollout import Rollout

SCALES = ("time", "energy", "force_cost", "smoothness", "velocity_cost")  # of the score
COSTS = ("energy", "max_force", "integrated_force", "force_cost", "smoothness", "velocity_cost")


def measure(bench, scenario, settings) -> Metric:
    """Run the law twice, and measure the first run."""
    start = metrics.start_state(settings)
    run = metrics.run_twice(bench, scenario, start, settings["duration"])
    recorded = {"record": force_record.record(run)}
    found = values(run, settings)
    note = "" if found["success"] else failure(run)
    return Metric(found, metrics.curves(run) | recorded, note)


def failure(run: Rollout) -> str:
    """Return why a run has no success: how it ended early, or the rod and cart at its end."""
    if run.ended:
        return run.ended
    lean, distance = math.degrees(metrics.tilts(run)[-1]), metrics.distances(run)[-1]
    if not metrics.is_upright(run)[-1]:
        return f"the rod has fallen: at the end it leans by {lean:.3g} degrees"
    return (
        f"not settled: at the end the rod leans by {lean:.2g} degrees and the cart is "
        f"{100.0 * distance:.2g} cm from its set point"
    )


def values(run: Rollout, settings) -> dict[str, float]:
    """Return the values of a run."""
    stands = metrics.settling_time(run) if settings["settle"] else metrics.upright_since(run)
    success = math.isfinite(stands)
    found = {"success": 100.0 * success, "time": stands, **costs(run)}
    loss = [math.tanh(math.pi * found[name] / settings[f"scale.{name}"]) for name in SCALES]
    return {**found, "score": 1.0 - sum(loss) / len(loss) if success else 0.0}


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
        "smoothness": _deviation(np.diff(run.force, axis=0)),
        "velocity_cost": float((run.v[:-1, 2:4] ** 2).sum() * h),
    }


def _deviation(vectors: np.ndarray) -> float:
    """Return the root of the mean square distance from the mean of vectors (n, 2), which no
    rotation changes.
    """
    return float(np.sqrt(vectors.var(axis=0).sum()))
