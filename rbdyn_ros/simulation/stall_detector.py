"""How long nothing has moved, of the time in which somebody looked: whoever stands still sees
nothing move.
"""

import time
from collections.abc import Callable

LOOK = 0.5  # [s] that the time from one look to the next counts for at most


class StallDetector:
    """A stopwatch that begins anew whenever what it is shown differs from the last."""

    def __init__(self, clock: Callable = time.monotonic):
        self._clock, self._shown = clock, None
        self.restart()

    def restart(self) -> None:
        """Begin anew."""
        self._looked, self._still = self._clock(), 0.0

    def look(self, shown) -> float:
        """For how long [s] it has been the same."""
        now = self._clock()
        self._still = self._still + min(now - self._looked, LOOK) if shown == self._shown else 0.0
        self._looked, self._shown = now, shown
        return self._still
