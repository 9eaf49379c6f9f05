"""The excitation that `identify --design` writes, as parameters of the controller node."""

import math
from typing import Any, NamedTuple

import yaml as pyyaml

from rbdyn_ros.evaluation.trial.closed_loop_table import Loop
from rbdyn_ros.identification import design, plant_numbers, remarks
from rbdyn_ros.identification.design import Design
from rbdyn_ros.identification.plant_fit import Fit
from rbdyn_ros.identification.plant_numbers import DELAY
from rbdyn_ros.parameters import plant_params
from rbdyn_ros.types import System

NODE = "/**/pendulum_controller"


class Plan(NamedTuple):
    """What is to be designed."""

    loop: Loop  # of the present law around the plant as it is known
    values: dict[str, Any]  # of its parameters
    band: tuple[float, float]  # [Hz]
    duration: float  # [s] of the record to come
    axis: str = "x"


def follow(plan: Plan, names: tuple[str, ...], found: Fit | None, system: System) -> Design:
    """The design around the fitted plant, with its delay as whole periods; around the known one
    where nothing was fitted. ValueError.
    """
    loop = plan.loop
    if found:
        given = dict(zip(found.names, found.values.tolist()))
        fitted = _by_name(plant_numbers.parameters(plant_numbers.plant(system, given)))
        late = round(given.get(DELAY, 0.0) / loop.period) * loop.period
        conditions = loop.conditions
        faults = conditions.faults._replace(command_delay=late)
        loop = loop._replace(
            params=plant_params(plan.values | fitted),
            conditions=conditions._replace(faults=faults),
        )
    travel = plan.values["cart.travel"]
    return design.design(loop, travel, names, plan.band, plan.duration, axis=plan.axis)


def _by_name(tree: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    """name -> value of a tree of parameters, its lists as tuples."""
    found: dict[str, Any] = {}
    for name, value in tree.items():
        if isinstance(value, dict):
            found |= _by_name(value, f"{prefix}{name}.")
        else:
            found[prefix + name] = tuple(value) if isinstance(value, list) else value
    return found


def table(plan: Plan, designed: Design) -> str:
    """The excitation and the predicted intervals, for a terminal."""
    sine, lines = designed.sine, [_summary(plan, designed)]
    columns = {"white": designed.white}
    if repeats := sine.period < plan.duration - plan.loop.period:
        columns["repeated"] = designed.repeated
    lines.append(f"{'interval of 95 %, +-':22}" + "".join(f"{head:>12}" for head in columns))
    for name, *values in zip(designed.names, *columns.values()):
        unit = f" [{remarks.UNITS[name]}]" if remarks.UNITS[name] else ""
        cells = "".join(f"{'unknown' if math.isinf(v) else f'{v:.2g}':>12}" for v in values)
        lines.append(f"{name:22}{cells}{unit}")
    lines.append(f"white: errors without memory, over {plan.duration:g} s")
    if repeats:
        lines[-1] += (
            f"; repeated: errors that come again with the motion every {sine.period:g} s, as of "
            "encoders that round"
        )
    return "\n".join(lines)


def _summary(plan: Plan, designed: Design) -> str:
    sine = designed.sine
    return (
        f"{len(sine.lines)} frequencies from {sine.frequencies[0]:g} to "
        f"{sine.frequencies[-1]:g} Hz along {plan.axis}, amplitude {sine.amplitude:.3g} N, beside "
        f"{plan.loop.name}: force up to {designed.force:.3g} N, cart up to "
        f"{designed.travel:.2g} m, tilt up to {math.degrees(designed.tilt):.2g} degrees"
    )


def yaml(plan: Plan, designed: Design) -> str:
    """The file for the controller node, with the prediction in comments."""
    excitation = {
        "amplitude": float(f"{designed.sine.amplitude:.4g}"),
        "low": plan.band[0],
        "high": plan.band[1],
        "axis": plan.axis,
        "seed": designed.seed,
        "period": designed.sine.period,
    }
    text = pyyaml.safe_dump(
        {NODE: {"ros__parameters": {"excitation": excitation}}}, sort_keys=False
    )
    head = "".join(f"# {line}".rstrip() + "\n" for line in table(plan, designed).splitlines())
    return head + text
