"""The distance of the cart from a periodic path that its law was given."""

import math

import numpy as np

from rbdyn_ros.control.planning import periodic
from rbdyn_ros.evaluation import force_record, metrics
from rbdyn_ros.evaluation.metrics import Metric
from rbdyn_ros.pendulum import spherical_pendulum
from rbdyn_ros.plant.rollout import Rollout


def measure(bench, scenario, settings) -> Metric:
    """Run the law twice, from upright rest at the origin, and measure the first run."""
    asked = prepare(bench.under_test.name, scenario, settings)
    start, stop = spherical_pendulum.upright(), metrics.until_fall()
    run = metrics.run_twice(bench, asked, start, settings["duration"], stop=stop)
    found, recorded = values(run, settings), {"record": force_record.record(run)}
    if not found:
        why = f"{run.ended or 'the run was over'} before the {settings['waiting']:g} s were over"
        return Metric({}, metrics.curves(run) | recorded, why)
    round_trip = _path(settings, np.linspace(0.0, 1.0 / settings["frequency"], 200))
    path_x, path_y = round_trip.T.tolist()
    drawn = {**metrics.curves(run, 600), "path_x": path_x, "path_y": path_y}
    return Metric(found, drawn | recorded)


def prepare(law: str, scenario, settings):
    """Return the scenario with the path, which the law gets as its options."""
    path = {f"{law}.{name}": settings[name] for name in ("path", "size", "frequency")}
    return scenario._replace(law=tuple(sorted({**dict(scenario.law), **path}.items())))


def values(run: Rollout, settings) -> dict[str, float]:
    """Return the values of a run; none of one that was over before the end of the wait."""
    late = run.t >= run.t[0] + settings["waiting"]
    if run.ended or not late.any():
        return {}
    away = np.linalg.norm(run.q[:, :2] - _path(settings, run.t), axis=1)[late]
    return {
        "error_rms": 1e3 * metrics.rms(away),
        "error_max": 1e3 * float(away.max()),
        "tilt": math.degrees(float(metrics.tilts(run)[late].max())),
        "peak_force": float(np.hypot(*run.force[late[:-1]].T).max()),
    }


def _path(settings: dict, t) -> np.ndarray:
    """Return the reference of the cart at the times t of the law's clock, (n, 2) [m]."""
    X = {"circle": periodic.circle, "eight": periodic.eight}[settings["path"]](settings["size"])
    turns = np.exp(2j * math.pi * settings["frequency"] * np.outer(t, np.arange(len(X))))
    return np.real(turns @ X)
