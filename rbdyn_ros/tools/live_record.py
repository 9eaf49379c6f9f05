"""Record the motion of a loop that runs over topics while it is excited: a table for `identify`.

Of each state the table has the force that was commanded last: that which answers it, where none is
missing.
"""

import bisect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from rbdyn_ros.geometry import unit_quaternion
from rbdyn_ros.interrupts import Interruption
from rbdyn_ros.parameters.controller import Excitation
from rbdyn_ros.tools.running_loop import Interrupted, OfController
from rbdyn_ros.types import Array

COLUMNS = tuple("t,x,y,qw,qx,qy,qz,vx,vy,wx,wy,wz,Fx,Fy".split(","))


def record(
    given: Excitation,
    period: float,
    duration: float,
    reach: tuple[str, float],
    progress: Callable[[float], Any] = lambda seconds: None,
) -> dict[str, Array]:
    """The columns (n,) of `duration` [s] of a loop of the control period `period` [s], excited as
    `given`; `reach` is the namespace of the nodes, and how long to wait for them [s].

    States are samples of that period: what a stamp is early or late by, less than half of it, is
    the clock's.

    ValueError; RuntimeError where nobody answers; KeyboardInterrupt, the excitation being off.
    """
    namespace, waiting = reach
    with Interruption() as stop:
        try:
            with OfController(namespace, waiting, stop) as loop:
                if loop.period != period:
                    raise ValueError(
                        f"the period of {loop.name} is {loop.period:g} s and that of the design "
                        f"{period:g} s; give the node's, --set period=..."
                    )
                loop.excite(given, duration, progress)
        except Interrupted:
            raise KeyboardInterrupt from None
    rows, stamps = [], sorted(loop.forces)
    for stamp, (x, y, *turn_and_rates) in loop.states.items():
        newest = bisect.bisect_right(stamps, stamp) - 1
        if stamp < loop.begun or newest < 0:
            continue
        q, v, w = (tuple(turn_and_rates[i:j]) for i, j in ((0, 4), (4, 7), (7, 10)))
        velocity, force = unit_quaternion.rotate(q, v)[:2], loop.forces[stamps[newest]]
        rows.append((1e-9 * (stamp - loop.begun), x, y, *q, *velocity, *w, *force))
    columns: dict[str, Array] = dict(zip(COLUMNS, np.array(rows).T))
    steps = np.maximum(1.0, np.rint(np.diff(columns["t"]) / period))
    columns["t"] = period * np.concatenate(([0.0], np.cumsum(steps)))
    return columns


def write(draft: Path, columns: dict[str, Array]) -> None:
    """Write the columns as an .npz file."""
    with open(draft, "wb") as file:
        np.savez(file, allow_pickle=False, **columns)
