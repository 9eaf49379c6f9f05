"""The limit of a force's norm: its direction stays, so that no direction is stronger than
another.
"""

import math
from typing import TypeVar, cast

from rbdyn_ros.kernel import inlined


@inlined
def saturate(ux, uy, limit):
    """Return (ux, uy) min(1, limit / |u|), without a branch, for laws and their lanes."""
    norm = math.sqrt(ux * ux + uy * uy)
    scale = 1.0 if norm <= limit else limit / norm
    return scale * ux, scale * uy


Force = TypeVar("Force", tuple[float, float], tuple[float, float, float])


def limit_force(force: Force, limit: float) -> tuple[Force, bool]:
    """Return the force, its norm at most `limit`, and whether that changed it; exact also for
    numbers that have no square.

    It serves for all that arrives from outside.
    """
    norm = math.hypot(*force)
    if norm <= limit:
        return force, False
    scale = limit / norm  # first: the product of two tiny numbers would lose its digits
    return cast(Force, tuple(scale * part for part in force)), True
