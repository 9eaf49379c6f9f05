"""The cart's drive: the force on the cart that a commanded force results in.

For the commanded force u, held over the tick h, and the result u3' of the tick before,

    dead band     u1 = max(0, 1 - d / |u|) u
    saturation    u2 = min(1, s / |u1|) u1
    rate limit    |u3 - u3'| <= r h
    lag   f(t) = u3 + (f0 - u3) exp(-t / T),
          mean over the tick  u3 + (f0 - u3) (T / h) (1 - exp(-h / T))
    loss          (1 - loss) times this mean

This is exact for a held u: the mean, held for the tick, has the impulse of the lagging force.
"""

import math
from typing import NamedTuple

import numpy as np

from rbdyn_ros.faults.options import Drive, Faults
from rbdyn_ros.kernel import inlined
from rbdyn_ros.numerics.saturation import limit_force
from rbdyn_ros.types import Array

WORDS = ("dead_band", "saturated", "rate_limited")  # the counted effects
_limit = inlined(limit_force)


class DriveState(NamedTuple):
    """A drive as arrays, for the kernel of the tick."""

    options: Array  # (7,) those of `Drive`; the tick [s]; 1 where the drive is ideal, else 0
    force: Array  # (4,) [N] of the last tick: after the rate limit (2), after the lag (2)
    counts: Array  # (4,) ticks of each of WORDS; missing impulse [N s]


@inlined
def drive_force(drive, u):
    """Return the mean force (2,) [N] over the next tick for the commanded force `u` (2,) [N]."""
    d, s, r, T, loss, h, ideal = drive.options
    last, counts = drive.force, drive.counts
    x, y = u
    if ideal == 1.0:
        last[0], last[1], last[2], last[3] = x, y, x, y
        return x, y
    size = math.hypot(x, y)
    counts[0] += 0.0 < size <= d
    rest = 1.0 - d / size if size > d else 0.0
    (x, y), limited = _limit((rest * x, rest * y), s if s > 0.0 else math.inf)
    counts[1] += limited
    change, most = math.hypot(x - last[0], y - last[1]), r * h
    if 0.0 < most < change:
        counts[2] += 1.0
        x = last[0] + most / change * (x - last[0])
        y = last[1] + most / change * (y - last[1])
    last[0], last[1] = x, y
    gone = -math.expm1(-h / T) if T > 0.0 else 1.0  # 1 - exp(-h / T)
    left = gone * T / h
    mean_x, mean_y = x + left * (last[2] - x), y + left * (last[3] - y)
    last[2], last[3] = x + (1.0 - gone) * (last[2] - x), y + (1.0 - gone) * (last[3] - y)
    mean_x, mean_y = (1.0 - loss) * mean_x, (1.0 - loss) * mean_y
    counts[3] += h * math.hypot(u[0] - mean_x, u[1] - mean_y)
    return mean_x, mean_y


class Actuator:
    """A drive with its state, which `drive_force` reads and writes."""

    def __init__(self, options: Faults, h: float):
        """Start without force; `h` [s] is the time for which a force is held."""
        self.state = DriveState(np.zeros(7), np.zeros(4), np.zeros(4))
        self.state.options[5] = h
        self.reconfigure(options)

    def reconfigure(self, options: Faults) -> None:
        """Use other options from now on; the state stays."""
        self.state.options[:5] = options.actuator
        self.state.options[6] = options.actuator == Drive()

    def restart(self) -> None:
        """Reset the force to zero."""
        self.state.force[:] = 0.0

    def reset_counts(self) -> None:
        """Reset the counts and the missing impulse to zero."""
        self.state.counts[:] = 0.0

    @property
    def counts(self) -> dict[str, int]:
        """The numbers of ticks in which the force was in the dead band, saturated and
        rate-limited.
        """
        return {word: int(count) for word, count in zip(WORDS, self.state.counts.tolist())}

    @property
    def missing(self) -> float:
        """The integral of |commanded force - actual force| [N s], to which lag and loss
        contribute, too.
        """
        return self.state.counts.item(3)


def ideal_drive() -> DriveState:
    """Return a drive whose force is the commanded one."""
    return Actuator(Faults(), 1.0).state
