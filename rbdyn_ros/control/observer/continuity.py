"""Detect that the pendulum was moved elsewhere: a jump between two states that no motion explains.

A simulator's reset, or a person, moves cart and rod while time goes on. The memory of a law or an
observer is invalid then. Only positions count, because velocities do jump at impacts. A smaller
displacement is a disturbance like any other.
"""

import math

import numpy as np

from rbdyn_ros.geometry import unit_quaternion, vec
from rbdyn_ros.kernel import bind, kernel
from rbdyn_ros.types import State

CART, CART_SPEED = 0.03, 5.0  # [m] of noise, [m/s] that no cart reaches
ROD, ROD_SPEED = 0.05, 15.0  # [rad], [rad/s] of its direction; spin turns no direction
LONGEST = 1.0  # [s] that two states may lie apart


class JumpDetector:
    """A detector that compares each state with the one before it."""

    def __init__(self):
        self._last: tuple[float, np.ndarray] | None = None  # t [s], q (6,)
        self._is_continuous = bind(is_continuous, np.zeros(6), np.zeros(6), 0.0)

    def update(self, state: State) -> bool:
        """Return whether the state cannot follow the last one; one that is not finite is
        ignored.
        """
        if not math.isfinite(sum(state.q.tolist())):
            return False
        last = self._last
        self._last = state.t, np.array(state.q, float)  # a copy, of the type that is bound
        return last is not None and not self._is_continuous(
            last[1], self._last[1], state.t - last[0]
        )


@kernel
def is_continuous(before, after, h):
    """Return whether q (6,) `after` can follow q (6,) `before` within h [s]."""
    if (
        not 0.0 <= h <= LONGEST
        or math.hypot(after[0] - before[0], after[1] - before[1]) > CART + CART_SPEED * h
    ):
        return False
    chord = vec.norm(vec.sub(_direction(after), _direction(before)))
    return 2.0 * math.asin(min(1.0, 0.5 * chord)) <= ROD + ROD_SPEED * h


@kernel
def _direction(q):
    """Return the direction (3,) of the rod."""
    return unit_quaternion.rotate((q[2], q[3], q[4], q[5]), (0.0, 0.0, 1.0))
