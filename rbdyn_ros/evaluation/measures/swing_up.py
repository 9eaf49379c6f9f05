"""Swing-ups from random starts to standing: how often, how soon, how far the cart goes.

Many starts of one law run in parallel lanes of compiled code where the law has a compiled form,
else one closed loop after the other. A run has settled by `metrics.SWING_UP`; its time is the
start of the second for which that holds.
"""

import math
from collections.abc import Iterable

import numpy as np

from rbdyn_ros.evaluation.bench import Bench
from rbdyn_ros.evaluation.campaigns import batch
from rbdyn_ros.evaluation.campaigns.episode import Episode
from rbdyn_ros.evaluation.measures.robustness import NUMBERS as DRAWN
from rbdyn_ros.evaluation.metrics import (
    SWING_UP,
    Metric,
    Scenario,
    SettlingDetector,
    SettlingScore,
)
from rbdyn_ros.pendulum import spherical_pendulum
from rbdyn_ros.plant.faults.fault_options import Faults, Mismatch, actual
from rbdyn_ros.types import Array, State


def is_compiled(bench: Bench, scenario: Scenario) -> bool:
    """Return whether the law has a compiled form that covers the scenario: true state, at most a
    delay and a mismatch, and a rod with I_1 = I_2 without Coulomb friction.
    """
    if bench.over_ros:
        return False
    faults, periods = scenario.faults, scenario.faults.command_delay / scenario.period
    return (
        faults == Faults(command_delay=faults.command_delay, mismatch=faults.mismatch)
        and abs(periods - round(periods)) < 1e-9
        and (scenario.observer, scenario.integrator) == ("none", "rk4")
        and batch.is_round(bench.params.rod_inertia)
        and not (bench.params.cart_friction or bench.params.joint_friction)
        and batch.compiled_form(bench.law(scenario)) is not None
    )


def run_starts(bench: Bench, scenario: Scenario, starts: Array, duration: float) -> Array:
    """Return the rows (n, 3) of `SettlingScore` of the starts (n, 11). Raise LawFailed if the law
    fails.
    """
    if is_compiled(bench, scenario):
        return _run_lanes(bench, scenario, starts, duration)
    return np.array([_run_one(bench, scenario, start, duration) for start in starts])


def _run_lanes(bench: Bench, scenario: Scenario, starts: Array, duration: float) -> Array:
    c = scenario
    steps, delay = round(c.period / c.step), round(c.faults.command_delay / c.period)
    planned = Episode(duration, c.period, steps, delay, c.travel or math.inf)
    found = batch.run(bench.law(c), actual(bench.params, c.faults), starts, planned, threads=1)
    return np.column_stack((found.settled, found.travel, found.effort))


def _run_one(bench: Bench, scenario: Scenario, start: Array, duration: float) -> SettlingScore:
    settling = SettlingDetector(SWING_UP)
    run = bench.run(scenario, State(0.0, start[:6], start[6:]), duration, stop=settling)
    return settling.score(run)


def exact(rng) -> tuple[float, ...]:
    """Return the start hanging at rest, which is an equilibrium."""
    return _start(math.pi, 0.0, 0.0, 0.0, 0.0)


def hanging(rng) -> tuple[float, ...]:
    """Draw a start hanging, slightly disturbed: 0.05 rad, 0.02 rad/s, a spin of 3 rad/s."""
    tilt, azimuth = math.pi - rng.uniform(0.0, 0.05), _azimuth(rng)
    down, across = rng.normal(0.0, 0.02, 2)
    return _start(tilt, azimuth, down, across, rng.uniform(-3.0, 3.0))


def precessing(rng) -> tuple[float, ...]:
    """Draw a start on a cone of up to 40 degrees about hanging: precession to 3 rad/s, swing to
    1.5 rad/s, spin to 10 rad/s.
    """
    tilt = math.pi - rng.uniform(0.0, math.radians(40.0))
    swing, precession = rng.uniform(-1.5, 1.5), rng.uniform(-3.0, 3.0)
    return _start(
        tilt, _azimuth(rng), swing, precession * math.sin(tilt), rng.uniform(-10.0, 10.0)
    )


def anywhere(rng) -> tuple[float, ...]:
    """Draw a start with any attitude, a rate of up to 3 rad/s in any direction, spin to 10
    rad/s.
    """
    rate, course = 3.0 * math.sqrt(rng.uniform()), rng.uniform(0.0, 2.0 * math.pi)
    tilt = math.acos(rng.uniform(-1.0, 1.0))
    return _start(
        tilt,
        _azimuth(rng),
        rate * math.cos(course),
        rate * math.sin(course),
        rng.uniform(-10.0, 10.0),
    )


def _azimuth(rng) -> float:
    return rng.uniform(0.0, 2.0 * math.pi)


def _start(tilt: float, azimuth: float, down: float, across: float, spin: float) -> tuple:
    """Return q and v of a rod at `tilt` [rad] towards `azimuth` [rad] whose tip moves `down` and
    `across` [rad/s]; the cart is at rest.

    With the horizontal directions e along the azimuth and n across it, q = exp(tilt n^) and w =
    down n - across e + spin e3.
    """
    c, s = math.cos(azimuth), math.sin(azimuth)
    q = spherical_pendulum.upright(tilt, azimuth).q.tolist()
    return (*q, 0.0, 0.0, -down * s - across * c, down * c - across * s, spin)


def draw(kind: str, seed: int, numbers: Iterable[int]) -> Array:
    """Draw the starts (n, 11), q and v, of a kind of `KINDS`, by their numbers.

    Each depends on the seed and its own number alone, not on how many there are.
    """
    return np.array(
        [KINDS[kind](np.random.default_rng((seed, number))) for number in numbers]
    ).reshape(-1, 11)


KINDS = {kind.__name__: kind for kind in (exact, hanging, precessing, anywhere)}


def starts(bench, scenario, settings) -> int:
    """Return how many starts there are."""
    if settings["start"] == "exact":
        return 1
    if bench.over_ros:
        return settings["starts_over_ros"]
    together = not settings["mismatch_spread"] and is_compiled(bench, scenario)
    return settings["starts" if together else "starts_one_by_one"]


def outcomes(bench, scenario, settings, part: range) -> np.ndarray:
    """Return rows of `metrics.SettlingScore`."""
    drawn = draw(settings["start"], scenario.seed, part)
    spread, duration = settings["mismatch_spread"], settings["duration"]
    if not spread:
        return run_starts(bench, scenario, drawn, duration)
    plants = (draw_scenario(scenario, spread, number) for number in part)
    return np.vstack(
        [run_starts(bench, own, start[None], duration) for own, start in zip(plants, drawn)]
    )


def draw_scenario(scenario, spread: float, number: int):
    """Return the scenario of the start of that number, whose plant differs in each of `DRAWN` by
    at most the part `spread`, uniformly.
    """
    parts = np.random.default_rng((scenario.seed, number, len(DRAWN))).uniform(
        -spread, spread, len(DRAWN)
    )
    return scenario._replace(
        faults=scenario.faults._replace(mismatch=Mismatch(**dict(zip(DRAWN, map(float, parts)))))
    )


def summary(settings, rows: np.ndarray) -> Metric:
    """Return the metrics of all starts together."""
    good = np.isfinite(rows[:, 0])
    values = {"success": 100.0 * float(good.mean()), "travel_median": float(np.median(rows[:, 1]))}
    if good.any():
        times = rows[good, 0]
        p50, p99 = np.percentile(times, (50.0, 99.0))
        values |= {
            "settled_median": float(p50),
            "settled_p99": float(p99),
            "settled_max": float(times.max()),
            "travel_max": float(rows[good, 1].max()),
            "effort_median": float(np.median(rows[good, 2])),
        }
    curves = {"settled": [None if math.isnan(t) else round(t, 3) for t in rows[:, 0].tolist()]}
    return Metric(values, curves, f"{int(good.sum())} of {len(rows)} starts")
