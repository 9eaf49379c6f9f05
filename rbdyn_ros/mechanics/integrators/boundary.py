"""What a stepper takes from Python: float arrays of the right shapes that it may write to.

A read-only, strided or integer array would compile the stepper once more, one of another shape
would be read beyond its end.
"""

import numpy as np

from rbdyn_ros.geometry import arguments
from rbdyn_ros.types import Array, Input, State


def copies(state: State) -> tuple[Array, Array]:
    """(q, v) of the state as arrays of one's own.

    ValueError if their shapes are not (6,) and (5,).
    """
    q, v = np.array(state.q, float), np.array(state.v, float)
    _require(q.shape == (6,), q, "state.q", "(6,)")
    _require(v.shape == (5,), v, "state.v", "(5,)")
    return q, v


def start(state: State) -> tuple[Array, Array]:
    """`copies` of a state from which steps are taken.

    ValueError if q[2:] is not a unit quaternion.
    """
    q, v = copies(state)
    arguments.unit_quaternion(q[2:], "the attitude state.q[2:]")
    return q, v


def accepted(input: Input) -> Input:
    """The input itself, its arrays copied where need be.

    ValueError if a shape is not that of `types.Input`.
    """
    force, sines, disturbance = (np.require(array, float, ("C", "W", "A")) for array in input)
    _require(force.shape == (2,), force, "input.force", "(2,)")
    _require(sines.ndim == 2 and sines.shape[1] == 4, sines, "input.sines", "(n, 4)")
    _require(disturbance.shape == (9,), disturbance, "input.disturbance", "(9,)")
    return Input(force, sines, disturbance)


def _require(good: bool, array: Array, name: str, shape: str) -> None:
    if not good:
        raise ValueError(f"{name} has shape {array.shape}; it must be {shape}")
