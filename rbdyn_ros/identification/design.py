"""Design the excitation of a loop for `identify`, and predict the intervals that it gives.

A multisine of the loop's band, of which the phases are those of the least crest among `SEEDS`, is
added to the force of the law around the simulated plant. It does not repeat within the record, or
within `LONGEST`: the errors of encoders that round repeat with the motion, and count once. Its
amplitude is the largest with which force, travel and tilt stay within their shares over a period
and the seconds in which it settles. Errors e of deviation sigma give numbers of covariance

    F^-1,   F = J^T J,                                                                        (I.6)

J of (I.3) over sigma along the whole record, if they are white; with errors that repeat with the
motion, as those of rounding encoders do, no record tells more than one period.

Source: L. Ljung, System Identification, 2nd ed. (1999), chapter 13.
"""

import math
from typing import NamedTuple

import numpy as np

from rbdyn_ros.evaluation.trial.closed_loop_table import Loop
from rbdyn_ros.identification import excitation, plant_fit, plant_numbers
from rbdyn_ros.identification.excitation import Multisine
from rbdyn_ros.identification.frequency.measurement import AXES, FALLEN, Excited
from rbdyn_ros.identification.records import Record
from rbdyn_ros.mechanics.pendulum import spherical_pendulum
from rbdyn_ros.mechanics.pendulum.tilt import tilt
from rbdyn_ros.simulation import closed_loop
from rbdyn_ros.types import Array

BAND = (0.1, 5.0)  # [Hz]
LONGEST, SETTLING = 60.0, 10.0  # [s] period of an excitation; time before the motion repeats
SEEDS = 32
SHARE = 0.7  # of the limits of force and travel
LEAN = math.radians(15.0)  # largest tilt
BEGIN = 0.05  # of the force limit, the first amplitude that is tried
TRIALS = 8
ERRORS = (1e-4 / math.sqrt(12.0), 2.0 * math.pi / 4096 / math.sqrt(12.0))  # [m], [rad]
NORMAL = 1.96  # deviations of 95 %


class Design(NamedTuple):
    """An excitation, and what it is predicted to do."""

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
    errors: tuple[float, float] = ERRORS,
    axis: str = "x",
) -> Design:
    """The excitation of `loop` along an axis for a record of `duration` [s], by sensors with
    `errors` of these deviations [m, rad]; the cart may go `travel` [m] from the origin.

    ValueError where the set point leaves no room, the band is none, or the rod falls.
    """
    room = travel - max(map(abs, loop.reference))
    if room <= 0.0:
        raise ValueError(
            f"the set point {loop.reference} is {-room:g} m beyond cart.travel, {travel:g} m: "
            "there is no room for an excitation"
        )
    period = max(min(duration, LONGEST), 1.0 / band[0]) if band[0] > 0.0 else 0.0
    seed = min(range(SEEDS), key=lambda seed: _crest(*band, loop.period, seed, period))
    amplitude = BEGIN * min(loop.conditions.force_limit, 1e3)
    for trial in range(TRIALS):
        sine = excitation.build(*band, loop.period, amplitude, seed, period)
        record, peaks = _run(loop, sine, AXES.index(axis))
        if record is None:
            amplitude *= 0.25
            continue
        limits = SHARE * loop.conditions.force_limit, SHARE * room, LEAN
        factor = min(limit / max(peak, 1e-9) for limit, peak in zip(limits, peaks))
        if trial and 0.9 <= factor:  # the first trial is far from the limits
            break
        amplitude *= min(factor, 50.0)
    else:
        raise ValueError(
            f"no excitation was found under which {loop.name} stays within its limits and the rod "
            "upright: its loop is not stable, or far from linear"
        )
    system = spherical_pendulum.build(loop.params)
    plant_numbers.check(names)
    known = plant_numbers.numbers(system)
    size = np.array([plant_numbers.size_of(n, known[n]) for n in names])
    length = plant_fit.usual_segment(duration)
    J = plant_fit.sensitivity(record, system, names, np.repeat(errors, 2), length) * size
    repeated = NORMAL * size * _deviations(J)
    white = repeated * math.sqrt(min(1.0, sine.period / duration))
    return Design(sine, seed, *peaks, tuple(names), white, repeated)


def _crest(low: float, high: float, h: float, seed: int, period: float) -> float:
    return float(np.abs(excitation.build(low, high, h, 1.0, seed, period).sample(h)).max())


def _run(
    loop: Loop, sine: Multisine, axis: int
) -> tuple[Record | None, tuple[float, float, float]]:
    """(a period after the motion has settled, largest force, distance and tilt); None where the
    rod falls.
    """
    wave = sine.sample(loop.period)
    loop.law.reset()
    law = Excited(loop.law, wave, axis)

    def stop(t: float, q: Array, v: Array) -> str:
        return "the rod fell" if math.hypot(*tilt(q, v)[:2]) > FALLEN else ""

    start = spherical_pendulum.upright(0.0)
    start.q[:2] = loop.reference
    run = closed_loop.run(
        loop.params,
        loop.integrator,
        law,
        start,
        sine.period + min(sine.period, SETTLING),
        loop.period,
        loop.conditions._replace(stop=stop),
    )
    if not run.ok:
        return None, (0.0, 0.0, 0.0)
    lean = max(math.hypot(*tilt(q, v)[:2]) for q, v in zip(run.q, run.v))
    force = np.array(law.sums)
    peaks = (
        float(np.hypot(*force.T).max()),
        float(np.abs(run.q[:, :2] - np.array(loop.reference)).max()),
        lean,
    )
    lead = round(plant_numbers.LARGEST_DELAY / loop.period) + 1
    rows = slice(max(0, len(force) - len(wave) - lead), None)
    record = Record(loop.period, run.q[rows, :2], run.q[rows, 2:], run.v[rows], run.force[rows])
    return record, peaks


def _deviations(J: Array) -> Array:
    """Of numbers by (I.6), inf where nothing is known."""
    _, s, V = np.linalg.svd(J, full_matrices=False)
    weak = s < plant_fit.WEAK * s[0]
    found = np.sqrt(np.sum((V[~weak] / s[~weak, None]) ** 2, axis=0))
    found[(np.abs(V[weak]) > 0.05).any(axis=0)] = np.inf
    return found
