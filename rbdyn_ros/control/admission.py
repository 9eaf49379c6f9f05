"""The check of the states that a law accepts: of the right shapes, finite, with a unit
quaternion.
"""

import math

import numpy as np

from rbdyn_ros.integrators import boundary
from rbdyn_ros.kernel import kernel
from rbdyn_ros.types import Array, State

_UNIT = 1e-3  # how far |quaternion| may be from 1: a measured one is rounded or noisy


def admit(state: State, reference: Array) -> tuple[Array, Array, Array]:
    """Return (q (6,), v (5,), reference (2,)) as arrays that a kernel takes.

    Raise ValueError, with the name and the value, for what is wrong.
    """
    (q, v), r = boundary.copies(state), np.array(reference, float)
    if r.shape != (2,):
        raise ValueError(f"the reference has shape {r.shape}; it must be (2,)")
    if not _is_valid(q, v, r):
        raise _refusal(q, v, r)
    return q, v, r


@kernel
def _is_valid(q, v, r):
    """Return whether every number is finite and the quaternion q[2:] has norm 1."""
    total = q[0] + q[1] + v[0] + v[1] + v[2] + v[3] + v[4] + r[0] + r[1]
    norm = math.sqrt(q[2] * q[2] + q[3] * q[3] + q[4] * q[4] + q[5] * q[5])
    return math.isfinite(total) and abs(norm - 1.0) <= _UNIT


def _refusal(q: Array, v: Array, r: Array) -> ValueError:
    named = {
        "the cart's position": q[:2],
        "the orientation": q[2:],
        "the cart's velocity": v[:2],
        "the angular velocity": v[2:],
        "the reference": r,
    }
    for name, numbers in named.items():
        if not np.isfinite(numbers).all():
            return ValueError(f"{name} is {numbers.tolist()}; every number must be finite")
    norm = np.linalg.norm(q[2:])
    return ValueError(
        f"the orientation has norm {norm:.6g}; it must be 1 within {_UNIT:g}: send a unit "
        "quaternion"
    )
