"""Impulses of the colliders of a model, the shapes that can all touch each other."""

import math

import numpy as np

from rbdyn_ros.mechanics import columns as c
from rbdyn_ros.mechanics import packing
from rbdyn_ros.types import Array


def impulses(model) -> tuple[Array, Array]:
    """Return ((k, 2) the colliders i < j that have pressed each other since the last call, (k, 4)
    their impulses [N s]: along the normals, and the vector on the body of i [world]), and reset
    the sums.
    """
    sums, rows = packing.part(model.arena, "touched"), packing.part(model.arena, "pairs")
    used = packing.part(model.arena, "used")[: packing.part(model.arena, "counters")[c.USED, 0], 0]
    of_body = packing.part(model.arena, "collider_integers")[:, c.BODY_OF]
    i, j = packing.part(model.arena, "pair_shapes")[used, :2].T
    totals = rows[used, c.TOTAL : c.TOTAL + 4].copy()
    totals[packing.part(model.arena, "pair_integers")[used, c.A] != of_body[i], 1:] *= -1.0
    np.add.at(sums, i + j * (j - 1) // 2, totals)
    rows[used, c.TOTAL : c.TOTAL + 4] = 0.0
    found = np.flatnonzero(sums.any(axis=1))
    pressed = sums[found].copy()
    sums[:] = 0.0
    return np.array([of_row(int(row)) for row in found], np.int64).reshape(-1, 2), pressed


def of_row(row: int) -> tuple[int, int]:
    """Return the colliders i < j of the row i + j (j - 1)/2 of `touched`."""
    j = (1 + math.isqrt(1 + 8 * row)) // 2
    return row - j * (j - 1) // 2, j


def require_none(model, called: str) -> None:
    """Raise ValueError for a model with colliders, which only the variational step supports."""
    if model.colliders.geoms:
        raise ValueError(f"the model has colliders; {called} knows contact pairs only")
