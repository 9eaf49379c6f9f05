"""What a demo plays: how the rod leans at the start, and when it is pushed how hard.

A seed chooses the directions.
"""

import math
from random import Random
from typing import NamedTuple

PUSHED_AT = (0.3, 0.6)  # of the duration
# [N] smallest and largest, on the tip, for as long as the simulator lets a disturbance act
PUSH = (
    2.0,
    4.0,
)
TIME_FOR_BOTH = 10.0  # [s] a shorter demo, which leaves less time to recover, has weaker pushes


class Push(NamedTuple):
    """A force on the tip."""

    time: float  # [s] since the release, at which it is asked for
    force: float  # [N]
    azimuth: float  # [rad] of its direction in the rod's cross-section, from the rod's x axis
    felt: float = math.nan  # [s] since the release, when it was seen to act; nan: it was not


class DemoPlan(NamedTuple):
    """One demo."""

    duration: float  # [s] simulated
    orientation: tuple | None  # (4,) wxyz at the start; None leaves it to the parameter files
    pushes: tuple


def demo_plan(duration: float, tilt: float | None, seed: int) -> DemoPlan:
    """The demo of `duration` [s] that begins at `tilt` [rad]; equal seeds give equal demos."""
    draw = Random(seed)
    azimuth, strength = draw.uniform(-math.pi, math.pi), min(1.0, duration / TIME_FOR_BOTH)
    pushes = tuple(
        Push(part * duration, strength * draw.uniform(*PUSH), draw.uniform(-math.pi, math.pi))
        for part in PUSHED_AT
    )
    return DemoPlan(duration, None if tilt is None else leaning(tilt, azimuth), pushes)


def leaning(tilt: float, azimuth: float) -> tuple[float, float, float, float]:
    """The quaternion (4,) wxyz of a rod that leans by `tilt` [rad] towards `azimuth` [rad],
    without spin.

    q = (cos tilt/2, -sin azimuth sin tilt/2, cos azimuth sin tilt/2, 0)
    """
    s = math.sin(0.5 * tilt)
    return (math.cos(0.5 * tilt), -math.sin(azimuth) * s, math.cos(azimuth) * s, 0.0)
