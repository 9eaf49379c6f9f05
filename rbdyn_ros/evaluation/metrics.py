"""The numbers of a run, and the only definition of what settled means: settling time, effort,
travel, the end of a run; what upright means, and random pushes.

Source of what upright means and of the pushes: RealAIGym, the leaderboards of underactuated double
pendulums (Wiebe et al., "Open source dual-purpose acrobot and pendubot platform: benchmarking
control algorithms for underactuated robotics", IEEE Robotics & Automation Magazine 31 (2024) 113;
version 2 of its scores). Its torque is our force on the cart.
"""

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from rbdyn_ros.evaluation import trial
from rbdyn_ros.mechanics.pendulum import spherical_pendulum
from rbdyn_ros.simulation.closed_loop import Push
from rbdyn_ros.simulation.rollout import Rollout
from rbdyn_ros.types import Array, State

SETTLED, FALLEN = "settled", "fallen"  # what a `SettlingDetector` says
_INSTANT = 1e-9  # [s]


class Tolerance(NamedTuple):
    """A pendulum is at rest while it is within all of these; it has settled when it has been for
    `hold`.
    """

    tilt: float  # [rad] between rod and vertical
    distance: float  # [m] from the cart to the reference
    hold: float = 0.0  # [s]
    speed: float = math.inf  # [m/s] of the cart
    rate: float = math.inf  # [rad/s] of the rod's axis


BALANCE = Tolerance(math.radians(0.5), 0.02)  # of a rod that is balanced
SWING_UP = Tolerance(math.radians(2.0), 0.05, 1.0)  # of one that came up from anywhere
# of a rod that nobody saw fall: it stood for the last second of a trial
STANDING = Tolerance(math.radians(5.0), math.inf, 1.0)
TRIAL = Tolerance(math.radians(1.0), math.inf)  # of a rod that came to rest in a trial
# A run that has been within this has nothing more to show about BALANCE.
REST = Tolerance(
    0.1 * BALANCE.tilt, 0.1 * BALANCE.distance, 0.5, 0.4 * BALANCE.distance, 0.4 * BALANCE.tilt
)


def start_state(settings: Mapping[str, Any]) -> State:
    """The rod at rest, at the tilt and azimuth [deg] of a measure's settings."""
    tilt, azimuth = math.radians(settings["tilt"]), math.radians(settings["azimuth"])
    return spherical_pendulum.upright(tilt, azimuth)


def ending(run: Rollout) -> str:
    """What a reader should know of the run's end: why it broke off, "" where it had settled."""
    return "" if run.ended == SETTLED else run.ended


def tilts(run: Rollout) -> Array:
    """The angle between rod and vertical, (n + 1,) [rad]."""
    return trial.tilt(run.q)


def distances(run: Rollout, reference=(0.0, 0.0)) -> Array:
    """From the cart to the reference, (n + 1,) [m]."""
    return np.hypot(run.q[:, 0] - reference[0], run.q[:, 1] - reference[1])


def settling_time(run: Rollout, reference=(0.0, 0.0)) -> float:
    """Since when tilt and cart are within `BALANCE` [s]; inf if they are not at the end, or the
    run broke off.
    """
    if run.ended and run.ended != SETTLED:
        return math.inf
    outside = (tilts(run) > BALANCE.tilt) | (distances(run, reference) > BALANCE.distance)
    return inside_since(run.t, outside) - run.t.item(0)


def inside_since(t: Array, outside: Array) -> float:
    """The instant of t (n,) [s] from which on none is `outside` (n,) bool; inf without one."""
    if not len(t) or outside[-1]:
        return math.inf
    last = np.flatnonzero(outside)
    return t.item(last[-1] + 1 if len(last) else 0)


def has_recovered(run: Rollout) -> bool:
    """Whether the pendulum has settled, at the origin, by the end of the run."""
    return math.isfinite(settling_time(run))


def effort(run: Rollout) -> float:
    """The integral of |u|^2 [N^2 s]."""
    return float((run.force**2).sum() * (run.t[1] - run.t[0])) if len(run.force) else 0.0


def rms(values: Array) -> float:
    """The root of the mean square."""
    return math.sqrt(float(np.mean(np.square(values)))) if len(values) else math.nan


class SettlingScore(NamedTuple):
    """What became of a run that was to settle."""

    settled: float  # [s] since when it was within the tolerance; nan: it did not settle
    travel: float  # [m] the cart's largest distance from the origin, after the start
    effort: float  # [N^2 s]


class SettlingDetector:
    """A `stop` of a run: it ends when the rod has fallen, or pendulum and cart have settled.

    `since` [s] is the last instant outside the tolerance, or the first one that counts.
    """

    def __init__(
        self,
        within: Tolerance | None,
        reference=(0.0, 0.0),
        fallen: float = math.inf,
        after: float = 0.0,
    ):
        """Without a tolerance nothing but a fall, a tilt beyond `fallen` [rad], ends the run.

        Nothing counts until `after` [s].
        """
        self._within, (self._x, self._y), self._after = within, reference, after
        self._upright = -1.0 if within is None else math.cos(within.tilt)
        self._fallen = math.cos(fallen) if fallen < math.pi else -math.inf
        self.since = after

    def __call__(self, t: float, q: Array, v: Array) -> str:
        """Look at the state at time t; what ends the run, or ""."""
        if t <= self._after:
            return ""
        x, y, _, i, j, _ = q.tolist()
        height = 1.0 - 2.0 * (i * i + j * j)  # cosine of the tilt
        if height < self._fallen:
            return FALLEN
        if self._within is None:
            return ""
        vx, vy, wx, wy, _ = v.tolist()
        near = math.hypot(x - self._x, y - self._y) <= self._within.distance
        slow = math.hypot(vx, vy) <= self._within.speed and math.hypot(wx, wy) <= self._within.rate
        if not (near and slow and height >= self._upright):
            self.since = t
        return SETTLED if t - self.since >= self._within.hold - _INSTANT else ""

    def score(self, run: Rollout) -> SettlingScore:
        """Return the score of the run that this detector could end."""
        travel = float(distances(run)[1:].max(initial=0.0))
        return SettlingScore(self.since if run.ended == SETTLED else math.nan, travel, effort(run))


def until_rest(reference=(0.0, 0.0), after: float = 0.0) -> SettlingDetector:
    """A `stop` that ends a run when the rod has fallen, or there is nothing more to see."""
    return SettlingDetector(REST, reference, 0.5 * math.pi, after)


def until_fall() -> SettlingDetector:
    """A `stop` that ends a run when the rod has fallen."""
    return SettlingDetector(None, fallen=0.5 * math.pi)


def curves(run: Rollout, most: int = 300) -> dict[str, list[float]]:
    """The run for a picture: t [s], tilt [deg], x, y [m], force [N], at most about `most`
    points.
    """
    every = max(1, math.ceil(len(run.force) / most))
    rounded = {
        "t": run.t[:-1:every] - run.t[0],
        "tilt": np.degrees(tilts(run)[:-1:every]),
        "x": run.q[:-1:every, 0],
        "y": run.q[:-1:every, 1],
        "force": np.hypot(*run.force.T)[::every],
    }
    return {name: np.round(values, 5).tolist() for name, values in rounded.items()}


def lean(run: Rollout) -> Array:
    """The log-map tilt towards x and y, (n + 1, 2) [rad]."""
    k = trial.axis(run.q)
    n = np.hypot(k[:, 0], k[:, 1])
    return (np.arctan2(n, k[:, 2]) / np.where(n > 0.0, n, 1.0))[:, None] * k[:, :2]


def compute(run: Rollout) -> dict[str, float]:
    """Processor time of a command [ms]: median and largest."""
    times = 1e3 * run.compute if len(run.compute) else np.array((math.nan,))
    return {"compute_median": float(np.median(times)), "compute_max": float(times.max())}


def decays(run: Rollout) -> bool:
    """Whether tilt and force are smaller in the last tenth than in the first.

    A force that chatters hardly moves the rod; between its limits it is of one size, but for
    round-off.
    """

    def shrinks(size: Array) -> bool:
        tenth = max(1, len(size) // 10)
        return bool(size[-tenth:].max() < (1.0 - 1e-9) * size[:tenth].max())

    return not run.ended and shrinks(tilts(run)) and shrinks(np.hypot(*run.force.T))


LASTING = 0.05  # [s] of a push
HEIGHT = 0.9  # of the rod's length: its tip is above that where the rod is upright


def is_upright(run: Rollout) -> Array:
    """Whether the tip is above 0.9 l in each row (n + 1,): cos(tilt) >= 0.9."""
    return np.cos(tilts(run)) >= HEIGHT


def upright_since(run: Rollout) -> float:
    """Since when the rod is upright, to the end of the run [s]; inf where it is not at the end, or
    the run broke off.
    """
    return math.inf if run.ended else inside_since(run.t, ~is_upright(run)) - run.t.item(0)


def push_tip(
    impulse: float, azimuth: float, length: float, lasting: float, time: float = 0.0
) -> Push:
    """A push on the tip of a rod of `length` [m]: an `impulse` [N s], spread over `lasting` [s]
    from `time` [s] on, horizontal, towards the azimuth [rad].
    """
    force = impulse / lasting
    x, y = force * math.cos(azimuth), force * math.sin(azimuth)
    return Push(time, lasting, (x, y, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, length))


def draw_pushes(
    rng: np.random.Generator, duration: float, interval: float, largest: float, length: float
) -> tuple[Push, ...]:
    """Random pushes on the tip of a rod of `length` [m], at intervals of [0.5, 1.5] `interval` [s]
    from 0.5 `interval` on, in any horizontal direction, of an impulse of [0.3, 1] `largest` [N s].
    """
    pushes, t = [], 0.5 * interval
    while t < duration:
        azimuth = rng.uniform(0.0, 2.0 * math.pi)
        impulse = rng.uniform(0.3, 1.0) * largest
        pushes.append(push_tip(impulse, azimuth, length, LASTING, t))
        t += interval * rng.uniform(0.5, 1.5)
    return tuple(pushes)
