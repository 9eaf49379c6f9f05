"""The plant near upright, one axis of it: e = (x, x', th, th'), with th the log-map tilt of
`pendulum.tilt`.

To first order in e, at zero spin, x and y separate, and (1.7), (1.8) become, with J = I + m l^2,

    (M + m) x'' + m l th'' = u - b x'
    m l x'' + J th''       = m g l th - d th'

whose determinant is D = (M + m) J - (m l)^2 > 0. A rod with I1 != I2 enters with their mean.
"""

import numpy as np
from scipy.linalg import expm

from rbdyn_ros.types import Array, System


def upright(system: System) -> tuple[Array, Array]:
    """Return A (4, 4), B (4, 1) of e' = A e + B u; all zero in the rows of a cart that is fixed.

    Source: doc/mathematics.md, (1.7) and (1.8) at k = e3.
    """
    M, m, l = system.cart_mass, system.rod_mass, system.center
    b, d, g = system.cart_damping, system.joint_damping, system.gravity
    J = 0.5 * (system.inertia[0] + system.inertia[1]) + m * l * l
    mass = np.array(((M + m, m * l), (m * l, J)))
    force = np.array(((0.0, -b, 0.0, 0.0, 1.0), (0.0, 0.0, m * g * l, -d, 0.0)))  # of (e, u)
    if not system.cart_free:
        mass, force = np.diag((1.0, J)), force * ((0.0,), (1.0,))
    acceleration = np.linalg.solve(mass, force)
    A, B = np.zeros((4, 4)), np.zeros((4, 1))
    A[0, 1] = A[2, 3] = 1.0
    A[1::2], B[1::2] = acceleration[:, :4], acceleration[:, 4:]
    return A, B


def discretize(A: Array, B: Array, h: float) -> tuple[Array, Array]:
    """Return (A_d, B_d) of e_{k+1} = A_d e_k + B_d u_k: exact for an input that is held for h [s].

        exp(h [A B; 0 0]) = [A_d B_d; 0 1]

    Source: Van Loan, IEEE Trans. Automatic Control 23 (1978) 395.
    """
    n, m = B.shape
    flow = expm(h * np.block([[A, B], [np.zeros((m, n + m))]]))
    return flow[:n, :n], flow[:n, n:]
