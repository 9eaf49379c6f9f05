"""The boundary of every stepper: the arrays of a State to tuples in registers, and back."""

from math import isfinite

from rbdyn_ros.kernel import inlined


@inlined
def read(q, v):
    """(x, Q, w, u) of the arrays q (6,), v (5,): cart position, attitude, angular velocity, cart
    velocity.
    """
    return (q[0], q[1]), (q[2], q[3], q[4], q[5]), (v[2], v[3], v[4]), (v[0], v[1])


@inlined
def write(q, v, x, Q, w, u):
    """The inverse of `read`, in place."""
    q[0], q[1] = x
    q[2], q[3], q[4], q[5] = Q
    v[0], v[1] = u
    v[2], v[3], v[4] = w


@inlined
def write_reaction(reaction, F):
    """reaction (3,) := F."""
    reaction[0], reaction[1], reaction[2] = F


@inlined
def finite(x, Q, w, u):
    """Whether every number of the state is finite."""
    return isfinite(x[0] + x[1] + Q[0] + Q[1] + Q[2] + Q[3] + w[0] + w[1] + w[2] + u[0] + u[1])
