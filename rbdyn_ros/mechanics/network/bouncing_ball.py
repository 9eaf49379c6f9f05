"""A ball on a floor: a linear system with one contact, its exact motion, and the instant at which
it comes to rest.

From the gap y_0 at rest, with v_1 = sqrt(2 g y_0) and t_1 = v_1 / g, the n-th impact is at

    t_n = t_1 + 2 t_1 (e + e^2 + ... + e^(n-1)),     u_n^- = -v_1 e^(n-1),
    t_inf = t_1 (1 + e) / (1 - e)                                                            (N.25)
"""

from typing import NamedTuple

import numpy as np

from rbdyn_ros.mechanics.network import laws, second_order
from rbdyn_ros.mechanics.network.second_order import Network, network
from rbdyn_ros.numerics.arguments import number
from rbdyn_ros.types import Array


class Params(NamedTuple):
    """A point mass that falls."""

    mass: float = 1.0  # [kg]
    gravity: float = 9.81  # [m/s^2]
    restitution: float = 0.8  # e
    gap: float = 1.0  # at the start, at rest [m]


def check(params: Params) -> Params:
    """ValueError for a mass, gravity or gap <= 0, or e outside [0, 1]."""
    for name in ("mass", "gravity", "gap"):
        number(getattr(params, name), f"the ball's {name}", 0.0, open_low=True)
    number(params.restitution, "the ball's restitution", 0.0, 1.0)
    return params


def build(params: Params) -> Network:
    """The ball, q = (gap,), and its floor."""
    check(params)
    weight = np.array([-params.mass * params.gravity])
    ball = second_order.linear(params.mass, force=lambda t: weight)
    return network(
        ball,
        second_order.interaction(
            second_order.linear_relation([[1.0]]), laws.newton_impact(params.restitution)
        ),
    )


def rest_time(params: Params) -> float:
    """t_inf [s]; inf for e = 1."""
    first, e = np.sqrt(2.0 * params.gap / params.gravity), params.restitution
    return float(first * (1.0 + e) / (1.0 - e)) if e < 1.0 else float("inf")


def impact_times(params: Params, count: int) -> Array:
    """t_1 ... t_count [s] (N.25)."""
    first = np.sqrt(2.0 * params.gap / params.gravity)
    return first * (
        1.0 + 2.0 * np.concatenate([[0.0], np.cumsum(params.restitution ** np.arange(1.0, count))])
    )


def exact(params: Params, t: Array) -> tuple[Array, Array]:
    """(gap [m], velocity [m/s]) at the times t (k,): arcs between impacts, at rest after t_inf."""
    t = np.asarray(t, float)
    g, e, first = params.gravity, params.restitution, np.sqrt(2.0 * params.gap / params.gravity)
    flights = 400  # e^400 of the first speed is below round-off for every e up to 0.9
    impacts = impact_times(params, flights)
    n = np.searchsorted(impacts, t, side="right")  # impacts so far
    since = t - impacts[np.maximum(n, 1) - 1]
    up = g * first * e ** n.astype(float)
    y = np.where(n == 0, params.gap - 0.5 * g * t * t, up * since - 0.5 * g * since**2)
    v = np.where(n == 0, -g * t, up - g * since)
    rest = t >= (impacts[-1] if e < 1.0 and e**flights < 1e-15 else np.inf)
    return np.where(rest, 0.0, y), np.where(rest, 0.0, v)
