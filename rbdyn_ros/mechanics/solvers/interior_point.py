"""The scaling of Nesterov and Todd for the cones of friction.

With r' = (mu r_N, r_T), z' = (z_N / mu, z_T) both cones are the second-order cone. Its scaling T,
T z' = T^-1 r', is

    T^2 = sqrt(det r' / det z') (2 w w^T - J),   w = (r'/|r'| + J z'/|z'|) / 2g,
    J = diag(1, -1, -1),   det x = |x|^2 = x_N^2 - x_T.x_T,   g^2 = (1 + r'.z'/|r'||z'|) / 2

Source: Vandenberghe, The CVXOPT linear and quadratic cone program solvers (2010), section 4.
"""

from rbdyn_ros.geometry import vec
from rbdyn_ros.kernel import inlined, part
from rbdyn_ros.mechanics.solvers.fc3d import tangential


@inlined
def determinant(x):
    """Return x_N^2 - x_T.x_T."""
    T = tangential(x)
    return (x[0] - T) * (x[0] + T)


@part
def centered(r, z, mu):
    """Return (H, i) with which r + dr = c i - H dz centers r in K_mu and z in its dual at r.z = c,
    to first order; without friction their normal parts alone.
    """
    if not mu > 0.0:
        zero = (0.0, 0.0, 0.0)
        return ((r[0] / z[0], 0.0, 0.0), zero, zero), (1.0 / z[0], 0.0, 0.0)
    a, b, s = (mu * r[0], r[1], r[2]), (z[0] / mu, z[1], z[2]), 1.0 / mu
    det_a, det_b = determinant(a), determinant(b)
    x, y = vec.scale(1.0 / det_a**0.5, a), vec.scale(1.0 / det_b**0.5, b)
    g = (0.5 * (1.0 + vec.dot(x, y))) ** 0.5
    w = vec.scale(0.5 / g, (x[0] + y[0], x[1] - y[1], x[2] - y[2]))
    e = (det_a / det_b) ** 0.5
    p, q, o = w
    H = (
        (e * s * s * (2.0 * p * p - 1.0), e * s * 2.0 * p * q, e * s * 2.0 * p * o),
        (e * s * 2.0 * p * q, e * (2.0 * q * q + 1.0), e * 2.0 * q * o),
        (e * s * 2.0 * p * o, e * 2.0 * q * o, e * (2.0 * o * o + 1.0)),
    )
    return H, (s * b[0] / det_b, -b[1] / det_b, -b[2] / det_b)
