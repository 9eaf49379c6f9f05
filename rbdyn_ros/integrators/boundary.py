"""The arguments that a stepper takes from Python: float arrays of the right shapes that it may
write to.

A read-only, strided or integer array would compile the stepper once more, one of another shape
would be read beyond its end.

Inside, a stepper reads the arrays of a State to tuples in registers, and writes them back.
"""

from math import isfinite

import numpy as np

from rbdyn_ros.geometry import float_arrays, vec, vec2
from rbdyn_ros.kernel import inlined
from rbdyn_ros.numerics.arguments import require_shape
from rbdyn_ros.types import Array, Input, State


def copies(state: State) -> tuple[Array, Array]:
    """Return copies (q, v) of the arrays of the state.

    Raise ValueError if their shapes are not (6,) and (5,).
    """
    q, v = np.array(state.q, float), np.array(state.v, float)
    require_shape("state.q", q, (6,))
    require_shape("state.v", v, (5,))
    return q, v


def start(state: State) -> tuple[Array, Array]:
    """Return `copies` of a state from which steps are taken.

    Raise ValueError if q[2:] is not a unit quaternion.
    """
    q, v = copies(state)
    float_arrays.unit_quaternion(q[2:], "the attitude state.q[2:]")
    return q, v


def accept(input: Input) -> Input:
    """Return the input itself, its arrays copied where need be.

    Raise ValueError if a shape is not that of `types.Input`.
    """
    force, sines, disturbance = (np.require(array, float, ("C", "W", "A")) for array in input)
    require_shape("input.force", force, (2,))
    if sines.ndim != 2 or sines.shape[1] != 4:
        raise ValueError(f"input.sines has shape {sines.shape}; it must be (n, 4)")
    require_shape("input.disturbance", disturbance, (9,))
    return Input(force, sines, disturbance)


@inlined
def read(q, v):
    """Return (x, Q, w, u) of the arrays q (6,), v (5,): cart position, attitude, angular velocity,
    cart velocity.
    """
    return (q[0], q[1]), (q[2], q[3], q[4], q[5]), vec.three(v, 2), (v[0], v[1])


@inlined
def read_plant(system, q, v):
    """Return what `read` does, the velocity of a fixed cart as 0."""
    x, Q, w, u = read(q, v)
    return x, Q, w, vec2.scale(system.cart_free, u)


@inlined
def write(q, v, x, Q, w, u):
    """Write x, Q, w, u to the arrays q, v: the inverse of `read`, in place."""
    q[0], q[1] = x
    q[2], q[3], q[4], q[5] = Q
    v[0], v[1] = u
    v[2], v[3], v[4] = w


@inlined
def write_reaction(reaction, F):
    """Write F to reaction (3,)."""
    reaction[0], reaction[1], reaction[2] = F


@inlined
def is_finite(x, Q, w, u):
    """Return whether every number of the state is finite."""
    return isfinite(x[0] + x[1] + Q[0] + Q[1] + Q[2] + Q[3] + w[0] + w[1] + w[2] + u[0] + u[1])
