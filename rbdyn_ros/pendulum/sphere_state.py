"""A state without the rod's angle about itself: direction and rate on the sphere S^2, cart; and
one step of them.

k = R e3,   k' = R (w x e3),   p3 = I3 w3    (k, k', x, x') is the state of `reduced_pendulum`
"""

from rbdyn_ros.geometry import unit_quaternion, vec
from rbdyn_ros.kernel import inlined
from rbdyn_ros.pendulum.reduced_pendulum import accelerations


@inlined
def of_state(q, v):
    """Return (k, k', x, x') of q (6,), v (5,)."""
    R = unit_quaternion.matrix((q[2], q[3], q[4], q[5]))
    k = (R[0][2], R[1][2], R[2][2])
    return k, vec.matvec(R, (v[3], -v[2], 0.0)), (q[0], q[1]), (v[0], v[1])


@inlined
def move(s, h, rate):
    """Return s + h s', before k is put back on the sphere; `rate` is (k', k'', x', x'')."""
    k, dk, x, dx = s
    return (
        vec.axpy(h, rate[0], k),
        vec.axpy(h, rate[1], dk),
        (x[0] + h * rate[2][0], x[1] + h * rate[2][1]),
        (dx[0] + h * rate[3][0], dx[1] + h * rate[3][1]),
    )


@inlined
def rate(system, p3, u, s):
    """Return (k', k'', x', x'') of s = (k, k', x, x')."""
    a, ddk = accelerations(system, p3, u, s[0], s[1], s[3])
    return s[1], ddk, s[3], a


@inlined
def step(system, p3, u, s, h):
    """Return s after h [s] under the held force u (2,) [N], by the method of Runge and Kutta of
    order 4, with k and k' put back on the sphere.

    p3 [kg m^2/s] is the momentum of the spin; I1 = I2 and a free cart are assumed.
    """
    a = rate(system, p3, u, s)
    b = rate(system, p3, u, move(s, 0.5 * h, a))
    c = rate(system, p3, u, move(s, 0.5 * h, b))
    d = rate(system, p3, u, move(s, h, c))
    s = move(move(move(move(s, h / 6.0, a), h / 3.0, b), h / 3.0, c), h / 6.0, d)
    k = vec.scale(1.0 / vec.norm(s[0]), s[0])
    return k, vec.axpy(-vec.dot(k, s[1]), k, s[1]), s[2], s[3]
