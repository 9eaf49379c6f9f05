"""Whether the pendulum was put elsewhere: between two states there is a leap that nothing of its kind can do.

A simulator's reset, or a hand, moves cart and rod while time goes on. What a law, or an observer, remembers is then of no
use. Only positions tell: velocities do leap, at impacts. What is moved by less than this is followed as any disturbance.
"""

import math

from rbdyn_ros.geometry import unit_quaternion
from rbdyn_ros.types import State

CART, CART_SPEED = 0.03, 5.0  # [m] what noise may do, [m/s] what no cart does
ROD, ROD_SPEED = 0.05, 15.0  # [rad], [rad/s] of its direction; spin turns no direction
LONGEST = 1.0  # [s] that two states may lie apart


class Course:
    """Remembers the last state."""

    def __init__(self):
        self._last: State | None = None

    def leaps(self, state: State) -> bool:
        """Whether the state cannot follow the last one; one that is not finite is passed over."""
        if not math.isfinite(sum(state.q.tolist())):
            return False
        before, self._last = self._last, state
        return before is not None and not continues(before, state)


def continues(before: State, after: State) -> bool:
    """Whether `after` can follow `before`, by their times and positions alone."""
    h = after.t - before.t
    if not 0.0 <= h <= LONGEST:
        return False
    moved = math.hypot(after.q[0] - before.q[0], after.q[1] - before.q[1])
    return moved <= CART + CART_SPEED * h and _angle(before, after) <= ROD + ROD_SPEED * h


def _angle(before: State, after: State) -> float:
    """Between the rod's directions [rad]."""
    a, b = (_direction(state) for state in (before, after))
    return 2.0 * math.asin(min(1.0, 0.5 * math.dist(a, b)))


def _direction(state: State) -> tuple:
    R = unit_quaternion.matrix(tuple(state.q[2:].tolist()))
    return R[0][2], R[1][2], R[2][2]
