"""The region of attraction in one plane: the tilts and rates from which the rod comes to stand."""

import math
import time

import numpy as np

from rbdyn_ros.evaluation.measures import swing_up
from rbdyn_ros.evaluation.metrics import Metric


def starts(bench, scenario, settings) -> int:
    """Return the number of points of the grid."""
    return settings["grid" if swing_up.is_compiled(bench, scenario) else "grid_one_by_one"] ** 2


def outcomes(bench, scenario, settings, part: range) -> np.ndarray:
    """Return rows of the settling time [s], and of the processor time that it took [s]."""
    began = time.process_time()
    n = math.isqrt(starts(bench, scenario, settings))
    tilts, rates = (
        np.linspace(-end, end, n) for end in (math.radians(settings["tilt"]), settings["rate"])
    )
    rows, columns = np.divmod(np.array(part), n)
    points = np.zeros((len(part), 11))
    points[:, 2], points[:, 4] = np.cos(0.5 * tilts[columns]), np.sin(0.5 * tilts[columns])
    points[:, 9] = rates[rows]
    settled = swing_up.run_starts(bench, scenario, points, settings["duration"])[:, 0]
    return np.column_stack(
        (settled, np.full(len(part), (time.process_time() - began) / len(part)))
    )


def summary(settings, rows: np.ndarray) -> Metric:
    """Return the fraction, and the picture."""
    settled = rows[:, 0]
    values = {
        "fraction": 100.0 * float(np.isfinite(settled).mean()),
        "processor_time": float(rows[:, 1].sum()),
    }
    n, every = math.isqrt(len(rows)), max(1, math.isqrt(len(rows)) // 100)
    picture = settled.reshape(n, n)[::every, ::every]
    shown = [[None if math.isnan(t) else round(t, 2) for t in row] for row in picture.tolist()]
    return Metric(values, {"settled": shown, "tilt": settings["tilt"], "rate": settings["rate"]})
