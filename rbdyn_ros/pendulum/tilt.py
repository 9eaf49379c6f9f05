"""The direction of the rod in the tangent plane at upright: the coordinates in which a controller
that balances the rod is designed.

With k = R e3 the rod's direction [world] and n = (k_x, k_y),

    th  = atan2(|n|, k_z) n / |n|                       logarithm of the sphere S^2 at e3
    W   = R (w1, w2, 0),   th' := (W_y, -W_x)           the spin w3 moves no direction

The length of th is the tilt, up to pi; the projection n in its place decreases again beyond pi/2.
To first order th' is the derivative of th.
"""

import math

from rbdyn_ros.geometry import unit_quaternion, vec
from rbdyn_ros.kernel import inlined, kernel


@kernel
def tilt(q, v):
    """Return (th_x, th_y, th'_x, th'_y) of a state q (6,), v (5,) [rad, rad/s].

    Hanging exactly, where every azimuth is right, th = (pi, 0).
    """
    R = unit_quaternion.matrix((q[2], q[3], q[4], q[5]))
    return on_sphere((R[0][2], R[1][2], R[2][2]), vec.matvec(R, (v[2], v[3], 0.0)))


@inlined
def on_sphere(k, W):
    """Return what `tilt` does for a direction k (3,) and the rate W = k x k' (3,) [rad/s,
    world].
    """
    n = math.hypot(k[0], k[1])  # the root of a sum of squares is wrong below 1e-154
    if n == 0.0:
        return (0.0 if k[2] > 0.0 else math.pi), 0.0, W[1], -W[0]
    angle = math.atan2(n, k[2])
    return angle * (k[0] / n), angle * (k[1] / n), W[1], -W[0]


@kernel
def shift(q, v, change, rate):
    """Return (Q (4,) wxyz, w (3,) [rad/s, body]) of the state that differs from q (6,), v (5,) in
    its tilt by `change` and in the rate of its tilt by `rate`, (2,) each [rad, rad/s]: its `tilt`
    is (th + change, th' + rate). Both tilts are below pi/2.

    The rod turns the shortest way; the spin w3 stays.
    """
    Q = (q[2], q[3], q[4], q[5])
    R = unit_quaternion.matrix(Q)
    k = (R[0][2], R[1][2], R[2][2])
    th = tilt(q, v)
    x, y = th[0] + change[0], th[1] + change[1]
    angle = math.hypot(x, y)
    s = math.sin(angle) / angle if angle > 0.0 else 1.0
    k1 = (s * x, s * y, math.cos(angle))
    axis = vec.cross(k, k1)
    turn = unit_quaternion.normalize((1.0 + vec.dot(k, k1), axis[0], axis[1], axis[2]))
    Q1 = unit_quaternion.renormalize(unit_quaternion.product(turn, Q))
    W_x, W_y = -(th[3] + rate[1]), th[2] + rate[0]
    # W = k1 x k1' is perpendicular to the rod
    w = unit_quaternion.inverse_rotate(Q1, (W_x, W_y, -(k1[0] * W_x + k1[1] * W_y) / k1[2]))
    return Q1, (w[0], w[1], v[4])
