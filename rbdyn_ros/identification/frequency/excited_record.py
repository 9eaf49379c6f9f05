"""The response of a loop from a record under the excitation `excitation.*`: commands and states by
their stamps, some of which may be missing, of a bag or a table (.csv, .npz).
"""

from collections.abc import Iterator, Sequence
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from rbdyn_ros.identification import excitation
from rbdyn_ros.identification.excitation import Multisine
from rbdyn_ros.identification.frequency import frequency_response
from rbdyn_ros.identification.frequency.measurement import AXES, LoopMeasurement, outputs_of
from rbdyn_ros.parameters.controller import Excitation
from rbdyn_ros.types import Array
from rbdyn_ros.view import recording

MISSING = 0.25  # part of the instants of a record that may be missing


class Series(NamedTuple):
    """The forces and the outputs of a loop that was excited along one axis."""

    axis: str
    place: Array  # (k,) the instants as multiples of the period
    given: Array  # (k,) d of (F.2) along that axis [N]
    applied: Array  # (k, 2) u = u_c + d [N]
    driven: Array  # (k, 2) force of the drive [N], to which its limit applies
    outputs: Array  # (k, 4) x, y [m], th_x, th_y [rad]; nan where not measured


def of_commands(
    sine: Multisine, h: float, axis: str, t: Array, force: Array, outputs: Array
) -> Series:
    """Return the series of the forces (k, 2) [N] that a controller sent, with the excitation d(t)
    in them: u = u_c + d, so that L = D / U - 1 where the axes are not coupled (F.8).

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
) -> LoopMeasurement:
    """Return the response from one series or one along each axis: the first `settling` periods are
    left out, then all whole periods count, or the first `periods`.

    `limit` [N] is that of the force. Of several entries of an instant the first counts; where one
    is missing the previous force is held, as the plant does. Raise ValueError where less than a
    period is left, or more than `MISSING` of the instants are missing.
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
    signals, missing = [], 0
    for one in chosen:
        instants = one.place.min() + settling * length + np.arange(count * length)
        *filled, late = _fill(one, instants)
        signals.append(filled)
        missing += late
    total = len(chosen) * count * length
    if missing > MISSING * total:
        raise ValueError(
            f"{missing} of {total} commands are missing, every {h:g} s one: the machine is too "
            "busy, or the period is another; run in lockstep, or record anew"
        )
    command, applied, driven, outputs = (
        np.stack(each).reshape(len(chosen), count, length, -1) for each in zip(*signals)
    )
    axes = "".join(one.axis for one in chosen)
    response = frequency_response.estimate(sine, command, applied, outputs, axes)
    lean = np.hypot(outputs[..., 2], outputs[..., 3])
    limited = np.hypot(driven[..., 0], driven[..., 1]) > limit * (1.0 - 1e-9)
    largest = float(np.nanmax(lean, initial=0.0))
    return LoopMeasurement(response, largest, float(np.mean(limited)), missing)


def _span(one: Series) -> int:
    """Return the number of instants from the first to the last."""
    return int(np.ptp(one.place)) + 1 if len(one.place) else 0


def _fill(one: Series, instants: Array) -> tuple[Array, Array, Array, Array, int]:
    """Return (u_c, u, force of the drive, outputs) at all `instants`, and how many were
    missing.
    """
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
    return command, applied, one.driven[first][newest], outputs, int(missing)


CONTROLLER, PREFIX = "pendulum_controller", "excitation."
EVEN = 0.02  # part of the period by which the usual interval of commands may differ from it
_COMMAND, _POSE, _EVENTS = "cart/command", "odometry", "parameter_events"
_UNKNOWN = (np.nan,) * 4
Span = tuple[Excitation, Series]


def measure_longest(
    spans: list[Span], h: float, periods: int | None, limit: float
) -> LoopMeasurement:
    """Return the response from the longest span along each axis. Raise ValueError, with one
    sentence, where nothing was excited, or the axes differently.
    """
    chosen: dict[str, Span] = {}
    for given, series in spans:
        if given.axis not in chosen or len(series.place) > len(chosen[given.axis][1].place):
            chosen[given.axis] = given, series
    if not chosen:
        raise ValueError(
            "the loop was not excited: excitation.amplitude is 0 all the time; give what it was "
            "by --amplitude, --band and --seed, or the --params-file of the controller node"
        )
    first, *others = (given._replace(axis="x") for given, _ in chosen.values())
    if any(other != first for other in others):
        raise ValueError(
            f"x and y were excited differently, with {first} and {others[0]}; read one of them"
        )
    sine, series = excitation.of(first, h), [one for _, one in chosen.values()]
    return measure(sine, h, series, periods=periods, limit=limit)


def read(path: Path, given: Excitation, h: float) -> list[Span]:
    """Return the recorded series of each span of time under one excitation, in periods h [s].

    A bag of the recorder may have the changes of `excitation.*` while it was recorded; before
    them, and in a table all the time, the excitation is the `given` one. Raise ValueError, with
    one sentence, if the record cannot be used.
    """
    found = _from_bag(path, given) if path.is_dir() else _from_table(path, given)
    spans = []
    for excited, t, force, outputs in found:
        distance = float(np.median(np.diff(np.unique(t)))) if len(t) > 1 else h
        if abs(distance - h) > EVEN * h:
            raise ValueError(
                f"{path}: its commands are {distance:g} s apart, and the control period is {h:g} "
                "s; give that of the loop, --set period=..."
            )
        sine = excitation.of(excited, h)
        series = of_commands(sine, h, excited.axis, t, force, outputs)
        spans.append((excited, series))
    return spans


def _from_table(path: Path, given: Excitation) -> Iterator[tuple[Excitation, Array, Array, Array]]:
    table = recording.read(path)
    force = np.column_stack((table["Fx"], table["Fy"]))
    known = np.isfinite(force).all(axis=1)
    if not known.any():
        raise ValueError(f"{path}: it has no columns Fx and Fy, the commanded force [N]")
    if not given.amplitude:
        return
    q = np.column_stack([table[name] for name in recording.NEEDED[1:]])
    outputs = np.array([*map(outputs_of, q)])
    yield given, table["t"][known], force[known], outputs[known]


def _from_bag(path: Path, given: Excitation) -> Iterator[tuple[Excitation, Array, Array, Array]]:
    commands, states = _messages(path, given)
    if not commands:
        raise ValueError(f"{path}: it has no messages on cart/command")
    for excited, span in groupby(commands, key=itemgetter(1)):
        if excited.amplitude:
            stamps, _, forces = zip(*span)
            outputs = [states.get(stamp, _UNKNOWN) for stamp in stamps]
            yield excited, 1e-9 * np.array(stamps, float), np.array(forces), np.array(outputs)


def _messages(
    path: Path, given: Excitation
) -> tuple[list[tuple[int, Excitation, tuple[float, float]]], dict[int, tuple[float, ...]]]:
    """Return (stamp [ns], excitation, force) of each command, and stamp -> x, y, th_x, th_y."""
    commands, states = [], {}
    with recording.open_bag(path) as reader:
        wanted = [c for c in reader.connections if c.topic.strip("/").endswith(_COMMAND)]
        for connection in reader.connections:
            topic = connection.topic.strip("/")
            if topic == _EVENTS or (topic.endswith(_POSE) and "ground_truth" not in topic):
                wanted.append(connection)
        for connection, _, raw in reader.messages(wanted) if wanted else ():
            message = reader.deserialize(raw, connection.msgtype)
            if connection.topic.endswith(_EVENTS):
                given = _apply_event(given, message)
            elif connection.topic.endswith(_POSE):
                place, turn = message.pose.pose.position, message.pose.pose.orientation
                q = np.array((place.x, place.y, turn.w, turn.x, turn.y, turn.z))
                states.setdefault(_stamp(message), outputs_of(q))
            else:
                force = message.wrench.force
                commands.append((_stamp(message), given, (force.x, force.y)))
    return commands, states


def _apply_event(given: Excitation, event: Any) -> Excitation:
    """Return the excitation after a rcl_interfaces/ParameterEvent."""
    if not event.node.endswith(CONTROLLER):
        return given
    for parameter in (*event.new_parameters, *event.changed_parameters):
        name, value = parameter.name.removeprefix(PREFIX), parameter.value
        if parameter.name.startswith(PREFIX) and name in given._fields:
            kinds = {2: value.integer_value, 3: value.double_value, 4: value.string_value}
            given = given._replace(**{name: kinds[value.type]})
    return given


def _stamp(message: Any) -> int:
    stamp = message.header.stamp
    return stamp.sec * 1_000_000_000 + stamp.nanosec
