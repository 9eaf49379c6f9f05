"""The pitch-cone chart of the rod's direction: n = (sin d, cos d sin e, cos d cos e), pitch d,
cone angle e.

With J = I_t + m l^2 and V = m g l a rod without spin on a fixed joint (or a point mass) has the
Lagrangian

    L = J/2 (d'^2 + cos^2 d e'^2) - V cos d cos e                                             (6.1)

and the Euler-Lagrange equations (6.2)  d'' = (V/J) cos e sin d - sin d cos d e'^2,
e'' = (V/J) sin e / cos d + 2 tan d d' e'.  The chart is singular at d = +-90 degrees.
"""

from math import asin, atan2, cos, sin, sqrt

from rbdyn_ros.geometry import unit_quaternion
from rbdyn_ros.kernel import inlined, kernel


@inlined
def constants(system):
    """Return (J, V) of (6.1): inertia about the joint across the rod [kg m^2], m g l [J]."""
    m, l = system.rod_mass, system.center
    return system.inertia[0] + m * l * l, m * system.gravity * l


@kernel
def accelerations(system, d, e, dd, de):
    """Return (d'', e'') of (6.2) [rad/s^2]."""
    J, V = constants(system)
    return V / J * cos(e) * sin(d) - sin(d) * cos(d) * de * de, V / J * sin(e) / cos(
        d
    ) + 2.0 * sin(d) / cos(d) * dd * de


@kernel
def from_state(Q, w):
    """Return (d, e, d', e') of an attitude and an angular velocity [body]; its spin is not part of
    the chart.
    """
    n = unit_quaternion.rotate(Q, (0.0, 0.0, 1.0))
    dn = unit_quaternion.rotate(Q, (w[1], -w[0], 0.0))
    d, e = asin(max(-1.0, min(1.0, n[0]))), atan2(n[1], n[2])
    c = sqrt(n[1] * n[1] + n[2] * n[2])
    return d, e, dn[0] / c, (dn[1] * n[2] - dn[2] * n[1]) / (c * c)


@kernel
def to_state(d, e, dd, de):
    """Return (Q, w) of the attitude R = R_x(-e) R_y(d), whose third axis is n; w in body axes."""
    ce, se, cd, sd = cos(0.5 * e), sin(0.5 * e), cos(0.5 * d), sin(0.5 * d)
    Q = unit_quaternion.product((ce, -se, 0.0, 0.0), (cd, 0.0, sd, 0.0))
    return Q, (-de * cos(d), dd, -de * sin(d))
