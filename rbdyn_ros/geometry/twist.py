"""SE(3) as tuples for the steppers: a pose is (Q, r), a twist V = (w, v), a wrench F = (tau, f).

Q is a unit quaternion (wxyz, body to world), r the position in the world; angular parts come
FIRST. dexp and dlog are RIGHT-trivialized (the left ones take -V). The formulas are those of
se3.py, written with cross products; the derivative of a function of w^ along v is its part off the
diagonal.
"""

import math

from rbdyn_ros.geometry import coefficients, unit_quaternion, vec
from rbdyn_ros.kernel import inlined, kernel


@inlined
def add(V, W):
    """Return V + W, of twists or of wrenches."""
    return vec.add(V[0], W[0]), vec.add(V[1], W[1])


@inlined
def sub(V, W):
    """Return V - W."""
    return vec.sub(V[0], W[0]), vec.sub(V[1], W[1])


@inlined
def scale(s, V):
    """Return s V."""
    return vec.scale(s, V[0]), vec.scale(s, V[1])


@kernel
def exp(V):
    """Return (exp(w), Gamma(w) v)."""
    w, v = V
    return rotation(w), gamma(w, v)


@kernel
def rotation(w):
    """Return exp(w), a unit quaternion."""
    half = 0.25 * vec.dot(w, w)
    s = 0.5 * coefficients.A(half)
    return math.cos(math.sqrt(half)), s * w[0], s * w[1], s * w[2]


@kernel
def log(T):
    """Return (w, Gamma(w)^-1 r) with w = log Q, principal."""
    Q, r = T
    if Q[0] < 0.0:
        Q = (-Q[0], -Q[1], -Q[2], -Q[3])
    u = (Q[1], Q[2], Q[3])
    n = vec.norm(u)
    s = 2.0 * math.atan2(n, Q[0]) / n if n > 1e-150 else 2.0
    w = vec.scale(s, u)
    return w, inverse_gamma(w, r)


@kernel
def product(S, T):
    """Return S T: the pose T, given in the frame S, in the frame of S."""
    return unit_quaternion.product(S[0], T[0]), vec.add(S[1], unit_quaternion.rotate(S[0], T[1]))


@kernel
def gamma(w, a):
    """Return Gamma(w) a = a + B w x a + C w x (w x a)."""
    s = vec.dot(w, w)
    wa = vec.cross(w, a)
    return vec.axpy(coefficients.C(s), vec.cross(w, wa), vec.axpy(coefficients.B(s), wa, a))


@kernel
def inverse_gamma(w, a):
    """Return Gamma(w)^-1 a = a - w x a / 2 + D w x (w x a)."""
    wa = vec.cross(w, a)
    return vec.axpy(coefficients.D(vec.dot(w, w)), vec.cross(w, wa), vec.axpy(-0.5, wa, a))


@kernel
def dlog(V, W):
    """Return dlog_V W = dexp_V^-1 W."""
    (w, v), (a, b) = V, W
    s = vec.dot(w, w)
    off = along(w, v, a, -0.5, coefficients.D(s), 0.0, coefficients.dD(s))
    return inverse_gamma(w, a), vec.add(inverse_gamma(w, b), off)


@kernel
def dlog_transposed(V, F):
    """Return dlog_V^T F. With f(w^)^T = f(-w^), the dual of dlog_V is dlog_{-V} on the swapped
    pair (f, tau).
    """
    f, tau = dlog(scale(-1.0, V), (F[1], F[0]))
    return tau, f


@kernel
def Ad_transposed(T, F):
    """Return Ad_T^T F = (R^T (tau - r x f), R^T f): a world wrench in the body frame."""
    tau = vec.sub(F[0], vec.cross(T[1], F[1]))
    return unit_quaternion.inverse_rotate(T[0], tau), unit_quaternion.inverse_rotate(T[0], F[1])


@kernel
def along(w, v, a, p, q, dp, dq):
    """Return (d/dw along v of p(s) w^ + q(s) w^ w^) a, with s = |w|^2 and dp, dq the derivatives
    by s (G.6).
    """
    wa, va, ds = vec.cross(w, a), vec.cross(v, a), 2.0 * vec.dot(w, v)
    second = vec.add(vec.cross(w, va), vec.cross(v, wa))
    first = vec.axpy(p, va, vec.scale(q, second))
    return vec.axpy(ds * dp, wa, vec.axpy(ds * dq, vec.cross(w, wa), first))
