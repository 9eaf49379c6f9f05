"""Runs of the samples: those that share a law and its conditions together, compiled where that is
possible, else one by one in `plant.closed_loop`, for laws without a compiled form and for
faults of any kind, scored as lanes are.

A failure of a sample is its outcome, in words, and the campaign goes on.

The starts are given by tilt and azimuth, the rates at which these change, and the cart.
"""

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from rbdyn_ros.control import law_options, law_selection
from rbdyn_ros.evaluation import metrics
from rbdyn_ros.evaluation.campaigns import batch, quantities
from rbdyn_ros.evaluation.campaigns.episode import (
    DIVERGED,
    OUT_OF_BOUNDS,
    SETTLED,
    TIMEOUT,
    Episode,
)
from rbdyn_ros.evaluation.campaigns.plan import NORMAL, CampaignPlan, integers, numbers
from rbdyn_ros.evaluation.metrics import SettlingDetector, Tolerance
from rbdyn_ros.integrators.select import select as select_integrator
from rbdyn_ros.parameters.simulation import plant_params
from rbdyn_ros.pendulum import spherical_pendulum
from rbdyn_ros.pendulum.spherical_pendulum import Params
from rbdyn_ros.plant import closed_loop
from rbdyn_ros.plant.faults.fault_options import Faults, actual, faults
from rbdyn_ros.schema import check
from rbdyn_ros.types import Array, State

COMMAND_TIMEOUT = 10.0  # [s] for one command; the first one may compile


class TrialOutcome(NamedTuple):
    """The outcome of a sample, as a row of `batch.Outcomes`."""

    ended: float  # episode.SETTLED, OUT_OF_BOUNDS, TIMEOUT, or DIVERGED where there is a reason
    settled: float  # [s]; nan: never
    caught: float  # nan: not measured
    travel: float  # [m]
    effort: float  # [N^2 s]
    lasted: float  # [s]
    reason: str  # what the law or the stepper did wrong


def run_one(
    law,
    params: Params,
    wrong: Faults,
    start: Array,
    episode: Episode,
    force_limit: float,
    seed: int,
    name: str = "the law",
) -> TrialOutcome:
    """Run the sample that begins at `start` (11,), q and v, with `params` declared and the faults
    `wrong`.

    Raise ValueError where the plant is invalid. A failure of the law is in the outcome, with its
    `name`.
    """
    try:
        closed_loop.reset(law, name)
    except ValueError as error:
        return TrialOutcome(DIVERGED, math.nan, math.nan, 0.0, 0.0, 0.0, str(error))
    settling = SettlingDetector(Tolerance(episode.tilt, episode.radius, episode.hold))
    conditions = closed_loop.Conditions(
        force_limit=force_limit,
        travel=episode.travel,
        step=episode.period / episode.steps,
        faults=wrong,
        seed=seed,
        stop=settling,
        name=name,
        call_timeout=COMMAND_TIMEOUT,
    )
    state = State(0.0, start[:6].copy(), start[6:].copy())
    times, rk4 = (episode.duration, episode.period), select_integrator("rk4")
    run = closed_loop.run(params, rk4, law, state, *times, conditions)
    settled, travel, effort = settling.score(run)
    ended = OUT_OF_BOUNDS if run.ended else TIMEOUT
    ended = SETTLED if run.ended == metrics.SETTLED else ended
    ended = DIVERGED if run.fault else ended
    lasted = float(run.t[-1])
    return TrialOutcome(ended, settled, math.nan, travel, effort, lasted, run.fault)


def start_rows(values: dict[str, Any], n: int) -> Array:
    """Return q and v (n, 11) from `start.*` in `values`, numbers or arrays (n,).

    With the azimuth phi, the rod is turned by the tilt about the horizontal axis a = (-sin phi,
    cos phi, 0), which is also one of the body: Q = (cos(tilt/2), sin(tilt/2) a). `rate` turns it
    on about a, and `precession`, the velocity of its direction along a, about (-cos phi, -sin phi,
    0) of the body. The spin comes on top.
    """
    tilt, azimuth = np.radians(values["start.tilt"]), np.radians(values["start.azimuth"])
    c, s = np.cos(azimuth), np.sin(azimuth)
    half, rate, precession = tilt / 2.0, values["start.rate"], values["start.precession"]
    x, y, vx, vy, spin = (values[f"start.{name}"] for name in ("x", "y", "vx", "vy", "spin"))
    q = x, y, np.cos(half), -np.sin(half) * s, np.sin(half) * c, 0.0
    v = vx, vy, -rate * s - precession * c, rate * c - precession * s, spin
    starts = np.zeros((n, 11))
    for column, numbers_of_column in enumerate((*q, *v)):
        starts[:, column] = numbers_of_column
    return starts


WORDS = {SETTLED: "settled", OUT_OF_BOUNDS: "left", TIMEOUT: "late", DIVERGED: "lost"}
FAILED = "failed"  # the law or the stepper failed; the reason says how
MEASURED = ("settled", "caught", "travel", "effort", "lasted")  # as in `batch.Outcomes`
MISMATCH = "faults.mismatch."
_APART = ("start.", MISMATCH)  # the values that may differ within a group
_RUBBING = "cart.friction", "joint.friction"  # which the compiled form has not
_FOR_LANES = (MISMATCH, "faults.command.delay")  # the faults that the compiled form covers


class Group(NamedTuple):
    """Samples that share everything but their starts and their true plants."""

    places: Array  # (m,) in the batch
    values: dict  # name -> value, or values (m,) where they differ


def outcomes(plan: CampaignPlan, begin: int, end: int) -> dict[str, Array]:
    """Return the columns of the samples from `begin` up to and without `end`: the values that
    vary, then how it ended.
    """
    varied, n = numbers(plan, begin, end), end - begin
    columns = {"sample": np.arange(begin, end), **varied, "ended": np.full(n, FAILED, object)}
    columns |= {name: np.full(n, np.nan) for name in MEASURED} | {"reason": np.full(n, "", object)}
    for place, reason in _impossible(plan, varied):
        columns["reason"][place] = reason
    seeds = integers(plan.seed, "faults", begin, end)
    for group in _groups(plan, varied, np.flatnonzero(columns["reason"] == "")):
        try:
            _run(group, seeds, columns, _is_for_lanes(plan))
        except ValueError as error:  # no such plant, or no such law for it
            columns["reason"][group.places] = str(error)
    return columns


def is_compiled(plan: CampaignPlan) -> bool:
    """Return whether every sample runs in compiled lanes, so that threads are enough."""
    return _is_for_lanes(plan) and all(
        law_selection.load(name).__name__ in batch.MODULES for name in plan.laws
    )


def _is_for_lanes(plan: CampaignPlan) -> bool:
    """Return whether the compiled form covers the rod, its friction and the faults."""
    fixed = dict(plan.fixed)
    if not batch.is_round(fixed["rod.inertia"]) or any(fixed.get(name, 1.0) for name in _RUBBING):
        return False
    wrong = [name for name, value in plan.fixed if name.startswith("faults.") and np.any(value)]
    wrong += [name for name in plan.varied_names if name.startswith("faults.")]
    return all(name.startswith(_FOR_LANES) for name in wrong)


def _impossible(plan: CampaignPlan, varied: dict) -> Iterator[tuple]:
    """Yield (place, reason) of each sample that drew, from a normal distribution, a value out of
    range.
    """
    known = quantities.table(plan.laws)
    for draw in plan.drawn:
        for place, value in enumerate(varied[draw.name].tolist() if draw.way == NORMAL else ()):
            try:
                check(known[draw.name], value, "drawn")
            except ValueError as error:
                yield place, str(error)


def _groups(plan: CampaignPlan, varied: dict, places: Array) -> Iterator[Group]:
    """Yield the groups of a batch, in the order of their first samples."""
    shared = [name for name in varied if not name.startswith(_APART)]
    members: dict = {}
    for place in places.tolist():
        members.setdefault(tuple(varied[name][place].item() for name in shared), []).append(place)
    for key, of_key in members.items():
        own = {name: column[of_key] for name, column in varied.items() if name not in shared}
        yield Group(np.array(of_key), dict(plan.fixed) | own | dict(zip(shared, key)))


def _law(values: dict):
    """Return the law, designed for the declared plant. Raise ValueError if it cannot be
    designed.
    """
    name, params = values["controller"], plant_params(values)
    module = law_selection.load(name)
    chosen = law_options.from_values(name, module, values)
    return law_selection.make_law(name, module, spherical_pendulum, params, chosen)


def _episode(values: dict) -> Episode:
    """Return the episode of the values, of whole periods. Raise ValueError for a step that does
    not divide the period.
    """
    period = values["period"]
    return Episode(
        duration=period * math.ceil((1.0 - 1e-12) * values["duration"] / period),
        period=period,
        steps=closed_loop.steps(period, values["step"]),
        delay=round(values["faults.command.delay"] / period),
        travel=values["cart.travel"],
        tilt=math.radians(values["settled.tilt"]),
        radius=values["settled.distance"],
        hold=values["settled.hold"],
    )


def _run(group: Group, seeds: Array, columns: dict, in_lanes: bool) -> None:
    """Run a group, `in_lanes` if its law has a compiled form, else one by one in
    `plant.closed_loop`, where each sample draws its faults from its own seed. Raise
    ValueError for an invalid plant or law.
    """
    values, places = group.values, group.places
    law, episode, starts = _law(values), _episode(values), start_rows(values, len(places))
    if in_lanes and batch.compiled_form(law) is not None:
        all_plants = _plants(values, len(places))
        together = batch.run(law, all_plants, starts, episode, threads=1)
        columns["ended"][places] = [WORDS[code] for code in together.ended.tolist()]
        for name in MEASURED:
            columns[name][places] = getattr(together, name)
        return
    who = f"the law {law_selection.short(values['controller'])}"
    for i, place in enumerate(places.tolist()):
        own = _values_of(values, i)
        plant, limit, seed = plant_params(own), own["cart.force_limit"], seeds[place].item()
        found = run_one(law, plant, faults(own), starts[i], episode, limit, seed, who)
        columns["ended"][place] = FAILED if found.reason else WORDS[found.ended]
        columns["reason"][place] = found.reason
        for name in MEASURED:
            columns[name][place] = getattr(found, name)


def _plants(values: dict, n: int):
    """Return the true plant, or one for each sample."""
    declared = plant_params(values)
    if not any(isinstance(v, np.ndarray) for n, v in values.items() if n.startswith(MISMATCH)):
        return actual(declared, faults(values))
    return [actual(declared, faults(_values_of(values, i))) for i in range(n)]


def _values_of(values: dict[str, Any], i: int) -> dict[str, Any]:
    """Return the values of sample i of a group."""
    return {
        name: value[i].item() if isinstance(value, np.ndarray) else value
        for name, value in values.items()
    }
