"""What the measures of the leaderboard share: what upright means, random pushes.

Source of the criteria: RealAIGym, the leaderboards of underactuated double pendulums (Wiebe et
al., "Open source dual-purpose acrobot and pendubot platform: benchmarking control algorithms for
underactuated robotics", IEEE Robotics & Automation Magazine 31 (2024) 113; version 2 of its
scores). Its torque is our force on the cart.
"""

import math

import numpy as np

from rbdyn_ros.evaluation import metrics
from rbdyn_ros.simulation.closed_loop import Push
from rbdyn_ros.simulation.rollout import Rollout
from rbdyn_ros.types import Array

LASTING = 0.05  # [s] of a push
HEIGHT = 0.9  # of the rod's length: its tip is above that where the rod is upright


def is_upright(run: Rollout) -> Array:
    """Whether the tip is above 0.9 l in each row (n + 1,): cos(tilt) >= 0.9."""
    return np.cos(metrics.tilts(run)) >= HEIGHT


def upright_since(run: Rollout) -> float:
    """Since when the rod is upright, to the end of the run [s]; inf where it is not at the end, or
    the run broke off.
    """
    return math.inf if run.ended else metrics.inside_since(run.t, ~is_upright(run)) - run.t.item(0)


def push_tip(
    impulse: float, azimuth: float, length: float, lasting: float, time: float = 0.0
) -> Push:
    """A push on the tip of a rod of `length` [m]: an `impulse` [N s], spread over `lasting` [s]
    from `time` [s] on, horizontal, towards the azimuth [rad].
    """
    force = impulse / lasting
    x, y = force * math.cos(azimuth), force * math.sin(azimuth)
    return Push(time, lasting, (x, y, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, length))


def draw_pushes(
    rng: np.random.Generator, duration: float, interval: float, largest: float, length: float
) -> tuple[Push, ...]:
    """Random pushes on the tip of a rod of `length` [m], at intervals of [0.5, 1.5] `interval` [s]
    from 0.5 `interval` on, in any horizontal direction, of an impulse of [0.3, 1] `largest` [N s].
    """
    pushes, t = [], 0.5 * interval
    while t < duration:
        azimuth = rng.uniform(0.0, 2.0 * math.pi)
        impulse = rng.uniform(0.3, 1.0) * largest
        pushes.append(push_tip(impulse, azimuth, length, LASTING, t))
        t += interval * rng.uniform(0.5, 1.5)
    return tuple(pushes)
