"""The force that a drive can give."""

import math

from rbdyn_ros.kernel import inlined


@inlined
def saturated(ux, uy, limit):
    """(ux, uy) min(1, limit / |u|): the norm is cut, so that no direction is stronger than another."""
    norm = math.sqrt(ux * ux + uy * uy)
    scale = 1.0 if norm <= limit else limit / norm
    return scale * ux, scale * uy
