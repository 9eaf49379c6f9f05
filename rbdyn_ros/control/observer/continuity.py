"""Detect that the pendulum was moved elsewhere: a jump between two states that no motion explains.

A simulator's reset, or a person, moves cart and rod while time goes on. The memory of a law or an
observer is invalid then. Only positions count, because velocities do jump at impacts. A smaller
displacement is a disturbance like any other.

Noise beyond the limits jumps, too, and so do the states of two simulators on one topic. There
nothing was moved, and a law that forgets at each of them has no memory at all. These measurements
are rough: their second differences, which motion leaves small, are a large part of the limit. A
jump in them counts as a displacement once they are smooth again.
"""

import math

import numpy as np

from rbdyn_ros.geometry import unit_quaternion, vec
from rbdyn_ros.kernel import bind, kernel
from rbdyn_ros.types import State

CART, CART_SPEED = 0.03, 5.0  # [m] of noise, [m/s] that no cart reaches
ROD, ROD_SPEED = 0.05, 15.0  # [rad], [rad/s] of its direction; spin turns no direction
LONGEST = 1.0  # [s] that two states may lie apart
MEMORY = 50  # states over which the roughness is averaged
# The mean roughness beyond which jumps are no displacements. One displacement adds at most 3 / 50.
# White noise passes the limits once in a million states from 0.4 on.
ROUGH = 0.15


class JumpDetector:
    """A detector that compares each state with the two before it; `jumped` says whether the newest
    one cannot follow the last one.
    """

    def __init__(self):
        # t [s] of the last state, q (6,) of the two last ones
        self._last: tuple[float, np.ndarray, np.ndarray] | None = None
        self._roughness = bind(roughness, *(np.zeros(6),) * 3, 0.0)
        self._mean, self._has_moved = 0.0, False
        self.jumped = False

    @property
    def is_rough(self) -> bool:
        """Whether jumps are no displacements, because the measurement itself is not continuous."""
        return self._mean > ROUGH

    def update(self, state: State) -> bool:
        """Return whether the pendulum was displaced: with this state, or, while the measurement
        was rough, before it. A state that is not finite is ignored.
        """
        self.jumped = False
        if not math.isfinite(sum(state.q.tolist())):
            return False
        q = np.array(state.q, float)  # a copy, of the type that is bound
        t, before, former = self._last or (state.t, q, q)
        self._last = state.t, q, before
        rough = self._roughness(former, before, q, state.t - t)
        self.jumped = rough == math.inf
        self._mean += (min(rough, 1.0) - self._mean) / MEMORY
        has_moved = self._has_moved or self.jumped
        self._has_moved = has_moved and self.is_rough
        return has_moved and not self.is_rough


@kernel
def roughness(former, before, after, h):
    """Return the second difference of three q (6,) in parts of the limit of `is_continuous`; inf
    if `after` cannot follow `before` within h [s].
    """
    if not is_continuous(before, after, h):
        return math.inf
    cart = math.hypot(
        after[0] - 2.0 * before[0] + former[0], after[1] - 2.0 * before[1] + former[1]
    )
    a, b, c = _direction(after), _direction(before), _direction(former)
    rod = vec.norm(vec.sub(vec.sub(a, b), vec.sub(b, c)))
    return max(cart / (CART + CART_SPEED * h), rod / (ROD + ROD_SPEED * h))


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
