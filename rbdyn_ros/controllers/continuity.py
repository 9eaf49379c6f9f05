"""Whether the pendulum was put elsewhere: between two states there is a leap that nothing of its kind can do.

A simulator's reset, or a hand, moves cart and rod while time goes on. What a law, or an observer, remembers is then of no
use. Only positions tell: velocities do leap, at impacts. What is moved by less than this is followed as any disturbance.
"""

import math
from typing import NamedTuple

from rbdyn_ros.geometry import unit_quaternion
from rbdyn_ros.types import State

CART, CART_SPEED = 0.03, 5.0  # [m] what noise may do, [m/s] what no cart does
ROD, ROD_SPEED = 0.05, 15.0  # [rad], [rad/s] of its direction; spin turns no direction
LONGEST = 1.0  # [s] that two states may lie apart


class Course:
    """Remembers the last state."""

    def __init__(self):
        self._last: Place | None = None

    def leaps(self, state: State) -> bool:
        """Whether the state cannot follow the last one; one that is not finite is passed over."""
        place = placed(state)
        if not math.isfinite(sum(place.cart) + sum(place.rod)):
            return False
        before, self._last = self._last, place
        return before is not None and not continues(before, place)


class Place(NamedTuple):
    """Where the pendulum is."""

    t: float  # [s]
    cart: tuple  # (2,) [m]
    rod: tuple  # (3,) its direction


def placed(state: State) -> Place:
    """The place of a state."""
    x, y, *Q = state.q.tolist()
    R = unit_quaternion.matrix(tuple(Q))
    return Place(state.t, (x, y), (R[0][2], R[1][2], R[2][2]))


def continues(before: Place, after: Place) -> bool:
    """Whether `after` can follow `before`, by their times and positions alone."""
    h = after.t - before.t
    if not 0.0 <= h <= LONGEST or math.dist(before.cart, after.cart) > CART + CART_SPEED * h:
        return False
    angle = 2.0 * math.asin(min(1.0, 0.5 * math.dist(before.rod, after.rod)))
    return angle <= ROD + ROD_SPEED * h
