"""The robustness over many runs, each with one variation: in how many does the rod stand at the
end?
"""

from typing import Any

import numpy as np

from rbdyn_ros.evaluation import metrics
from rbdyn_ros.evaluation.metrics import Metric
from rbdyn_ros.plant.faults.fault_options import Mismatch, SensorNoise
from rbdyn_ros.types import Array

NUMBERS = ("rod_mass", "rod_length", "cart_mass", "cart_damping", "joint_damping")  # of the plant
# what is varied; the place of a kind is part of the seed of its runs
KINDS = ("model", "velocity_noise", "force_noise", "response", "delay", "perturbations")
LAST = 1.0  # [s] of a run in which the rod has to be upright


class _NoisyForce:
    """A law with white noise on its force."""

    def __init__(self, law, deviation: float, rng: np.random.Generator):
        self._law, self._deviation, self._rng = law, deviation, rng

    def command(self, t: float, state, reference: Array) -> Array:
        """Return the law's force with the noise (2,) [N]."""
        force = np.asarray(self._law.command(t, state, reference), float)
        return force + self._rng.normal(0.0, self._deviation, force.shape)


def starts(bench, scenario, settings) -> int:
    """Return how many runs there are, at first."""
    return settings["variations"] * (len(NUMBERS) if settings["vary"] == "model" else 1)


def outcomes(bench, scenario, settings, part: range) -> Array:
    """Return rows (n, 3): the number that varies, the variation, and whether the rod stands."""
    duration, rows = settings["duration"], []
    for number in part:
        size, asked, more = vary(scenario, settings, number, bench.params.rod_length)
        run = bench.run(asked, metrics.start_state(settings), duration, **more)
        stands = metrics.upright_since(run) <= duration - LAST
        rows.append((_place(settings, number)[0], size, stands))
    return np.array(rows, float)


def more(settings, rows: Array) -> int:
    """Return how many further runs the interval needs before it is looked at again: as many as at
    first.
    """
    is_enough = 100.0 * _interval(settings, rows) <= settings["precision"]
    return 0 if not settings["precision"] or is_enough else starts(None, None, settings)


def _interval(settings, rows: Array) -> float:
    """Return half the 95 % interval of the share of the runs, drawn in rounds of one from each
    part of the sizes.
    """
    stands = rows[np.lexsort((rows[:, 1], rows[:, 0])), 2]
    return metrics.stratified_interval(stands, len(rows) // starts(None, None, settings))


def _place(settings, number: int) -> tuple[int, int]:
    """Return (which number of NUMBERS the run of that number varies, its stratum)."""
    n = settings["variations"]
    which, step = divmod(number % starts(None, None, settings), n)
    return which, step


def vary(scenario, settings, number: int, length: float) -> tuple[float, Any, dict[str, Any]]:
    """Return (the size of the variation of that number, its scenario, more arguments of
    `Bench.run`).
    """
    kind, largest, n = settings["vary"], settings["largest"], settings["variations"]
    rng = np.random.default_rng((scenario.seed, number, KINDS.index(kind)))
    faults, more = scenario.faults, {}
    which, step = _place(settings, number)
    part = (step + rng.uniform()) / n  # one draw in each of n equal parts
    size = largest * part
    if kind == "model":
        size = largest * (2.0 * part - 1.0)
        faults = faults._replace(mismatch=Mismatch(**{NUMBERS[which]: size}))
    elif kind == "velocity_noise":
        faults = faults._replace(noise=SensorNoise(cart_velocity=size, rate=size))
    elif kind == "force_noise":
        more["wrap"] = lambda law: _NoisyForce(law, size, rng)
    elif kind == "response":
        faults = faults._replace(actuator=faults.actuator._replace(lag=size))
    elif kind == "delay":
        faults = faults._replace(command_delay=size)
    else:
        more["pushes"] = metrics.draw_pushes(rng, settings["duration"] - 3.0, 2.0, size, length)
    return size, scenario._replace(faults=faults, seed=scenario.seed + number), more


def summary(settings, rows: Array) -> Metric:
    """Return the share of the runs, and which ones."""
    good = int(rows[:, 2].sum())
    curves = {"variation": np.round(rows[:, 1], 6).tolist(), "stands": rows[:, 2].tolist()}
    values = {"success": 100.0 * good / len(rows), "interval": 100.0 * _interval(settings, rows)}
    return Metric({**values, "runs": float(len(rows))}, curves, f"{good} of {len(rows)} runs")
