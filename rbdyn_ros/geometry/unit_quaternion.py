"""Unit quaternions (w, x, y, z) as tuples, Hamilton, body to world: the kernels under the
steppers.
"""

from math import sqrt

from rbdyn_ros.geometry import vec
from rbdyn_ros.kernel import inlined


@inlined
def product(a, b):
    """Return a o b, the rotation b followed by a."""
    return (
        (a[0] * b[0] - a[1] * b[1]) - (a[2] * b[2] + a[3] * b[3]),
        (a[0] * b[1] + a[1] * b[0]) + (a[2] * b[3] - a[3] * b[2]),
        (a[0] * b[2] - a[1] * b[3]) + (a[2] * b[0] + a[3] * b[1]),
        (a[0] * b[3] + a[1] * b[2]) - (a[2] * b[1] - a[3] * b[0]),
    )


@inlined
def conjugate(q):
    """Return q* = (w, -x, -y, -z)."""
    return (q[0], -q[1], -q[2], -q[3])


@inlined
def scale(s, q):
    """Return s q."""
    return (s * q[0], s * q[1], s * q[2], s * q[3])


@inlined
def dot(p, q):
    """Return p . q."""
    return p[0] * q[0] + p[1] * q[1] + p[2] * q[2] + p[3] * q[3]


@inlined
def axpy(s, p, q):
    """Return s p + q."""
    return (s * p[0] + q[0], s * p[1] + q[1], s * p[2] + q[2], s * p[3] + q[3])


@inlined
def normalize(q):
    """Return q / |q|."""
    return scale(1.0 / sqrt(dot(q, q)), q)


@inlined
def renormalize(q):
    """Return q / |q| for a q whose norm is 1 up to round-off: one Newton step for 1/|q|, no
    root.
    """
    return scale(repair(q), q)


@inlined
def repair(q):
    """Return 1/|q| of a q whose norm is 1 up to round-off."""
    return 1.5 - 0.5 * dot(q, q)


@inlined
def matrix(q):
    """Return R(q), three rows: R x_b = x_w."""
    w, x, y, z = q
    x2, y2, z2 = x + x, y + y, z + z
    return (
        ((1.0 - y * y2) - z * z2, x * y2 - w * z2, x * z2 + w * y2),
        (x * y2 + w * z2, (1.0 - x * x2) - z * z2, y * z2 - w * x2),
        (x * z2 - w * y2, y * z2 + w * x2, (1.0 - x * x2) - y * y2),
    )


@inlined
def rotate(q, a):
    """Return R(q) a = a + 2 w (v x a) + 2 v x (v x a)."""
    v = (q[1], q[2], q[3])
    t = vec.scale(2.0, vec.cross(v, a))
    return vec.add(vec.axpy(q[0], t, a), vec.cross(v, t))


@inlined
def inverse_rotate(q, a):
    """Return R(q)^T a."""
    v = (q[1], q[2], q[3])
    t = vec.scale(2.0, vec.cross(v, a))
    return vec.add(vec.axpy(-q[0], t, a), vec.cross(v, t))


@inlined
def rate(q, w):
    """Return dq/dt = q o (0, w) / 2 for the angular velocity w [rad/s, body]."""
    p, x, y, z = 0.5 * q[0], 0.5 * q[1], 0.5 * q[2], 0.5 * q[3]
    return (
        -(x * w[0] + y * w[1] + z * w[2]),
        p * w[0] + (y * w[2] - z * w[1]),
        p * w[1] + (z * w[0] - x * w[2]),
        p * w[2] + (x * w[1] - y * w[0]),
    )
