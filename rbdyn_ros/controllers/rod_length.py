"""How long the rod really is, seen while it swings.

Between two looks, h apart, the reduced plant says of the rod's direction k, whatever moved the cart and however heavy all is,

    y = phi m l / J,    y = k'' + |k'|^2 k,    phi = -(1 - k k^T) (x'', g)

up to friction and spin, which are small. With k'' and x'' as differences over h, least squares with forgetting give

    kappa = sum phi.y / sum phi.phi.                                                                           (K.17)

What the line does not explain, noise or a push, makes the sums useless, and they say so: unless phi explains `FIT` of y.y, nothing
is concluded. m l / J goes with 1 / length for a rod of whatever mass, so length / believed length = (m l / J) / kappa.
"""

import math
from operator import mul

from rbdyn_ros.types import System

ENOUGH = 300.0  # [m^2/s^4] sum phi.phi before which nothing is said: half a second of swinging
FIT = 0.97  # of sum y.y, that kappa phi must explain
MEMORY = 0.995  # of the sums, from look to look
LEAST = 0.02  # relative difference below which the rod is as believed
MOST = 1.6  # largest factor either way


class RodLength:
    """Remembers the last look, and the sums."""

    def __init__(self, system: System):
        self._system = system
        self._believed = system.rod_mass * system.center / (system.inertia[0] + system.rod_mass * system.center**2)
        self.forget()

    def forget(self) -> None:
        """Begin anew, with the rod as believed."""
        self._last: tuple | None = None
        self._product = self._square = self._seen = 0.0  # sums of phi.y, phi.phi, y.y

    def look(self, t: float, s: tuple) -> None:
        """Take in s = (k, k', x, x') at time t [s]; looks more than 0.1 s apart are not compared."""
        last, self._last = self._last, (t, s)
        if last is not None and 0.0 < t - last[0] <= 0.1:
            phi, y = _regression(last[1], s, t - last[0], self._system.gravity)
            self._product = MEMORY * self._product + sum(map(mul, phi, y))
            self._square = MEMORY * self._square + sum(map(mul, phi, phi))
            self._seen = MEMORY * self._seen + sum(map(mul, y, y))

    @property
    def factor(self) -> float:
        """True length over believed length; 1 while that is not known, or hardly different."""
        if self._square < ENOUGH or self._product <= 0.0 or self._product**2 < FIT * self._square * self._seen:
            return 1.0
        factor = min(MOST, max(1.0 / MOST, self._believed * self._square / self._product))
        return factor if abs(factor - 1.0) > LEAST else 1.0

    def system(self) -> System:
        """The plant with a rod of the true length, its mass spread as before."""
        f, I = self.factor, self._system.inertia
        return self._system._replace(center=f * self._system.center, inertia=(f * f * I[0], f * f * I[1], I[2]))


def _regression(before: tuple, after: tuple, h: float, g: float) -> tuple:
    """(phi (3,), y (3,)) of the interval, taken at its middle."""
    (k0, dk0, _, dx0), (k1, dk1, _, dx1) = before, after
    k = [0.5 * (a + b) for a, b in zip(k0, k1)]
    size = math.hypot(*k)
    k = [c / size for c in k]
    down = [-(b - a) / h for a, b in zip(dx0, dx1)] + [-g]
    along = sum(map(mul, k, down))
    phi = [d - along * c for d, c in zip(down, k)]
    turning = [(b - a) / h for a, b in zip(dk0, dk1)]
    along = sum(map(mul, k, turning))
    return phi, [a - along * c for a, c in zip(turning, k)]
