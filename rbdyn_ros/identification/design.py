"""The design of a loop's excitation for `identify`, and the prediction of the intervals that it
gives.

A multisine of the loop's band, of which the phases are those of the least crest among `SEEDS`, is
added to the force of the law around the simulated plant. It does not repeat within the record, or
within `LONGEST`: the errors of encoders that round repeat with the motion, and count once. Its
amplitude is the largest with which force, travel and tilt stay within their shares over a period
and the seconds in which it settles. Errors e of deviation sigma give numbers of covariance

    F^-1,   F = J^T J,                                                                        (I.6)

J of (I.3) over sigma along the whole record, if they are white; with errors that repeat with the
motion, as those of rounding encoders do, no record has more information than one period.

Source: L. Ljung, System Identification, 2nd ed. (1999), chapter 13.

`identify --design` writes the excitation as parameters of the controller node.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import yaml as pyyaml

from rbdyn_ros.evaluation.closed_loop_table import Loop
from rbdyn_ros.identification import excitation, fit_report, plant_fit, plant_numbers
from rbdyn_ros.identification.excitation import Multisine
from rbdyn_ros.identification.frequency.measurement import (
    AXES,
    Excited,
    check_cart,
    outputs_of,
    run_excited,
)
from rbdyn_ros.identification.plant_fit import Fit
from rbdyn_ros.identification.plant_numbers import DELAY
from rbdyn_ros.identification.records import MotionRecord
from rbdyn_ros.parameters import plant_params
from rbdyn_ros.parameters.controller import Excitation
from rbdyn_ros.parameters.yaml_file import flatten_names
from rbdyn_ros.pendulum import spherical_pendulum
from rbdyn_ros.plant import closed_loop
from rbdyn_ros.types import Array, System

BAND = (0.1, 5.0)  # [Hz]
LONGEST, SETTLING = 60.0, 10.0  # [s] period of an excitation; time before the motion repeats
SEEDS = 32
SHARE = 0.7  # of the limits of force and travel
LEAN = math.radians(15.0)  # largest tilt
BEGIN = 0.05  # first amplitude, relative to the force limit
TRIALS = 8
ERRORS = (1e-4 / math.sqrt(12.0), 2.0 * math.pi / 4096 / math.sqrt(12.0))  # [m], [rad]
NORMAL = 1.96  # deviations of 95 %


class Design(NamedTuple):
    """An excitation, and its predicted effects."""

    sine: Multisine
    seed: int
    force: float  # largest norm [N]
    travel: float  # largest distance from the set point along x or y [m]
    tilt: float  # largest [rad]
    names: tuple[str, ...]
    white: Array  # (p,) half the width of the interval of 95 % for white errors
    repeated: Array  # (p,) the same for errors that repeat with the motion


def design(
    loop: Loop,
    travel: float,
    names: tuple[str, ...] = plant_numbers.DEFAULT,
    band: tuple[float, float] = BAND,
    duration: float = 60.0,
    axis: str = "x",
) -> Design:
    """Return the excitation of `loop` along an axis for a record of `duration` [s], by sensors
    with errors of the deviations `ERRORS`; the cart may go `travel` [m] from the origin.

    Raise ValueError where the cart cannot move, the set point leaves no room, the band is empty,
    or the rod falls.
    """
    check_cart(loop)
    room = travel - max(map(abs, loop.reference))
    if room <= 0.0:
        raise ValueError(
            f"the set point {loop.reference} is {-room:g} m beyond cart.travel, {travel:g} m: "
            "there is no room for an excitation"
        )
    period = max(min(duration, LONGEST), 1.0 / band[0]) if band[0] > 0.0 else 0.0

    def crest(seed: int) -> float:
        wave = excitation.build(*band, loop.period, 1.0, seed, period).sample(loop.period)
        return float(np.abs(wave).max())

    seed = min(range(SEEDS), key=crest)

    def sine_of(amplitude: float) -> Multisine:
        return excitation.build(*band, loop.period, amplitude, seed, period)

    sine, record, peaks = _strongest(loop, sine_of, room, AXES.index(axis))
    system = spherical_pendulum.build(loop.params)
    plant_numbers.check(names, system)
    known = plant_numbers.numbers(system)
    size = np.array([plant_numbers.size_of(n, known[n]) for n in names])
    length = plant_fit.usual_segment(duration)
    part = _first(record, duration)
    J = plant_fit.sensitivity(part, system, names, np.repeat(ERRORS, 2), length) * size
    repeated = NORMAL * size * _deviations(J)
    white = repeated * math.sqrt(min(1.0, sine.period / duration))
    return Design(sine, seed, *peaks, tuple(names), white, repeated)


def _strongest(
    loop: Loop, sine_of: Callable[[float], Multisine], room: float, axis: int
) -> tuple[Multisine, MotionRecord, tuple[float, float, float]]:
    """Return the strongest excitation that was found within the limits, a period under it, and its
    peaks. Raise ValueError if there is none.
    """
    limits = SHARE * loop.conditions.force_limit, SHARE * room, LEAN
    amplitude, fell = BEGIN * min(loop.conditions.force_limit, 1e3), math.inf
    found = None
    why = f" (cart.force_limit is {loop.conditions.force_limit:g} N, the cart's room {room:g} m)"
    for trial in range(TRIALS):
        sine = sine_of(amplitude)
        record, peaks = _run(loop, sine, axis)
        if isinstance(record, str):
            below = found[0].amplitude if found else amplitude / 16.0
            fell, why = amplitude, f" ({record})"
            amplitude = math.sqrt(below * fell)
            continue
        factor = min(limit / max(peak, 1e-9) for limit, peak in zip(limits, peaks))
        if factor >= 0.9:
            found = sine, record, peaks
            near = factor < 1.5 or amplitude > 0.7 * fell
            if trial and near:  # the first trial is far from the limits
                break
        amplitude = min(amplitude * min(factor, 50.0), math.sqrt(amplitude * fell))
    if found is None:
        raise ValueError(
            f"no excitation was found under which {loop.name} stays within its limits and the rod "
            f"upright{why}: its loop is not stable, or far from linear"
        )
    return found


def _run(
    loop: Loop, sine: Multisine, axis: int
) -> tuple[MotionRecord | str, tuple[float, float, float]]:
    """Return (a period after the motion has settled, largest force, distance and tilt); instead of
    the period the reason where the rod falls or the law fails.
    """
    wave = sine.sample(loop.period)
    closed_loop.reset(loop.law, loop.conditions.name)
    law = Excited(loop, wave, axis)
    run = run_excited(loop, law, sine.period + min(sine.period, SETTLING))
    if not run.ok:
        return run.message, (0.0, 0.0, 0.0)
    lean = max(math.hypot(*outputs_of(q)[2:]) for q in run.q)
    force = np.array(law.sums)
    peaks = (
        float(np.hypot(*force.T).max()),
        float(np.abs(run.q[:, :2] - np.array(loop.reference)).max()),
        lean,
    )
    lead = round(plant_numbers.LARGEST_DELAY / loop.period) + 1
    rows = slice(max(0, len(force) - len(wave) - lead), None)
    record = MotionRecord(
        loop.period, run.q[rows, :2], run.q[rows, 2:], run.v[rows], run.force[rows]
    )
    return record, peaks


def _first(record: MotionRecord, duration: float) -> MotionRecord:
    """Return the first `duration` [s] of a period, which may be longer."""
    n = round((duration + plant_numbers.LARGEST_DELAY) / record.h) + 1
    place, attitude, velocity = (
        part[: n + 1] for part in (record.place, record.attitude, record.velocity)
    )
    return MotionRecord(record.h, place, attitude, velocity, record.force[:n])


def _deviations(J: Array) -> Array:
    """Return the deviations of the numbers by (I.6), inf for a number that is not determined."""
    _, s, V = np.linalg.svd(J, full_matrices=False)
    weak = s < plant_fit.WEAK * s[0]
    found = np.sqrt(np.sum((V[~weak] / s[~weak, None]) ** 2, axis=0))
    found[(np.abs(V[weak]) > 0.05).any(axis=0)] = np.inf
    return found


NODE = "/**/pendulum_controller"


class DesignProblem(NamedTuple):
    """The task of a design."""

    loop: Loop  # of the present law around the plant as it is known
    values: dict[str, Any]  # of its parameters
    band: tuple[float, float]  # [Hz]
    duration: float  # [s] of the record to come
    axis: str = "x"


def design_for_fit(
    plan: DesignProblem, names: tuple[str, ...], found: Fit | None, system: System
) -> Design:
    """Return the design around the fitted plant, with its delay as whole periods, or around the
    known one where nothing was fitted. Raise ValueError as `design` does.
    """
    loop = plan.loop
    if found:
        fitted = flatten_names(plant_numbers.parameters(plant_numbers.plant(system, found.given)))
        fitted = {n: tuple(v) if isinstance(v, list) else v for n, v in fitted.items()}
        late = round(found.given.get(DELAY, 0.0) / loop.period) * loop.period
        conditions = loop.conditions
        faults = conditions.faults._replace(command_delay=late)
        loop = loop._replace(
            params=plant_params(plan.values | fitted),
            conditions=conditions._replace(faults=faults),
        )
    travel = plan.values["cart.travel"]
    return design(loop, travel, names, plan.band, plan.duration, axis=plan.axis)


def table(plan: DesignProblem, designed: Design) -> str:
    """Return the excitation and the predicted intervals, for a terminal."""
    sine, lines = designed.sine, [_summary(plan, designed)]
    columns = {"white": designed.white}
    if repeats := sine.period < plan.duration - plan.loop.period:
        columns["repeated"] = designed.repeated
    lines.append(f"{'interval of 95 %, +-':22}" + "".join(f"{head:>12}" for head in columns))
    for name, *values in zip(designed.names, *columns.values()):
        unit = f" [{fit_report.UNITS[name]}]" if fit_report.UNITS[name] else ""
        cells = "".join(f"{'unknown' if math.isinf(v) else f'{v:.2g}':>12}" for v in values)
        lines.append(f"{name:22}{cells}{unit}")
    lines.append(f"white: errors without memory, over {plan.duration:g} s")
    if repeats:
        lines[-1] += (
            f"; repeated: errors that come again with the motion every {sine.period:g} s, as of "
            "encoders that round"
        )
    return "\n".join(lines)


def _summary(plan: DesignProblem, designed: Design) -> str:
    sine = designed.sine
    return (
        f"{len(sine.lines)} frequencies from {sine.frequencies[0]:g} to "
        f"{sine.frequencies[-1]:g} Hz along {plan.axis}, amplitude {sine.amplitude:.3g} N, beside "
        f"{plan.loop.name}: force up to {designed.force:.3g} N, cart up to "
        f"{designed.travel:.2g} m, tilt up to {math.degrees(designed.tilt):.2g} degrees"
    )


def yaml(plan: DesignProblem, designed: Design) -> str:
    """Return the text of the file for the controller node, with the prediction in comments."""
    amplitude = float(f"{designed.sine.amplitude:.4g}")
    chosen = Excitation(amplitude, *plan.band, plan.axis, designed.seed, designed.sine.period)
    parameters = {"excitation": chosen._asdict()}
    text = pyyaml.safe_dump({NODE: {"ros__parameters": parameters}}, sort_keys=False)
    head = "".join(f"# {line}".rstrip() + "\n" for line in table(plan, designed).splitlines())
    return head + text
