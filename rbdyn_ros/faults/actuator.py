"""The cart's drive: what of the force that it is asked for reaches the cart.

With the force u that is asked for, held over the tick h, and its predecessor's result at each stage,

    dead band     u1 = max(0, 1 - d / |u|) u
    saturation    u2 = min(1, s / |u1|) u1
    rate limit    |u3 - u3'| <= r h
    lag           f(t) = u3 + (f0 - u3) exp(-t / T),   mean over the tick  u3 + (f0 - u3) (T / h) (1 - exp(-h / T))
    loss          (1 - loss) times that

exact for a held u: the mean, held for the tick, has the impulse of the lagging force.
"""

import math
from collections import Counter

from rbdyn_ros.faults.options import Faults
from rbdyn_ros.numerics.saturation import limit_force


class Actuator:
    """A drive with a memory.

    `counts` has the ticks in the dead_band, saturated, rate_limited; `missing` [N s] is the
    integral of |asked for - given|, in which lag and loss show too.
    """

    def __init__(self, options: Faults, h: float):
        """h [s] is the time for which a force is held."""
        self._h = h
        self.become(options)
        self.restart()
        self.reset_counts()

    def become(self, options: Faults) -> None:
        """Go on with other numbers."""
        self._drive = options.actuator
        self.ideal = not any(options.actuator)

    def restart(self) -> None:
        """Be without force."""
        self._limited, self._force = (0.0, 0.0), (0.0, 0.0)

    def reset_counts(self) -> None:
        """Count from zero."""
        self.counts, self.missing = Counter(), 0.0

    def applied(self, force: tuple) -> tuple:
        """The mean force (2,) [N] over the next tick when `force` (2,) [N] is asked for."""
        u = (float(force[0]), float(force[1]))
        if self.ideal:
            self._limited = self._force = u
            return u
        drive = self._drive
        self._limited = self._rate_limited(self._saturated(self._banded(u)))
        mean = self._lagging(self._limited)
        given = ((1.0 - drive.loss) * mean[0], (1.0 - drive.loss) * mean[1])
        self.missing += self._h * math.hypot(u[0] - given[0], u[1] - given[1])
        return given

    def _banded(self, u: tuple) -> tuple:
        size, d = math.hypot(*u), self._drive.dead_band
        if size <= d:
            self.counts["dead_band"] += size > 0.0
            return (0.0, 0.0)
        return _scaled(1.0 - d / size, u)

    def _saturated(self, u: tuple) -> tuple:
        force, limited = limit_force(u, self._drive.saturation or math.inf)
        self.counts["saturated"] += limited
        return force

    def _rate_limited(self, u: tuple) -> tuple:
        step, most = (
            (u[0] - self._limited[0], u[1] - self._limited[1]),
            self._drive.rate_limit * self._h,
        )
        size = math.hypot(*step)
        if not 0.0 < most < size:
            return u
        self.counts["rate_limited"] += 1
        part = most / size
        return (self._limited[0] + part * step[0], self._limited[1] + part * step[1])

    def _lagging(self, u: tuple) -> tuple:
        T, h, f0 = self._drive.lag, self._h, self._force
        if T == 0.0:
            self._force = u
            return u
        gone = -math.expm1(-h / T)  # 1 - exp(-h / T)
        self._force = (f0[0] + gone * (u[0] - f0[0]), f0[1] + gone * (u[1] - f0[1]))
        left = gone * T / h
        return (u[0] + left * (f0[0] - u[0]), u[1] + left * (f0[1] - u[1]))


def _scaled(part: float, u: tuple) -> tuple:
    return (part * u[0], part * u[1])
