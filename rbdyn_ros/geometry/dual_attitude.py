"""An attitude with derivatives: a quaternion of floats and a small turn in dual numbers.

(Q, theta) stands for R = R(Q) exp(theta^), theta [rad, body] of the value 0. Four dual numbers
with |q| = 1 would carry one more, and their products and matrices take twice the work:

    R^T a = R(Q)^T a + (R(Q)^T a) x theta,     log(R^T dR) of R o F:  F^T theta + theta_F.
"""

from rbdyn_ros.geometry import unit_quaternion, vec
from rbdyn_ros.geometry.dual import value, with_value
from rbdyn_ros.kernel import inlined


@inlined
def real(a):
    """Return the values of a vector."""
    return value(a[0]), value(a[1]), value(a[2])


@inlined
def with_values(a, values):
    """Return the derivatives of a vector with other values."""
    return (
        with_value(a[0], values[0]),
        with_value(a[1], values[1]),
        with_value(a[2], values[2]),
    )


@inlined
def turn_frame(a, theta):
    """Return the components of a, given in a frame, in the frame turned by theta."""
    return with_values(vec.add(a, vec.cross(real(a), theta)), real(a))


@inlined
def matrix(attitude):
    """Return the rows of R."""
    Q, theta = attitude
    R = unit_quaternion.matrix(Q)
    return turn_frame(R[0], theta), turn_frame(R[1], theta), turn_frame(R[2], theta)


@inlined
def quaternion(attitude):
    """Return the attitude as a quaternion of dual numbers."""
    Q, theta = attitude
    a, b, c = theta
    return unit_quaternion.product(Q, (1.0, 0.5 * a, 0.5 * b, 0.5 * c))


@inlined
def from_quaternion(Q):
    """Return the attitude of a quaternion of dual numbers, |q| = 1."""
    q = value(Q[0]), value(Q[1]), value(Q[2]), value(Q[3])
    _, a, b, c = unit_quaternion.product(unit_quaternion.conjugate(q), Q)
    return q, with_values((2.0 * a, 2.0 * b, 2.0 * c), (0.0, 0.0, 0.0))


@inlined
def own_turn(s, v):
    """Return the turn [body, after it] of a quaternion (s, v) of dual numbers from its values,
    |(s, v)| = 1: 2 vec(q* o dq).
    """
    s0, v0 = value(s), real(v)
    return vec.scale(2.0, vec.sub(vec.axpy(s0, v, vec.scale(-s, v0)), vec.cross(v0, v)))


@inlined
def compose(attitude, turn, own):
    """Return the attitude after the turn of a quaternion of floats, whose own turn is `own`."""
    Q, theta = attitude
    theta = vec.add(own, unit_quaternion.inverse_rotate(turn, theta))
    return unit_quaternion.product(Q, turn), with_values(theta, (0.0, 0.0, 0.0))
