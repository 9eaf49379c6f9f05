"""The distance of the cart from a periodic path that its law was given."""

import math

import numpy as np

from rbdyn_ros.control.planning import periodic
from rbdyn_ros.evaluation import metrics
from rbdyn_ros.evaluation.metrics import Metric
from rbdyn_ros.mechanics.pendulum import spherical_pendulum


def measure(bench, scenario, settings) -> Metric:
    """Run the law once, from upright rest at the origin."""
    path = {name: settings[name] for name in ("path", "size", "frequency")}
    law = {f"{bench.under_test.name}.{name}": value for name, value in path.items()}
    asked = scenario._replace(law=tuple(sorted({**dict(scenario.law), **law}.items())))
    run = bench.run(
        asked, spherical_pendulum.upright(), settings["duration"], stop=metrics.until_fall()
    )
    late = run.t >= run.t[0] + settings["waiting"]
    if run.ended or not late.any():
        return Metric(
            {},
            metrics.curves(run),
            f"{run.ended or 'the run was over'} before the {settings['waiting']:g} s were over",
        )
    way = _path(settings, run.t)
    away = np.linalg.norm(run.q[:, :2] - way, axis=1)[late]
    values = {
        "error_rms": 1e3 * metrics.rms(away),
        "error_max": 1e3 * float(away.max()),
        "tilt": math.degrees(float(metrics.tilts(run)[late].max())),
        "peak_force": float(np.hypot(*run.force[late[:-1]].T).max()),
    }
    round_trip = _path(settings, np.linspace(0.0, 1.0 / settings["frequency"], 200))
    path_x, path_y = round_trip.T.tolist()
    return Metric(values, {**metrics.curves(run, 600), "path_x": path_x, "path_y": path_y})


def _path(settings: dict, t) -> np.ndarray:
    """Return the reference of the cart at the times t of the law's clock, (n, 2) [m]."""
    X = {"circle": periodic.circle, "eight": periodic.eight}[settings["path"]](settings["size"])
    turns = np.exp(2j * math.pi * settings["frequency"] * np.outer(t, np.arange(len(X))))
    return np.real(turns @ X)
