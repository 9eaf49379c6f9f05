"""The motion of the rod that remains when it stands, with the noise and the encoders."""

import math

import numpy as np

from rbdyn_ros.evaluation import metrics
from rbdyn_ros.evaluation.metrics import Metric


def measure(bench, scenario, settings) -> Metric:
    """Run the law once and measure the last part."""
    start = metrics.start_state(settings)
    run = bench.run(scenario, start, settings["duration"], stop=metrics.until_fall())
    late = run.t[:-1] >= run.t[0] + settings["waiting"]
    if not late.any():
        return Metric(
            {}, metrics.curves(run), f"{run.ended} before the {settings['waiting']:g} s were over"
        )
    seen, true = metrics.axis(run.seen[late, :6]), metrics.axis(run.q[:-1][late])
    values = {
        "tilt_rms": math.degrees(metrics.rms(metrics.tilts(run)[:-1][late])),
        "cart_rms": 1e3 * metrics.rms(metrics.distances(run)[:-1][late]),
        "force_rms": metrics.rms(np.hypot(*run.force[late].T)),
        "estimate_rms": math.degrees(metrics.rms(np.linalg.norm(np.cross(seen, true), axis=1))),
        "settling_time": metrics.settling_time(run),
    }
    return Metric(values, metrics.curves(run), metrics.ending(run))
