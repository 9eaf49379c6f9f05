"""The record of a run in an entry: the forces that acted, and the state every `EVERY` periods; and
its replay, which applies the forces to the plant again and needs no law.

Forces are kept to `RESOLUTION`. An upright rod doubles an error every quarter of a second, so the
replay begins again at each recorded state, and compares where the next one is.
"""

import base64
import binascii
import math
import zlib
from typing import Any

import numpy as np

from rbdyn_ros.integrators.select import select as integrator
from rbdyn_ros.pendulum import spherical_pendulum
from rbdyn_ros.plant import closed_loop
from rbdyn_ros.plant.rollout import Rollout
from rbdyn_ros.types import Array, State

EVERY = 250  # periods
RESOLUTION = 0.001  # [N]
CLOSE = 1e-3  # [m, rad, m/s, rad/s] between the replay and a recorded state


def record(run: Rollout) -> dict[str, Any]:
    """Return the record of a run, for JSON."""
    whole = np.rint(run.force / RESOLUTION).astype("<i4")
    packed = zlib.compress(np.diff(whole, axis=0, prepend=np.zeros((1, 2), "<i4")).tobytes(), 9)
    rows = [*range(0, len(run.force), EVERY), len(run.force)]
    first, *rest = np.hstack((run.q[rows], run.v[rows]))
    # the first as it was: a rod that hangs leans by the last digit only, to where laws turn it
    states = [first.tolist(), *(state.round(9).tolist() for state in rest)]
    return {"forces": base64.b64encode(packed).decode(), "states": states}


def forces(recorded: dict[str, Any]) -> Array:
    """Return the recorded forces (n, 2) [N]. Raise ValueError for what is no record."""
    try:
        steps = np.frombuffer(zlib.decompress(base64.b64decode(recorded["forces"])), "<i4")
        return RESOLUTION * np.cumsum(steps.reshape(-1, 2), axis=0)
    except (KeyError, TypeError, ValueError, binascii.Error, zlib.error) as error:
        raise ValueError(f"its forces cannot be read: {error}") from None


class _Player:
    """A law that plays recorded forces, the first at its first command."""

    def __init__(self, forces: Array):
        self._forces = iter(forces)

    def command(self, t: float, state: State, reference: Array) -> Array:
        """Return the next force (2,) [N]."""
        return next(self._forces)


def replay(
    params: spherical_pendulum.Params, scenario, recorded: dict[str, Any], pushes: tuple = ()
) -> Rollout:
    """Return the run of recorded forces, under the pushes of the time. Raise ValueError, with the
    first time and place, where it leads to other states than those recorded.
    """
    applied, h, begin = forces(recorded), scenario.period, 0
    states, rows = np.array(recorded["states"], float).reshape(-1, 11), []
    if len(states) != 1 + math.ceil(len(applied) / EVERY):
        raise ValueError(f"{len(applied)} forces and {len(states)} states are no record")
    for state, following in zip(states, states[1:]):
        played = applied[begin : begin + EVERY]
        conditions = closed_loop.Conditions(
            force_limit=scenario.force_limit + RESOLUTION, step=scenario.step, pushes=pushes
        )
        at = State(begin * h, state[:6], state[6:])
        run = closed_loop.run(
            params,
            integrator(scenario.integrator),
            _Player(played),
            at,
            len(played) * h,
            h,
            conditions,
        )
        away = np.abs(np.append(run.q[-1], run.v[-1]) - following).max()
        if run.fault or not away <= CLOSE:
            raise ValueError(
                f"the recorded forces do not give the recorded motion: at t = {run.t[-1]:.3f} s "
                f"it is {away:.3g} away; it must be <= {CLOSE:g}"
            )
        rows.append(run)
        begin += len(played)
    last = rows[-1]
    return last._replace(
        t=h * np.arange(begin + 1),
        q=np.vstack([run.q[:-1] for run in rows] + [last.q[-1:]]),
        v=np.vstack([run.v[:-1] for run in rows] + [last.v[-1:]]),
        force=applied,
    )
