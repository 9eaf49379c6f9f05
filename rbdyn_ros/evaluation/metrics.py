"""What a run says in numbers: settling, overshoot, effort, travel; and when there is no more to learn from it."""

import math

import numpy as np

from rbdyn_ros.evaluation.trial import trial
from rbdyn_ros.simulation.closed_loop import ClosedLoop
from rbdyn_ros.types import Array

TILT, CART = (
    math.radians(0.5),
    0.02,
)  # [rad], [m]: near upright, settled is within these from then on
FALLEN = "fallen"
_CALM = 0.1  # of the tolerances, and of them per second: a run that stays within this for `_FOR` has settled
_FOR = 0.5  # [s]


def tilts(run: ClosedLoop) -> Array:
    """The angle between rod and vertical, (n + 1,) [rad]."""
    return trial.tilt(run.q)


def distances(run: ClosedLoop, reference=(0.0, 0.0)) -> Array:
    """From the cart to the reference, (n + 1,) [m]."""
    return np.hypot(run.q[:, 0] - reference[0], run.q[:, 1] - reference[1])


def settling_time(
    run: ClosedLoop, reference=(0.0, 0.0), tilt: float = TILT, cart: float = CART
) -> float:
    """Since when tilt and cart are within the tolerances [s]; inf if they are not at the end, or the run broke off."""
    if run.ended and run.ended != SETTLED:
        return math.inf
    away = np.flatnonzero((tilts(run) > tilt) | (distances(run, reference) > cart))
    if not len(away):
        return 0.0
    return float(run.t[away[-1] + 1] - run.t[0]) if away[-1] + 1 < len(run.t) else math.inf


def effort(run: ClosedLoop) -> float:
    """The integral of |u|^2 [N^2 s]."""
    return float((run.force**2).sum() * (run.t[1] - run.t[0])) if len(run.force) else 0.0


def rms(values: Array) -> float:
    """The root of the mean square."""
    return math.sqrt(float(np.mean(np.square(values)))) if len(values) else math.nan


SETTLED = "settled"


class Calm:
    """A `stop` that ends a run when the rod has fallen, or has been far within the tolerances for half a second."""

    def __init__(self, reference=(0.0, 0.0), fallen: float = math.pi / 2, patient: bool = False):
        """fallen [rad]; `patient` goes on when all is calm."""
        self._x, self._y = reference
        self._fallen, self._patient, self._since = math.cos(fallen), patient, None

    def __call__(self, t: float, q: Array, v: Array) -> str:
        """Look at the state at time t; what ends the run, or ""."""
        x, y, _, i, j, _ = q.tolist()
        if 1.0 - 2.0 * (i * i + j * j) < self._fallen:
            return FALLEN
        near = (
            2.0 * math.hypot(i, j) < _CALM * TILT
            and math.hypot(x - self._x, y - self._y) < _CALM * CART
        )
        if self._patient or not near or not self._is_slow(v):
            self._since = None
            return ""
        self._since = t if self._since is None else self._since
        return SETTLED if t - self._since >= _FOR else ""

    def _is_slow(self, v: Array) -> bool:
        vx, vy, wx, wy, _ = v.tolist()
        return math.hypot(vx, vy) < 4.0 * _CALM * CART and math.hypot(wx, wy) < 4.0 * _CALM * TILT


def curves(run: ClosedLoop, most: int = 300) -> dict:
    """The run for a picture: t [s], tilt [deg], x, y [m], force [N], at most about `most` points."""
    every = max(1, math.ceil(len(run.force) / most))
    rounded = {
        "t": run.t[:-1:every] - run.t[0],
        "tilt": np.degrees(tilts(run)[:-1:every]),
        "x": run.q[:-1:every, 0],
        "y": run.q[:-1:every, 1],
        "force": np.hypot(*run.force.T)[::every],
    }
    return {name: np.round(values, 5).tolist() for name, values in rounded.items()}


def lean(run: ClosedLoop) -> Array:
    """The log-map tilt towards x and y, (n + 1, 2) [rad]."""
    k = trial.axis(run.q)
    n = np.hypot(k[:, 0], k[:, 1])
    return (np.arctan2(n, k[:, 2]) / np.where(n > 0.0, n, 1.0))[:, None] * k[:, :2]


def compute(run: ClosedLoop) -> dict:
    """Processor time of a command [ms]: median and largest."""
    times = 1e3 * run.compute if len(run.compute) else np.array((math.nan,))
    return {"compute_median": float(np.median(times)), "compute_max": float(times.max())}


def decays(run: ClosedLoop) -> bool:
    """Whether tilt and force are smaller in the last tenth than in the first.

    A force that chatters hardly moves the rod.
    """

    def shrinks(size: Array) -> bool:
        tenth = max(1, len(size) // 10)
        return bool(size[-tenth:].max() < size[:tenth].max())

    return not run.ended and shrinks(tilts(run)) and shrinks(np.hypot(*run.force.T))
