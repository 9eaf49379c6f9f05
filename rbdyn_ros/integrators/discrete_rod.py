"""One step of the discrete Euler-Lagrange equations of the rod on the cart, in the relative
rotation.

The attitude moves by q_{k+1} = q_k o (w, v), w = sqrt(1 - |v|^2): the unknown is the vector part
v, |q| = 1 holds by construction. With the cart eliminated, Mt = M + m + b h/2 and chi = m/Mt, the
part (1 - chi) m of the rod's mass, put at c, joins its inertia, and one term of rank one is left
of the cart (doc/mathematics.md, 2.10):

    A    = (2/h) [I - gamma + (1 - chi) m l^2 diag(1, 1, 0)],  G = (2/h) gamma + d
    s    = chi m l^2/h,    e = (F - 1) e3,    zeta = R_k^T e3
    r(v) = w A v + v x A v + G v + s (zeta.e) e3 x zeta - B = 0,                            (2.10)
    B    = p_k + (h/2) tau_k - chi c x R_k^T (p_xh, 0)

and p at the other side of the step, before the force there, is

    p+    = w A v - v x A v + (G - 2 d) v + s (zeta.e) e3 x zeta' + chi c x R_{k+1}^T (p_xh, 0),
    zeta' = R_{k+1}^T e3.                                                                   (2.11)

gamma = 0 is the discretization of Moser and Veselov, gamma > 0 that of a mass matrix 4 (L^T J L +
gamma 1) at the midpoint quaternion. For an axisymmetric rod (2.10) is one quadratic equation but
for small terms of gamma, d and spin (`explicit`). Newton's iteration starts there (`solve`), and
most often ends there.
"""

from math import sqrt
from typing import NamedTuple

from rbdyn_ros.geometry import unit_quaternion, vec, vec2
from rbdyn_ros.kernel import inlined


class RodEquations(NamedTuple):
    """The numbers of (2.10) that do not change while it is solved."""

    h: float  # [s], negative inside compositions
    f: float  # 2/h
    A: tuple  # [kg m^2/s]
    gamma: float  # (2/h) gamma [kg m^2/s]
    damping: float  # d [N m s/rad]
    s: float  # [kg m^2/s], 0 for a fixed cart
    chi: float  # m / Mt, 0 for a fixed cart
    X: float  # h / Mt, 0 for a fixed cart
    l: float  # [m]
    cart_damping: float  # b [N s/m]


class Turn(NamedTuple):
    """The rotation of a step, and how well it solves the equations."""

    v: tuple  # (3,) vector part
    w: float  # scalar part
    e: tuple  # (3,) (F - 1) e3
    r: tuple  # (3,) what is left of (2.10), for the next step
    iterations: int  # 1 for the explicit solution, 1 more for each step of Newton
    error: float  # relative size of r


@inlined
def equations(system, gamma, h):
    """Return the numbers of a step of size h."""
    I, m, l, f = system.inertia, system.rod_mass, system.center, 2.0 / h
    i_Mt = system.cart_free / (system.cart_mass + m + 0.5 * h * system.cart_damping)
    chi = m * i_Mt
    i = (1.0 - chi) * m * l * l - gamma
    A = (f * (I[0] + i), f * (I[1] + i), f * (I[2] - gamma))
    return RodEquations(
        h,
        f,
        A,
        f * gamma,
        system.joint_damping,
        0.5 * f * chi * m * l * l,
        chi,
        h * i_Mt,
        l,
        system.cart_damping,
    )


@inlined
def terms(E, v):
    """Return (w, A v, e) at v, which (2.10), (2.11) and the Jacobian are made of."""
    w = sqrt(1.0 - vec.dot(v, v))
    x, y, z = v
    return (
        w,
        vec.times(E.A, v),
        (2.0 * (x * z + w * y), 2.0 * (y * z - w * x), -2.0 * (x * x + y * y)),
    )


@inlined
def cart_momentum(E, R, p_xh):
    """Return the first two components of chi c x R^T (p_xh, 0), the part of the cart's momentum
    about the joint [body]; the third is 0.
    """
    g = E.chi * E.l
    P1, P2 = g * p_xh[0], g * p_xh[1]
    return (-(R[0][1] * P1 + R[1][1] * P2), R[0][0] * P1 + R[1][0] * P2)


@inlined
def explicit(E, zeta, B, w):
    """Return (v, w, e) of (2.10) for an axisymmetric rod; the guess w enters the small alpha and
    beta only.

    With F e3 = (x, 1 - delta) and v3 from the third line, the first two, turned by a quarter, are

        N x = (B2, -B1) + delta s zeta3 (zeta1, zeta2),
        N = A/2 + alpha + s (zeta1, zeta2)(zeta1, zeta2)^T + beta [0 1; -1 0]             (2.13)

    and |F e3| = 1 is a quadratic equation for delta; v follows by (2.12). No solution (too large a
    step) gives nan.
    """
    G = E.gamma + E.damping
    v3 = B[2] / (w * E.A[2] + G)
    i = 0.5 / (w * w + v3 * v3)
    Av3 = E.A[2] * v3
    alpha, beta = i * (G * w - Av3 * v3), i * (G * v3 + Av3 * w)
    s1, s2 = E.s * zeta[0], E.s * zeta[1]
    N11, N12 = 0.5 * E.A[1] + alpha + s1 * zeta[0], beta + s1 * zeta[1]
    N21, N22 = s1 * zeta[1] - beta, 0.5 * E.A[0] + alpha + s2 * zeta[1]
    # det(N) x = P + delta Q
    det = N11 * N22 - N12 * N21
    P1, P2 = N22 * B[1] + N12 * B[0], -(N11 * B[0] + N21 * B[1])
    Q1, Q2 = zeta[2] * (N22 * s1 - N12 * s2), zeta[2] * (N11 * s2 - N21 * s1)
    PP, c = P1 * P1 + P2 * P2, det * det - (P1 * Q1 + P2 * Q2)
    delta = PP / (c + sqrt(c * c - PP * (det * det + Q1 * Q1 + Q2 * Q2)))
    i_N = 1.0 / det
    x, y = i_N * P1 + delta * (i_N * Q1), i_N * P2 + delta * (i_N * Q2)
    w = sqrt((1.0 - v3 * v3) - 0.5 * delta)
    i = 1.0 / (2.0 - delta)
    ix, iy = i * x, i * y
    return (v3 * ix - w * iy, v3 * iy + w * ix, v3), w, (x, y, -delta)


@inlined
def residual(E, zeta, v, w, Av, e, B):
    """Return r(v) of (2.10)."""
    G, c = E.gamma + E.damping, E.s * vec.dot(zeta, e)
    r = vec.add(vec.axpy(w, Av, vec.scale(G, v)), vec.cross(v, Av))
    return (r[0] - (B[0] + c * zeta[1]), r[1] - (B[1] - c * zeta[0]), r[2] - B[2])


@inlined
def jacobian(E, zeta, v, w, Av):
    """Return dr/dv, three rows, from dw/dv = -v^T/w:  d(w A v) = w A - (A v) v^T/w,  d(v x A v) =
    v^ A - (A v)^.
    """
    A, G = E.A, E.gamma + E.damping
    x, y, z = v
    a, b, c = Av
    u = vec.scale(-1.0 / w, v)
    r1 = (w * A[0] + G + a * u[0], c - z * A[1] + a * u[1], y * A[2] - b + a * u[2])
    r2 = (z * A[0] - c + b * u[0], w * A[1] + G + b * u[1], a - x * A[2] + b * u[2])
    r3 = (b - y * A[0] + c * u[0], x * A[1] - a + c * u[1], w * A[2] + G + c * u[2])
    q, zeta3 = zeta[0] * y - zeta[1] * x, 2.0 * zeta[2]
    half_ze = (
        z * zeta[0] - w * zeta[1] + q * u[0] - zeta3 * x,
        z * zeta[1] + w * zeta[0] + q * u[1] - zeta3 * y,
        zeta[0] * x + zeta[1] * y + q * u[2],
    )
    s = 2.0 * E.s
    return vec.axpy(-s * zeta[1], half_ze, r1), vec.axpy(s * zeta[0], half_ze, r2), r3


@inlined
def solve(E, R, p_xh, b, w, tolerance, max_iterations):
    """Return the Turn of (2.10) with b = p_k + (h/2) tau_k, from the guess w of its scalar part.

    The residual is measured against the size of the momenta in it. Not converged if it is above
    the tolerance, or nan (a turn of more than half a circle in one step).
    """
    zeta, p_xb = R[2], cart_momentum(E, R, p_xh)
    B = (*vec2.sub(b, p_xb), b[2])
    v, w, e = explicit(E, zeta, B, w)
    Av = vec.times(E.A, v)
    r = residual(E, zeta, v, w, Av, e, B)
    i_scale = 1.0 / (vec.size(b) + abs(p_xb[0]) + abs(p_xb[1]) + vec.size(Av) + 1e-300)
    error, iterations = vec.size(r) * i_scale, 1
    if error > tolerance:
        while error > tolerance and iterations < max_iterations:
            v = vec.sub(v, vec.solve(jacobian(E, zeta, v, w, Av), r))
            w, Av, e = terms(E, v)
            r = residual(E, zeta, v, w, Av, e, B)
            error = vec.size(r) * i_scale
            iterations += 1
        if E.A[0] != E.A[1]:  # an axisymmetric rod keeps p_3, which turning r would spoil
            r = unit_quaternion.inverse_rotate((w, v[0], v[1], v[2]), r)
    return Turn(v, w, e, r, iterations, error)


@inlined
def transport_momentum(E, turn, ze, R, p_xh):
    """Return p+ of (2.11), with zeta.e of before and R of after the turn.

    The rest of r is part of it, so that momenta are exact.
    """
    v, w = turn.v, turn.w
    Av, p_xb, c = vec.times(E.A, v), cart_momentum(E, R, p_xh), E.s * ze
    p = vec.sub(vec.axpy(w, Av, vec.scale(E.gamma - E.damping, v)), vec.cross(v, Av))
    p = vec.sub(p, turn.r)
    return (p[0] + (p_xb[0] - c * R[2][1]), p[1] + (p_xb[1] + c * R[2][0]), p[2])
