"""The figures that `loop.py` shows, of the nodes and of their peer."""

import numpy as np


def figures(instants, trips, step: float, whole: float, elapsed: float) -> dict:
    """Return the figures from the instants of the publications [s], the round trips [s], the
    processor times of the step thread and of its process [s].
    """
    periods, trips = 1e3 * np.diff(instants), 1e3 * np.asarray(trips)
    return {
        "period_p50_ms": float(np.percentile(periods, 50)),
        "period_p99_ms": float(np.percentile(periods, 99)),
        "period_max_ms": float(periods.max()),
        "round_trip_p50_ms": float(np.percentile(trips, 50)),
        "round_trip_p99_ms": float(np.percentile(trips, 99)),
        "step_thread_percent": 100.0 * step / elapsed,
        "simulator_percent": 100.0 * whole / elapsed,
        "answered_percent": 100.0 * len(trips) / len(instants),
    }
