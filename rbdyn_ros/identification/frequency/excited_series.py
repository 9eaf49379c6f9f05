"""The response of a loop from what was recorded while it was excited: commands and states by their
stamps, in which some may be missing.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from rbdyn_ros.identification.excitation import Multisine
from rbdyn_ros.identification.frequency import frequency_response
from rbdyn_ros.identification.frequency.measurement import AXES, Measurement
from rbdyn_ros.types import Array

MISSING = 0.25  # part of the instants of a record that may be missing


class Series(NamedTuple):
    """What acted, and what was seen, while a loop was excited along one axis."""

    axis: str
    place: Array  # (k,) the instants as multiples of the period
    given: Array  # (k,) d of (F.2) along that axis [N]
    applied: Array  # (k, 2) u = u_c + d [N]
    driven: Array  # (k, 2) what the drive gave [N], to which its limit applies
    outputs: Array  # (k, 4) x, y [m], th_x, th_y [rad]; nan where they were not seen


def of_commands(
    sine: Multisine, h: float, axis: str, t: Array, force: Array, outputs: Array
) -> Series:
    """The series of the forces (k, 2) [N] that a controller sent, with the excitation d(t) in
    them: u = u_c + d, so that L = D / U - 1 where the axes are not coupled (F.8).

    t (k,) [s] are the stamps of the states that the forces answer; `outputs` (k, 4).
    """
    wave = sine.sample(h)
    place = np.rint(np.asarray(t) / h).astype(int)
    given = wave[place % len(wave)]
    force = np.asarray(force, float)
    return Series(axis, place, given, force, force, np.asarray(outputs, float))


def measure(
    sine: Multisine,
    h: float,
    series: Sequence[Series],
    *,
    settling: int = 1,
    periods: int | None = None,
    limit: float = np.inf,
) -> Measurement:
    """The response from one series or one along each axis: the first `settling` periods are left
    out, then all whole periods count, or the first `periods`.

    `limit` [N] is that of the force. Of several entries of an instant the first counts; where one
    is missing the force before is held, as the plant does. ValueError where less than a period is
    left, or more than `MISSING` of the instants are not there.
    """
    length = len(sine.sample(h))
    chosen = sorted(series, key=lambda one: one.axis)
    count = min(_span(one) // length - settling for one in chosen)
    if count < 1:
        shortest = min(map(_span, chosen))
        raise ValueError(
            f"{shortest * h:g} s under the excitation are too short: it needs {settling} periods "
            f"of {sine.period:g} s to settle and one that counts"
        )
    count = min(count, periods or count)
    signals, missing, wrong = [], 0, 0
    for one in chosen:
        instants = one.place.min() + settling * length + np.arange(count * length)
        *filled, driven, late = _filled(one, instants)
        signals.append(filled)
        missing += late
        wrong += np.count_nonzero(np.hypot(*driven.T) > limit * (1.0 - 1e-9))
    total = len(chosen) * count * length
    if missing > MISSING * total:
        raise ValueError(
            f"{missing} of {total} commands are missing, every {h:g} s one: the machine is too "
            "busy, or the period is another; run in lockstep, or record anew"
        )
    command, applied, outputs = (
        np.stack(each).reshape(len(chosen), count, length, -1) for each in zip(*signals)
    )
    axes = "".join(one.axis for one in chosen)
    response = frequency_response.estimate(sine, command, applied, outputs, axes)
    lean = np.hypot(outputs[..., 2], outputs[..., 3])
    return Measurement(response, float(np.nanmax(lean, initial=0.0)), wrong / total, missing)


def _span(one: Series) -> int:
    """Instants from the first to the last."""
    return int(np.ptp(one.place)) + 1 if len(one.place) else 0


def _filled(one: Series, instants: Array) -> tuple[Array, Array, Array, Array, int]:
    """(u_c, u, outputs, what the drive gave) at all `instants`, and how many were missing."""
    places, first = np.unique(one.place, return_index=True)
    newest = np.searchsorted(places, instants, side="right") - 1
    missing = np.count_nonzero(places[newest] != instants)
    applied = one.applied[first][newest]
    command = applied.copy()
    command[:, AXES.index(one.axis)] -= np.interp(instants, places, one.given[first])
    seen = np.isfinite(one.outputs[first]).all(axis=1)
    outputs = np.full((len(instants), 4), np.nan)
    if seen.any():
        for i, values in enumerate(one.outputs[first][seen].T):
            outputs[:, i] = np.interp(instants, places[seen], values)
    return command, applied, outputs, one.driven[first][newest], int(missing)
