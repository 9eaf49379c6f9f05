"""A balancing trial as observed on the topics: curves, pushes, counts. Its process watches, and
needs no compiled function.
"""

from typing import Any, NamedTuple

import numpy as np

from rbdyn_ros.types import Array


class Trial(NamedTuple):
    """The observations from the release on. Times are simulated seconds since the release."""

    t: Array  # (n,) [s]
    q: Array  # (n, 6) x y [m] | w x y z
    force_t: Array  # (m,) [s]
    force: Array  # (m, 2) [N] applied to the cart
    energy_t: Array  # (k,) [s]
    energy: Array  # (k,) [J]
    balance: Array  # (k,) [J] energy - energy at the start - work done since
    pushes: tuple[Any, ...]  # of `ros.demo_session.TipPush`, those that were sent
    counts: dict  # name -> number, counted by the simulator
    wall_time: float  # [s] elapsed
    duration: float  # [s] planned
    failure: str = ""  # why it ended early
    interrupted: bool = False  # ended by the user
    remark: str = ""  # what a controller reported that may have caused the fall


def longest_gap(trial: Trial, since: float, until: float) -> float:
    """Return the longest time [s] between two observed states from `since` to `until`; all of it
    if none came.
    """
    seen = trial.t[(trial.t > since) & (trial.t < until)]
    return float(np.diff(np.concatenate(([since], seen, [max(since, until)]))).max())


def axis(q: Array) -> Array:
    """Return the axis of the rod, k = R e3, (..., 3): k = (2(xz + wy), 2(yz - wx), 1 - 2(x^2 +
    y^2)) of q (..., 6).
    """
    w, x, y, z = np.moveaxis(q[..., 2:], -1, 0)
    return np.stack(
        (2.0 * (x * z + w * y), 2.0 * (y * z - w * x), 1.0 - 2.0 * (x * x + y * y)), axis=-1
    )


def tilt(q: Array) -> Array:
    """Return the angle between rod and vertical, (n,) [rad], in [0, pi]; exact near both ends."""
    k = axis(q)
    return np.arctan2(np.hypot(k[:, 0], k[:, 1]), k[:, 2])
