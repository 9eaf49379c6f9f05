"""Runs of the pendulum, sampled, and what the experiments read off them."""

from typing import NamedTuple

import numpy as np

from rbdyn_ros.mechanics.integrators.select import Integrator
from rbdyn_ros.mechanics.pendulum.spherical_pendulum import no_input
from rbdyn_ros.simulation import rollout
from rbdyn_ros.types import Array, Input, State, System


def simulate(
    integrator: Integrator,
    system: System,
    state: State,
    h: float,
    duration: float,
    every: float,
    input: Input | None = None,
) -> rollout.Rollout:
    """The pendulum for `duration` [s] in steps of h, a row every `every` [s]; it may end early
    (`ok`).
    """
    return rollout.run(
        integrator,
        system,
        state,
        input or no_input(),
        h,
        round(duration / every),
        round(every / h),
    )


class Conservation(NamedTuple):
    """Largest errors of what is conserved, and the slope of the energy's straight-line fit."""

    energy: float  # [J]
    trend: float  # [J/s]
    vertical_momentum: float  # Lz [kg m^2/s]
    horizontal_momentum: float  # |P| [kg m/s], 0 for a fixed cart
    spin_momentum: float  # p3 [kg m^2/s]
    iterations: float  # per step


def conservation(record: rollout.Rollout, system: System, steps_per_row: int) -> Conservation:
    """What the run did to energy and momenta. On a fixed cart the joint is at the origin."""
    error = np.abs(record.quantities - record.quantities[0])
    trend = np.polyfit(record.t, record.quantities[:, 0], 1)[0]
    P = error[:, 2:4].max() * system.cart_free
    return Conservation(
        error[:, 0].max(),
        abs(trend),
        error[:, 1].max(),
        P,
        error[:, 4].max(),
        record.iterations[1:].mean() / steps_per_row,
    )


def direction(q: Array) -> Array:
    """The rod's direction n = R e3 (..., 3) of configurations (..., 6)."""
    w, x, y, z = np.moveaxis(q[..., 2:], -1, 0)
    return np.stack(
        [2.0 * (x * z + w * y), 2.0 * (y * z - w * x), 1.0 - 2.0 * (x * x + y * y)], axis=-1
    )


def plane_angle(q: Array) -> Array:
    """Tilt from the upright towards +x, unwrapped (n,) [rad], of a rod that stays in the plane y =
    0.
    """
    n = direction(q)
    return np.unwrap(np.arctan2(n[:, 0], n[:, 2]))


def first(t: Array, condition: Array) -> float:
    """The first time at which the condition holds, nan if never."""
    rows = np.flatnonzero(condition)
    return float(t[rows[0]]) if rows.size else np.nan


def largest_so_far(error: Array, windows: int = 100) -> Array:
    """The largest |error| up to the end of each of `windows` equal spans (windows,)."""
    return np.maximum.accumulate([np.abs(span).max() for span in np.array_split(error, windows)])
