"""One undisturbed run: success, time, and its costs in energy, force and motion."""

import math

import numpy as np

from rbdyn_ros.evaluation import metrics
from rbdyn_ros.evaluation.metrics import Metric, Value
from rbdyn_ros.schema import setting
from rbdyn_ros.simulation.rollout import Rollout

QUESTION = "how soon does the rod stand, and what does it cost in energy, force and motion?"
OVER_ROS = True
SCALES = {
    "time": ("s", "the time"),
    "energy": ("J", "the energy"),
    "force_cost": ("N^2 s", "the force cost"),
    "smoothness": ("N", "the smoothness"),
    "velocity_cost": ("rad^2/s", "the velocity cost"),
}
SETTINGS = (
    metrics.TILT,
    metrics.AZIMUTH,
    metrics.duration(10.0),
    setting(
        "settle",
        False,
        "",
        "Asks for a rod that has settled (0.5 degrees, 2 cm), not for one that is upright.",
    ),
    *(
        setting(
            f"scale.{name}",
            1.0,
            unit,
            f"Divides {what} in the score.",
            above=0.0,
        )
        for name, (unit, what) in SCALES.items()
    ),
)
VALUES = {
    "success": Value("%", "100 where the rod stands from some instant on to the end of the run"),
    "time": Value("s", "that instant"),
    "energy": Value("J", "the work of the cart's drive in both directions, the integral of |u v|"),
    "max_force": Value("N", "the largest force"),
    "integrated_force": Value("N s", "the integral of the force"),
    "force_cost": Value("N^2 s", "the integral of the square of the force"),
    "smoothness": Value("N", "the standard deviation of the force's changes in a period, x and y"),
    "velocity_cost": Value(
        "rad^2/s", "the integral of the square of the rod's angular velocity without its spin"
    ),
    "score": Value("", "success (1 - mean tanh(pi c / scale)) of the five costs c with a scale"),
}


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
    """Return the costs of a run, by the names of VALUES."""
    if len(run.force) < 2:
        return {name: math.nan for name in VALUES if name not in ("success", "time", "score")}
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
