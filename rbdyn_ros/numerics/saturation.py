"""The limit of a force's norm: its direction stays, so that no direction is stronger than
another.
"""

import math

from rbdyn_ros.kernel import inlined


@inlined
def saturate(ux, uy, limit):
    """Return (ux, uy) min(1, limit / |u|), without a branch, for laws and their lanes."""
    norm = math.sqrt(ux * ux + uy * uy)
    scale = 1.0 if norm <= limit else limit / norm
    return scale * ux, scale * uy


def limit_force(force, limit):
    """Return the force (2,), its norm at most `limit`, and whether that changed it; exact also for
    numbers that have no square.

    It serves for all that arrives from outside.
    """
    norm = math.hypot(force[0], force[1])
    if norm <= limit:
        return (force[0], force[1]), False
    scale = limit / norm  # first: the product of two tiny numbers would lose its digits
    return (force[0] * scale, force[1] * scale), True


limit_in_kernel = inlined(limit_force)
