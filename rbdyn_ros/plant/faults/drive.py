"""The drive of the cart and its faults: what they are called, and what they do.

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
from typing import Annotated, NamedTuple

from rbdyn_ros.schema import spec
from rbdyn_ros.types import PART

COUNTED = ("dead_band", "saturated", "rate_limited")  # the counted effects
Force = tuple[float, float]  # [N]


class Drive(NamedTuple):
    """Limits, lag and loss of the cart's drive."""

    dead_band: Annotated[
        float,
        spec(
            "Sets the force that the drive takes off every command; below it there is none.",
            "N",
            low=0.0,
        ),
    ] = 0.0
    saturation: Annotated[
        float,
        spec(
            "Limits the norm of the drive's force without the law's knowledge; 0 is no limit.",
            "N",
            low=0.0,
        ),
    ] = 0.0
    rate_limit: Annotated[
        float,
        spec("Limits the rate of change of the drive's force; 0 is no limit.", "N/s", low=0.0),
    ] = 0.0
    lag: Annotated[float, spec("Sets the time constant of the drive.", "s", low=0.0)] = 0.0
    loss: Annotated[
        float, spec("Sets the fraction of the force that never reaches the cart.", **PART)
    ] = 0.0


class Actuator:
    """A drive with its state; `apply` takes a tick."""

    def __init__(self, options: Drive, h: float):
        """Start without force; `h` [s] is the time for which a force is held."""
        self._h = h
        self.reset_counts()
        self.reconfigure(options)
        self.restart()

    def reconfigure(self, options: Drive) -> None:
        """Use other options from now on; the state stays."""
        self.options, self._is_ideal = options, options == Drive()

    def restart(self) -> None:
        """Reset the force to zero."""
        self._limited: Force = (0.0, 0.0)  # of the last tick, after the rate limit
        self._lagging: Force = (0.0, 0.0)  # and after the lag, at its end

    def reset_counts(self) -> None:
        """Reset the counts and the missing impulse to zero.

        `missing` is the integral of |commanded force - actual force| [N s], to which lag and loss
        contribute, too.
        """
        self.counts, self.missing = dict.fromkeys(COUNTED, 0), 0.0

    def apply(self, force: Force) -> Force:
        """Return the mean force (2,) [N] over the next tick for the commanded one."""
        if self._is_ideal:
            self._limited = self._lagging = force
            return force
        acting = self._lag(self._limit_rate(self._saturate(self._take_dead_band(force))))
        acting = (1.0 - self.options.loss) * acting[0], (1.0 - self.options.loss) * acting[1]
        self.missing += self._h * math.dist(force, acting)
        return acting

    def _take_dead_band(self, u: Force) -> Force:
        band, size = self.options.dead_band, math.hypot(*u)
        self.counts["dead_band"] += 0.0 < size <= band
        rest = 1.0 - band / size if size > band else 0.0
        return rest * u[0], rest * u[1]

    def _saturate(self, u: Force) -> Force:
        most, size = self.options.saturation, math.hypot(*u)
        if not 0.0 < most < size:
            return u
        self.counts["saturated"] += 1
        return most / size * u[0], most / size * u[1]

    def _limit_rate(self, u: Force) -> Force:
        (x, y), most = self._limited, self.options.rate_limit * self._h
        change = math.dist(u, self._limited)
        if 0.0 < most < change:
            self.counts["rate_limited"] += 1
            u = x + most / change * (u[0] - x), y + most / change * (u[1] - y)
        self._limited = u
        return u

    def _lag(self, u: Force) -> Force:
        T, h, (x, y) = self.options.lag, self._h, self._lagging
        gone = -math.expm1(-h / T) if T > 0.0 else 1.0  # 1 - exp(-h / T)
        left = gone * T / h
        self._lagging = u[0] + (1.0 - gone) * (x - u[0]), u[1] + (1.0 - gone) * (y - u[1])
        return u[0] + left * (x - u[0]), u[1] + left * (y - u[1])
