"""Read what was recorded of a loop under `excitation.*`: a bag, or a table (.csv, .npz)."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from rbdyn_ros.identification import excitation
from rbdyn_ros.identification.frequency import excited_series
from rbdyn_ros.identification.frequency.excited_series import Series
from rbdyn_ros.identification.frequency.measurement import Measurement
from rbdyn_ros.mechanics.pendulum.tilt import tilt
from rbdyn_ros.parameters.controller import Excitation
from rbdyn_ros.types import Array
from rbdyn_ros.view import recording

CONTROLLER, PREFIX = "pendulum_controller", "excitation."
EVEN = 0.02  # part of the period by which the usual distance of commands may differ from it
_COMMAND, _POSE, _EVENTS = "cart/command", "odometry", "parameter_events"
_UNKNOWN = (np.nan,) * 4
Stretch = tuple[Excitation, Series]


def measure(stretches: list[Stretch], h: float, periods: int | None, limit: float) -> Measurement:
    """The response from the longest stretch along each axis. ValueError, in one sentence, where
    nothing was excited, or the axes differently.
    """
    chosen: dict[str, Stretch] = {}
    for given, series in stretches:
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
    return excited_series.measure(sine, h, series, periods=periods, limit=limit)


def read(path: Path, given: Excitation, h: float) -> list[Stretch]:
    """What was recorded in each stretch of time under one excitation, in periods h [s].

    A bag of the recorder may have the changes of `excitation.*` while it was recorded; before
    them, and in a table all the time, the excitation is the `given` one. ValueError, in one
    sentence.
    """
    found = _from_bag(path, given) if path.is_dir() else _from_table(path, given)
    stretches = []
    for excited, t, force, outputs in found:
        distance = float(np.median(np.diff(np.unique(t)))) if len(t) > 1 else h
        if abs(distance - h) > EVEN * h:
            raise ValueError(
                f"{path}: its commands are {distance:g} s apart, and the control period is {h:g} "
                "s; give that of the loop, --set period=..."
            )
        sine = excitation.of(excited, h)
        series = excited_series.of_commands(sine, h, excited.axis, t, force, outputs)
        stretches.append((excited, series))
    return stretches


def _from_table(path: Path, given: Excitation) -> Iterator[tuple[Excitation, Array, Array, Array]]:
    table = recording.read(path)
    force = np.column_stack((table["Fx"], table["Fy"]))
    known = np.isfinite(force).all(axis=1)
    if not known.any():
        raise ValueError(f"{path}: it has no columns Fx and Fy, the commanded force [N]")
    if not given.amplitude:
        return
    q = np.column_stack([table[name] for name in recording.NEEDED[1:]])
    outputs = np.array([(*row[:2], *tilt(row, np.zeros(5))[:2]) for row in q])
    yield given, table["t"][known], force[known], outputs[known]


def _from_bag(path: Path, given: Excitation) -> Iterator[tuple[Excitation, Array, Array, Array]]:
    commands, states = _messages(path, given)
    if not commands:
        raise ValueError(f"{path}: it has no messages on cart/command")
    first = 0
    for last in range(1, len(commands) + 1):
        if last < len(commands) and commands[last][1] == commands[first][1]:
            continue
        stretch, excited = commands[first:last], commands[first][1]
        first = last
        if excited.amplitude:
            outputs = [states.get(stamp, _UNKNOWN) for stamp, *_ in stretch]
            t = 1e-9 * np.array([stamp for stamp, *_ in stretch], float)
            yield excited, t, np.array([force for *_, force in stretch]), np.array(outputs)


def _messages(
    path: Path, given: Excitation
) -> tuple[list[tuple[int, Excitation, tuple[float, float]]], dict[int, tuple[float, ...]]]:
    """(stamp [ns], excitation, force) of each command, and stamp -> x, y, th_x, th_y."""
    from rosbags.highlevel import AnyReader, AnyReaderError
    from rosbags.typesys import Stores, get_typestore

    commands, states = [], {}
    try:
        with AnyReader([path], default_typestore=get_typestore(Stores.ROS2_JAZZY)) as reader:
            wanted = [c for c in reader.connections if c.topic.strip("/").endswith(_COMMAND)]
            for connection in reader.connections:
                topic = connection.topic.strip("/")
                if topic == _EVENTS or (topic.endswith(_POSE) and "ground_truth" not in topic):
                    wanted.append(connection)
            for connection, _, raw in reader.messages(wanted) if wanted else ():
                message: Any = reader.deserialize(raw, connection.msgtype)
                if connection.topic.endswith(_EVENTS):
                    given = _changed(given, message)
                elif connection.topic.endswith(_POSE):
                    states.setdefault(_stamp(message), _outputs(message.pose.pose))
                else:
                    force = message.wrench.force
                    commands.append((_stamp(message), given, (force.x, force.y)))
    except (AnyReaderError, OSError) as error:
        raise ValueError(f"{path}: it is no bag that can be read: {error}") from None
    return commands, states


def _changed(given: Excitation, event: Any) -> Excitation:
    """The excitation after a rcl_interfaces/ParameterEvent."""
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


def _outputs(pose: Any) -> tuple[float, ...]:
    place, turn = pose.position, pose.orientation
    q = np.array((place.x, place.y, turn.w, turn.x, turn.y, turn.z))
    return (place.x, place.y, *tilt(q, np.zeros(5))[:2])
