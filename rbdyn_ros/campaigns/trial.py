"""Samples are run: those that share a law and its surroundings together, compiled where that is
possible, else one by one.

What goes wrong with a sample is its outcome, in words, and the campaign goes on.
"""

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from rbdyn_ros.campaigns import batch, quantities, single
from rbdyn_ros.campaigns.course import LATE, LEFT, LOST, SETTLED, Course
from rbdyn_ros.campaigns.plan import NORMAL, Plan
from rbdyn_ros.campaigns.samples import integers, numbers
from rbdyn_ros.campaigns.starts import rows
from rbdyn_ros.control import options, select
from rbdyn_ros.faults.mismatch import actual
from rbdyn_ros.faults.options import faults
from rbdyn_ros.mechanics.pendulum import spherical_pendulum
from rbdyn_ros.parameters.plant import plant_params
from rbdyn_ros.schema import check, record
from rbdyn_ros.simulation import closed_loop
from rbdyn_ros.types import Array

WORDS = {SETTLED: "settled", LEFT: "left", LATE: "late", LOST: "lost"}
FAILED = "failed"  # the law or the stepper did; the reason says how
MEASURED = ("settled", "caught", "travel", "effort", "lasted")  # as in `batch.Outcomes`
MISMATCH = "faults.mismatch."
_APART = ("start.", MISMATCH)  # what may differ within a group
_EASY = (MISMATCH, "faults.command.delay")  # the faults that the compiled form knows


class Group(NamedTuple):
    """Samples that share everything but their starts and their true plants."""

    places: Array  # (m,) where they stand in the batch
    values: dict  # name -> value, or values (m,) of what differs


def outcomes(plan: Plan, begin: int, end: int) -> dict[str, Array]:
    """The columns of the samples from `begin` up to and without `end`: what varied, then how it
    ended.
    """
    varied, n = numbers(plan, begin, end), end - begin
    columns = {"sample": np.arange(begin, end), **varied, "ended": np.full(n, FAILED, object)}
    columns |= {name: np.full(n, np.nan) for name in MEASURED} | {"reason": np.full(n, "", object)}
    for place, reason in _impossible(plan, varied):
        columns["reason"][place] = reason
    seeds = integers(plan.seed, "faults", begin, end)
    for group in _groups(plan, varied, np.flatnonzero(columns["reason"] == "")):
        try:
            (_together if _is_easy(plan) else _one_by_one)(group, seeds, columns)
        except ValueError as error:  # no such plant, or no such law for it
            columns["reason"][group.places] = str(error)
    return columns


def is_compiled(plan: Plan) -> bool:
    """Whether every sample runs in compiled lanes, so that threads are enough."""
    return _is_easy(plan) and all(
        select.load(name).__name__ in batch.MODULES for name in plan.laws
    )


def _is_easy(plan: Plan) -> bool:
    """Whether nothing is wrong that the compiled form does not know."""
    wrong = [name for name, value in plan.fixed if name.startswith("faults.") and np.any(value)]
    wrong += [name for name in plan.varied if name.startswith("faults.")]
    return all(name.startswith(_EASY) for name in wrong)


def _impossible(plan: Plan, varied: dict) -> Iterator[tuple]:
    """(place, reason) of each sample that drew, from a normal distribution, what is out of
    range.
    """
    known = quantities.table(plan.laws)
    for draw in plan.drawn:
        for place, value in enumerate(varied[draw.name].tolist() if draw.way == NORMAL else ()):
            try:
                check(known[draw.name], value, "drawn")
            except ValueError as error:
                yield place, str(error)


def _groups(plan: Plan, varied: dict, places: Array) -> Iterator[Group]:
    """The groups of a batch, in the order of their first samples."""
    shared = [name for name in varied if not name.startswith(_APART)]
    members: dict = {}
    for place in places.tolist():
        members.setdefault(tuple(varied[name][place].item() for name in shared), []).append(place)
    for key, of_key in members.items():
        own = {name: column[of_key] for name, column in varied.items() if name not in shared}
        yield Group(np.array(of_key), dict(plan.fixed) | own | dict(zip(shared, key)))


def _law(values: dict):
    """The law, designed for the declared plant. ValueError."""
    name = values["controller"]
    module = select.load(name)
    return select.make_law(
        name,
        module,
        spherical_pendulum,
        plant_params(values),
        options.from_values(name, module, values),
    )


def _course(values: dict) -> Course:
    """The compiled run that the values ask for. ValueError."""
    run = record(quantities.Run, values)
    return Course(
        duration=run.duration,
        period=run.period,
        steps=closed_loop.steps(run.period, run.step),
        delay=round(values["faults.command.delay"] / run.period),
        travel=values["cart.travel"],
        tilt=math.radians(run.tilt),
        radius=run.distance,
        hold=run.hold,
    )


def _together(group: Group, seeds: Array, columns: dict) -> None:
    """A group in lanes; one by one if its law has no compiled form. ValueError."""
    values, n = group.values, len(group.places)
    law, course = _law(values), _course(values)
    if batch.compiled(law) is None:
        return _one_by_one(group, seeds, columns)
    found = batch.run(law, _plants(values, n), rows(values, n), course, threads=1)
    columns["ended"][group.places] = [WORDS[code] for code in found.ended.tolist()]
    for name in MEASURED:
        columns[name][group.places] = getattr(found, name)
    return None


def _plants(values: dict, n: int):
    """The true plant, or one for each sample."""
    varied = [
        name
        for name, value in values.items()
        if name.startswith(MISMATCH) and isinstance(value, np.ndarray)
    ]
    if not varied:
        return actual(plant_params(values), faults(values))
    declared = plant_params(values)
    return [
        actual(declared, faults(values | {name: values[name][i].item() for name in varied}))
        for i in range(n)
    ]


def _one_by_one(group: Group, seeds: Array, columns: dict) -> None:
    """A group in `simulation.closed_loop`; each sample draws its faults from its own seed.

    ValueError.
    """
    law, course = _law(group.values), _course(group.values)
    starts = rows(group.values, len(group.places))
    for i, place in enumerate(group.places.tolist()):
        own = {
            name: value[i].item() if isinstance(value, np.ndarray) else value
            for name, value in group.values.items()
        }
        found = single.run(
            law,
            plant_params(own),
            faults(own),
            starts[i],
            course,
            own["cart.force_limit"],
            seeds[place].item(),
        )
        columns["ended"][place] = FAILED if found.reason else WORDS[found.ended]
        columns["reason"][place] = found.reason
        for name in MEASURED:
            columns[name][place] = getattr(found, name)
