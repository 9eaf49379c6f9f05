"""One step of the discrete Euler-Lagrange equations of the rod on the cart, in the relative rotation.

The attitude moves by q_{k+1} = q_k o (w, v), w = sqrt(1 - |v|^2): the unknown is the vector part v, |q| = 1
holds by construction. With J = I - gamma 1 the discrete Lagrangian of the rotation is (doc/mathematics.md, 2.4)

    h T = (2/h) v.J v + (4 gamma/h) (1 - w),

gamma = 0 the one of Moser and Veselov, gamma > 0 that of a mass matrix 4 (L^T J L + gamma 1) at the midpoint
quaternion. Its two momenta are  s(v) +- v x J v (times 2/h),  s = w J v + gamma v. With the cart eliminated,

    Dx = (h Ph - m (R_k e)_xy) / Mt,     Mt = M + m + b h/2,     e = (F - 1) c
    y  = R_k^T ((Dx, 0) + R_k e) = a + (1 - mu) e + mu k (k.e),   mu = m / Mt,   a = R_k^T (h Ph, 0) / Mt
    r(v) = (2/h) (s + v x J v) + (m/h) c x y + d v - b_k = 0,    b_k = p_k + (h/2) tau_k                (2.7)

    p_{k+1} = (2/h) (s - v x J v) + (m/h) c x F^T y - d v + (h/2) tau_{k+1}                             (2.8)
    P_{k+1} = Ph - b Dx + (h/2) U_{k+1},   Ph = P_k + (h/2) U_k                                         (2.9)
"""

from math import sqrt
from typing import NamedTuple

from rbdyn_ros.geometry import vec
from rbdyn_ros.kernel import inlined

_CHORD = 1e-2  # the Jacobian is kept while one iteration shrinks the residual by this much


class Equations(NamedTuple):
    """The numbers of (2.7) that do not change while it is solved."""

    h: float  # [s], negative inside compositions
    f: float  # 2/h
    n: float  # m l/h
    J: tuple  # I - gamma [kg m^2]
    gamma: float  # [kg m^2]
    mu: float  # m / Mt, 0 for a fixed cart
    X: float  # h / Mt, 0 for a fixed cart
    l: float  # [m]
    damping: float  # d [N m s/rad]
    cart_damping: float  # b [N s/m]


@inlined
def equations(system, gamma, h):
    """The numbers of a step of size h."""
    I, m, i_h = system.inertia, system.rod_mass, 1.0 / h
    i_Mt = system.cart_free / (system.cart_mass + m + 0.5 * h * system.cart_damping)
    return Equations(
        h,
        2.0 * i_h,
        m * system.center * i_h,
        (I[0] - gamma, I[1] - gamma, I[2] - gamma),
        gamma,
        m * i_Mt,
        h * i_Mt,
        system.center,
        system.joint_damping,
        system.cart_damping,
    )


@inlined
def terms(E, k, a, v):
    """(w, J v, s, v x J v, e, y): all that (2.7), (2.8) and the Jacobian are made of, at v."""
    w = sqrt(1.0 - vec.dot(v, v))
    Jv = vec.times(E.J, v)
    s = vec.axpy(w, Jv, vec.scale(E.gamma, v))
    g = vec.cross(v, Jv)
    l2 = 2.0 * E.l
    e = (l2 * (v[0] * v[2] + w * v[1]), l2 * (v[1] * v[2] - w * v[0]), -l2 * (v[0] * v[0] + v[1] * v[1]))
    y = vec.add(a, vec.axpy(1.0 - E.mu, e, vec.scale(E.mu * vec.dot(k, e), k)))
    return w, Jv, s, g, e, y


@inlined
def residual(E, s, g, y, v, b):
    """r(v) of (2.7)."""
    n, d = E.n, E.damping
    c_y = (d * v[0] - n * y[1] - b[0], d * v[1] + n * y[0] - b[1], d * v[2] - b[2])
    return vec.axpy(E.f, vec.add(s, g), c_y)


@inlined
def jacobian(E, k, v, w, Jv):
    """dr/dv, three rows. From dw/dv = -v^T/w:

    d(w J v) = w J - (J v) v^T/w,   d(v x J v) = v^ J - (J v)^,   de from the columns of F.
    """
    J, l2, i = E.J, 2.0 * E.l, 1.0 / w
    x, y, z = v
    xi, yi, zi = x * i, y * i, z * i
    e1 = (l2 * (z - x * yi), l2 * (w - y * yi), l2 * (x - y * zi))
    e2 = (l2 * (x * xi - w), l2 * (z + x * yi), l2 * (y + x * zi))
    k_e = vec.axpy(k[0], e1, vec.axpy(k[1], e2, (-2.0 * l2 * k[2] * x, -2.0 * l2 * k[2] * y, 0.0)))
    y1 = vec.axpy(1.0 - E.mu, e1, vec.scale(E.mu * k[0], k_e))
    y2 = vec.axpy(1.0 - E.mu, e2, vec.scale(E.mu * k[1], k_e))
    f, n, d = E.f, E.n, E.damping
    a, b, c = Jv
    S1 = (w * J[0] + E.gamma - a * xi, c - z * J[1] - a * yi, y * J[2] - b - a * zi)
    S2 = (z * J[0] - c - b * xi, w * J[1] + E.gamma - b * yi, a - x * J[2] - b * zi)
    S3 = (b - y * J[0] - c * xi, x * J[1] - a - c * yi, w * J[2] + E.gamma - c * zi)
    A1 = vec.axpy(f, S1, vec.scale(-n, y2))
    A2 = vec.axpy(f, S2, vec.scale(n, y1))
    A3 = vec.scale(f, S3)
    return (A1[0] + d, A1[1], A1[2]), (A2[0], A2[1] + d, A2[2]), (A3[0], A3[1], A3[2] + d)


@inlined
def solve(E, k, a, b, v, tolerance, max_iterations):
    """Newton for (2.7) from the guess v: (v, terms at v, r(v), iterations, relative residual).

    The residual is measured against the size of the momenta in it. Not converged if it is above the
    tolerance, or nan (a turn of more than half a circle in one step). What is left of r belongs into p_{k+1},
    as -F^T r: then the momentum maps are exact whatever the tolerance.
    """
    w, Jv, s, g, e, y = terms(E, k, a, v)
    r = residual(E, s, g, y, v, b)
    i_scale = 1.0 / (vec.size(b) + abs(E.n) * vec.size(a) + abs(E.f) * vec.size(s) + 1e-300)
    error = vec.size(r) * i_scale
    A = jacobian(E, k, v, w, Jv)
    iterations = 0
    while error > tolerance and iterations < max_iterations:
        v = vec.sub(v, vec.solve(A, r))
        w, Jv, s, g, e, y = terms(E, k, a, v)
        r = residual(E, s, g, y, v, b)
        previous, error = error, vec.size(r) * i_scale
        iterations += 1
        if error > _CHORD * previous:
            A = jacobian(E, k, v, w, Jv)
    return v, w, s, g, e, y, r, iterations, error
