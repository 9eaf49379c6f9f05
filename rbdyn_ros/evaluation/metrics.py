"""What a measure is given and returns, and what all of them take from a run: the scenario of a
case, with the settings that every measure understands; and the only definition of when a run has
settled: settling time, effort, travel, its end; when the rod is upright, and random pushes.

A file of measures/ exports

    measure(bench, scenario, settings)  -> Metric

One that is about many independent runs exports, in the place of `measure`, what lets them be
shared among processes:

    starts(bench, scenario, settings)           how many there are
    outcomes(bench, scenario, settings, part)   rows (n, m) of those in the range `part`
    summary(settings, rows)                       -> Metric

Source of "upright" and of the pushes: RealAIGym, the leaderboards of underactuated double
pendulums (Wiebe et al., "Open source dual-purpose acrobot and pendubot platform: benchmarking
control algorithms for underactuated robotics", IEEE Robotics & Automation Magazine 31 (2024) 113;
version 2 of its scores). Its torque is our force on the cart.
"""

import math
from collections.abc import Mapping
from typing import Annotated, Any, NamedTuple

import numpy as np
from scipy import special

from rbdyn_ros.evaluation.trial import axis, tilt
from rbdyn_ros.integrators.choice import names
from rbdyn_ros.pendulum import spherical_pendulum
from rbdyn_ros.plant.closed_loop import ACTING, COMMANDED, Push
from rbdyn_ros.plant.faults.fault_options import SEED, Faults
from rbdyn_ros.plant.rollout import Rollout
from rbdyn_ros.schema import record, spec, table
from rbdyn_ros.types import Array, State


class Metric(NamedTuple):
    """The outcome of a measure. `curves` are for pictures: name -> list of numbers."""

    values: dict  # name -> float
    curves: dict = {}
    note: str = ""  # a remark for the reader


class NotForThisLaw(Exception):
    """The case does not apply to the law, which is no failure; the message says why."""


class NotRepeatable(Exception):
    """The same run gave two results; the message says how."""


class CannotGoOn(Exception):
    """No further case can be measured; the message says why."""


OBSERVERS = ("none", "encoders", "imu")


class Scenario(NamedTuple):
    """The conditions of a case."""

    force_limit: Annotated[
        float, spec("Limits the norm of the force, of the plant and of the law.", "N", low=0.0)
    ] = 20.0
    travel: Annotated[
        float,
        spec(
            "Limits the distance of the cart from the origin, of plant and law; 0 is no limit.",
            "m",
            low=0.0,
        ),
    ] = 0.0
    period: Annotated[
        float, spec("Sets the control period that the law is designed for.", "s", above=0.0)
    ] = 0.002
    step: Annotated[float, spec("Sets the step of the integrator.", "s", above=0.0)] = 0.001
    integrator: Annotated[
        str, spec("Names the integrator of the plant.", choices=names, suffix=".py")
    ] = "rk4"
    observer: Annotated[
        str,
        spec(
            "Names the sensors of the observer; with none the law sees the state.",
            choices=OBSERVERS,
        ),
    ] = "none"
    observer_force: Annotated[
        str,
        spec(
            "Chooses the force that the observer gets: after limit, faults, delay, or as "
            "commanded.",
            choices=(ACTING, COMMANDED),
        ),
    ] = ACTING
    imu_position: Annotated[float, spec("Sets the distance from the joint to the IMU.", "m")] = 0.3
    seed: Annotated[int, SEED] = SEED.default  # of all random numbers
    faults: Annotated[Faults, "faults."] = Faults()
    law: tuple[tuple[str, Any], ...] = ()  # options of laws, over those of the whole evaluation


SCENARIO = table(Scenario)


def make_scenario(values: dict[str, Any], law: dict[str, Any]) -> Scenario:
    """Return the scenario of checked values by name, and of options of laws."""
    return record(Scenario, values, law=tuple(sorted(law.items())))


SETTLED, FALLEN = "settled", "fallen"  # results of a `SettlingDetector`
_INSTANT = 1e-9  # [s]


class Tolerance(NamedTuple):
    """The tolerances within which a pendulum is at rest; it has settled when it has been within
    all of them for `hold`.
    """

    tilt: float  # [rad] between rod and vertical
    distance: float  # [m] from the cart to the reference
    hold: float = 0.0  # [s]
    speed: float = math.inf  # [m/s] of the cart
    rate: float = math.inf  # [rad/s] of the rod's axis


BALANCE = Tolerance(math.radians(0.5), 0.02)  # of a rod that is balanced
SWING_UP = Tolerance(math.radians(2.0), 0.05, 1.0)  # of a rod that was swung up
# of a rod that was upright for the last second of a trial
STANDING = Tolerance(math.radians(5.0), math.inf, 1.0)
TRIAL = Tolerance(math.radians(1.0), math.inf)  # of a rod that came to rest in a trial
# A run that has been within this tolerance stays within BALANCE.
REST = Tolerance(
    0.1 * BALANCE.tilt, 0.1 * BALANCE.distance, 0.5, 0.4 * BALANCE.distance, 0.4 * BALANCE.tilt
)


def start_state(settings: Mapping[str, Any]) -> State:
    """Return the rod at rest, at the tilt and azimuth [deg] of a measure's settings."""
    tilt, azimuth = math.radians(settings["tilt"]), math.radians(settings["azimuth"])
    return spherical_pendulum.upright(tilt, azimuth)


def ending(run: Rollout) -> str:
    """Return why the run ended early, for the reader; "" where it had settled."""
    return "" if run.ended == SETTLED else run.ended


def tilts(run: Rollout) -> Array:
    """Return the angle between rod and vertical, (n + 1,) [rad]."""
    return tilt(run.q)


def distances(run: Rollout, reference=(0.0, 0.0)) -> Array:
    """Return the distance from the cart to the reference, (n + 1,) [m]."""
    return np.hypot(run.q[:, 0] - reference[0], run.q[:, 1] - reference[1])


def settling_time(run: Rollout, reference=(0.0, 0.0)) -> float:
    """Return the time from which tilt and cart stay within `BALANCE` [s]; inf if they are not at
    the end, or the run ended early.
    """
    if run.ended and run.ended != SETTLED:
        return math.inf
    outside = (tilts(run) > BALANCE.tilt) | (distances(run, reference) > BALANCE.distance)
    return inside_since(run.t, outside) - run.t.item(0)


def inside_since(t: Array, outside: Array) -> float:
    """Return the instant of t (n,) [s] from which on none is `outside` (n,) bool; inf without
    one.
    """
    if not len(t) or outside[-1]:
        return math.inf
    last = np.flatnonzero(outside)
    return t.item(last[-1] + 1 if len(last) else 0)


def has_recovered(run: Rollout) -> bool:
    """Return whether the pendulum has settled, at the origin, by the end of the run."""
    return math.isfinite(settling_time(run))


def effort(run: Rollout) -> float:
    """Return the integral of |u|^2 [N^2 s]."""
    return float((run.force**2).sum() * (run.t[1] - run.t[0])) if len(run.force) else 0.0


def rms(values: Array) -> float:
    """Return the root of the mean square, nan without values."""
    return math.sqrt(float(np.mean(np.square(values)))) if len(values) else math.nan


class SettlingScore(NamedTuple):
    """The outcome of a run that should settle."""

    settled: float  # [s] since when it was within the tolerance; nan: it did not settle
    travel: float  # [m] the cart's largest distance from the origin, after the start
    effort: float  # [N^2 s]


class SettlingDetector:
    """A `stop` of a run, which ends it when the rod has fallen, or pendulum and cart have settled.

    `since` [s] is the last instant outside the tolerance, or the first one that counts.
    """

    def __init__(
        self,
        within: Tolerance,
        reference=(0.0, 0.0),
        fallen: float = math.inf,
        after: float = 0.0,
    ):
        """End the run within the tolerance, or by a fall: a tilt beyond `fallen` [rad].

        Nothing counts until `after` [s].
        """
        self._within, (self._x, self._y), self._after = within, reference, after
        self._upright = math.cos(within.tilt)
        self._fallen = math.cos(fallen) if fallen < math.pi else -math.inf
        self.since = after

    def __call__(self, t: float, q: Array, v: Array) -> str:
        """Check the state at time t and return what ends the run, or ""."""
        if t <= self._after:
            return ""
        x, y, _, i, j, _ = q.tolist()
        height = 1.0 - 2.0 * (i * i + j * j)  # cosine of the tilt
        if height < self._fallen:
            return FALLEN
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
    """Return a `stop` that ends a run when the rod has fallen, or has come to rest within REST."""
    return SettlingDetector(REST, reference, 0.5 * math.pi, after)


def until_fall() -> SettlingDetector:
    """Return a `stop` that ends a run when the rod has fallen."""
    never = Tolerance(0.0, 0.0, hold=math.inf)
    return SettlingDetector(never, fallen=0.5 * math.pi)


SAME = 0.2  # [N] between the forces of two runs that begin alike


def run_twice(bench: Any, *arguments, **options) -> Rollout:
    """Return the run of `Bench.run`, which is measured twice where the law is on the bench. Raise
    NotRepeatable where the forces of the second run differ.
    """
    run = bench.run(*arguments, **options)
    if bench.over_ros:
        return run
    again = bench.run(*arguments, **options)
    n = min(len(run.force), len(again.force))
    away = np.hypot(*(run.force[:n] - again.force[:n]).T)
    if far := np.flatnonzero(away > SAME).tolist():
        raise NotRepeatable(
            f"the law {bench.under_test.name}: the same run, measured twice, has other forces "
            f"from t = {run.t[far[0]]:.3f} s on (by {away.max():.3g} N); its reset does not "
            "forget the past, or it draws random numbers of its own"
        )
    return run


def curves(run: Rollout, most: int = 300) -> dict[str, list[float]]:
    """Return the run for a picture: t [s], tilt [deg], x, y [m], force [N], at most about `most`
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
    """Return the log-map tilt towards x and y, (n + 1, 2) [rad]."""
    k = axis(run.q)
    n = np.hypot(k[:, 0], k[:, 1])
    return (np.arctan2(n, k[:, 2]) / np.where(n > 0.0, n, 1.0))[:, None] * k[:, :2]


def computing_times(run: Rollout) -> dict[str, float]:
    """Return the processor time of a command [ms], median and largest."""
    times = 1e3 * run.compute if len(run.compute) else np.array((math.nan,))
    return {"compute_median": float(np.median(times)), "compute_max": float(times.max())}


def is_decaying(run: Rollout) -> bool:
    """Return whether tilt and force are smaller in the last tenth than in the first.

    A force that chatters hardly moves the rod; between its limits its size is constant, but for
    round-off.
    """

    def is_shrinking(size: Array) -> bool:
        tenth = max(1, len(size) // 10)
        return bool(size[-tenth:].max() < (1.0 - 1e-9) * size[:tenth].max())

    return not run.ended and is_shrinking(tilts(run)) and is_shrinking(np.hypot(*run.force.T))


def mean_interval(shares: Array) -> float:
    """Return half the 95 % interval of the mean of independent shares in [0, 1], by Student's t.

    It is at least that of n runs that agree: others may have the share 1 - 0.025^(1/n).
    """
    n = len(shares)
    if n < 2:
        return 1.0
    spread = special.stdtrit(n - 1, 0.975) * float(np.std(shares, ddof=1)) / math.sqrt(n)
    return max(spread, 0.5 * (1.0 - 0.025 ** (1.0 / n)))


def stratified_interval(shares: Array, draws: int = 1) -> float:
    """Return half the 95 % interval of the mean of shares in [0, 1] of strata in their order, with
    as many draws of each.

    The variance within a stratum is that of its draws, at least that of one stratum in which the
    shares change from 1 to 0; of one draw, from the differences of neighbors.

    Source: W. G. Cochran, Sampling Techniques, 3rd ed., Wiley 1977, sections 5.3 and 5A.12.
    """
    n = len(shares)
    if n < 2:
        return 1.0
    if draws == 1:
        variance = float(np.square(np.diff(shares)).sum()) / (2.0 * n * (n - 1))
        return 1.96 * max(math.sqrt(variance), 0.5 / n)
    within = shares.reshape(-1, draws).var(axis=1, ddof=1)
    # where the change is anywhere in a stratum, p (1 - p) is 1/6 on average
    return 1.96 * math.sqrt(max(float(within.sum()), 1.0 / 6.0) * draws) / n


LASTING = 0.05  # [s] of a push
HEIGHT = 0.9  # of the rod's length; the rod is upright where its tip is above that


def is_upright(run: Rollout) -> Array:
    """Return whether the tip is above 0.9 l in each row (n + 1,): cos(tilt) >= 0.9."""
    return np.cos(tilts(run)) >= HEIGHT


def upright_since(run: Rollout) -> float:
    """Return the time from which the rod is upright to the end of the run [s]; inf where it is not
    at the end, or the run ended early.
    """
    return math.inf if run.ended else inside_since(run.t, ~is_upright(run)) - run.t.item(0)


def push_tip(
    impulse: float, azimuth: float, length: float, lasting: float, time: float = 0.0
) -> Push:
    """Return a push on the tip of a rod of `length` [m]: an `impulse` [N s], spread over `lasting`
    [s] from `time` [s] on, horizontal, towards the azimuth [rad].
    """
    force = impulse / lasting
    x, y = force * math.cos(azimuth), force * math.sin(azimuth)
    return Push(time, lasting, (x, y, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, length))


def draw_pushes(
    rng: np.random.Generator, duration: float, interval: float, largest: float, length: float
) -> tuple[Push, ...]:
    """Draw random pushes on the tip of a rod of `length` [m], at intervals of [0.5, 1.5]
    `interval` [s] from 0.5 `interval` on, in any horizontal direction, with an impulse of [0.3, 1]
    `largest` [N s].
    """
    pushes, t = [], 0.5 * interval
    while t < duration:
        azimuth = rng.uniform(0.0, 2.0 * math.pi)
        impulse = rng.uniform(0.3, 1.0) * largest
        pushes.append(push_tip(impulse, azimuth, length, LASTING, t))
        t += interval * rng.uniform(0.5, 1.5)
    return tuple(pushes)
