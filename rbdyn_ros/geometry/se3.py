"""SE(3): transforms, hat, exp, log, their derivatives, adjoint and coadjoint matrices.

Twists V = (w, v) (..., 6), angular part FIRST; transforms (..., 4, 4).

    dexp_right(V):                  exp(V + e) = exp(dexp_right(V) e) exp(V) + O(e^2)
    dexp_left(V) = dexp_right(-V):  exp(V + e) = exp(V) exp(dexp_left(V) e) + O(e^2)

are the left and the right Jacobian,

and dlog_right, dlog_left are their inverses (dlog_right is the notebook's dlog, B_1 = -1/2).

One principle gives every formula: se(3) is so(3) over the dual numbers, V = w + eps v with eps^2 =
0. A function f(w^) of SO(3) becomes the 6 x 6 matrix [[f, 0], [f', f]], where f' is the derivative
of f at w along v (G.5).

Wrenches (tau, f) have the moment FIRST. On SO(3) the adjoint matrices are R and w^ themselves.
Source: the notebook "Geometric Discrete Variational Dynamics", with two of its formulas corrected:
the bracket's linear part is v1 x w2 PLUS w1 x v2, and the coadjoint's moment is
R^T tau - (R^T p) x (R^T f).

Homogeneous transforms T_IB (..., 4, 4) = [[R_IB, r_IB], [0, 1]]: r_IP = R_IB r_BP + r_IB.

They take points from the body to the world frame. Source: Kindr kinematics sheet.
"""

import numpy as np

from rbdyn_ros.geometry import coefficients, float_arrays, so3


def transform(R, r) -> np.ndarray:
    """Return T of a rotation matrix R (..., 3, 3) and a position r (..., 3) [m, world]."""
    R, r = float_arrays.rotation_matrix(R, "R"), float_arrays.array(r, "r", 3)
    T = np.zeros((*np.broadcast_shapes(R.shape[:-2], r.shape[:-1]), 4, 4))
    T[..., :3, :3], T[..., :3, 3], T[..., 3, 3] = R, r, 1.0
    return T


def rotation(T) -> np.ndarray:
    """Return R, the rotation of a transform."""
    return float_arrays.transform(T, "T")[..., :3, :3]


def position(T) -> np.ndarray:
    """Return r, the position of a transform [m, world]."""
    return float_arrays.transform(T, "T")[..., :3, 3]


def inverse(T) -> np.ndarray:
    """Return T_BI = [[R^T, -R^T r], [0, 1]]."""
    R_t = float_arrays.transpose(rotation(T))
    return transform(R_t, -(R_t @ position(T)[..., None])[..., 0])


def apply(T, x) -> np.ndarray:
    """Return the point x (..., 3) [m, body] in the world frame: R x + r."""
    return (rotation(T) @ float_arrays.array(x, "x", 3)[..., None])[..., 0] + position(T)


def Ad(T) -> np.ndarray:
    """Return Ad_T = [[R, 0], [p^ R, R]] (..., 6, 6): a body twist in the world frame, T V^ T^-1 =
    (Ad_T V)^.
    """
    R, p = rotation(T), position(T)
    return _dual(R, so3.hat(p) @ R)


def ad(V) -> np.ndarray:
    """Return ad_V = [[w^, 0], [v^, w^]] (..., 6, 6): the Lie bracket, ad_V W = (V^ W^ - W^ V^)
    vee.
    """
    V = float_arrays.array(V, "V", 6)
    return _dual(so3.hat(V[..., :3]), so3.hat(V[..., 3:]))


def coAd(T) -> np.ndarray:
    """Return Ad_T^T (..., 6, 6): a world wrench in the body frame, (R^T tau - (R^T p) x (R^T f),
    R^T f).
    """
    return float_arrays.transpose(Ad(T))


def coad(V) -> np.ndarray:
    """Return ad_V^T (..., 6, 6): (tau x w + f x v, f x w), the gyroscopic term of d(tau, f)/dt =
    ad_V^T (tau, f).
    """
    return float_arrays.transpose(ad(V))


def hat(V) -> np.ndarray:
    """Return V^ = [[w^, v], [0, 0]]."""
    V = float_arrays.array(V, "V", 6)
    S = np.zeros((*V.shape[:-1], 4, 4))
    S[..., :3, :3], S[..., :3, 3] = so3.hat(V[..., :3]), V[..., 3:]
    return S


def vee(S) -> np.ndarray:
    """Return the twist of a matrix [[w^, v], [0, 0]], the inverse of hat. Raise ValueError for any
    other matrix.
    """
    S = float_arrays.array(S, "S", 4, 4)
    if np.any(S[..., 3, :] != 0.0):
        raise ValueError(f"S has the last row {S[..., 3, :].tolist()}; that of a twist is 0 0 0 0")
    return np.concatenate([so3.vee(S[..., :3, :3]), S[..., :3, 3]], axis=-1)


def exp(V) -> np.ndarray:
    """Return the transform [[exp(w), Gamma(w) v], [0, 1]]."""
    w, v = _parts(V)
    return transform(so3.exp(w), (so3.dexp_right(w) @ v[..., None])[..., 0])


def log(T) -> np.ndarray:
    """Return the twist (w, Gamma(w)^-1 r) with w = log R, principal: |w| <= pi, exact to round-off
    up to and at pi.
    """
    w = so3.log(rotation(T))
    v = so3.dlog_right(w) @ position(T)[..., None]
    return np.concatenate([w, v[..., 0]], axis=-1)


def dexp_right(V) -> np.ndarray:
    """Return the LEFT Jacobian [[Gamma, 0], [Gamma', Gamma]] (..., 6, 6), Gamma = 1 + B w^ + C w^
    w^.
    """
    w, v = _parts(V)
    B, C = coefficients.of(coefficients.B, w), coefficients.of(coefficients.C, w)
    dB, dC = coefficients.of(coefficients.dB, w), coefficients.of(coefficients.dC, w)
    return _dual(so3.dexp_right(w), _along(w, v, B, C, dB, dC))


def dexp_left(V) -> np.ndarray:
    """Return the RIGHT Jacobian, dexp_right(-V)."""
    return dexp_right(-float_arrays.twist(V, "V"))


def dlog_right(V) -> np.ndarray:
    """Return dexp_right(V)^-1 = [[J, 0], [J', J]] (..., 6, 6), J = 1 - w^/2 + D w^ w^.

    log(exp(e) exp(V)) = V + dlog_right(V) e + O(e^2). Raise ValueError at |w| = 2 pi k, k > 0.
    """
    w, v = _parts(V)
    D, dD = coefficients.of(coefficients.D, w), coefficients.of(coefficients.dD, w)
    return _dual(so3.dlog_right(w), _along(w, v, -0.5, D, 0.0, dD))


def dlog_left(V) -> np.ndarray:
    """Return dexp_left(V)^-1 = dlog_right(-V): log(exp(V) exp(e)) = V + dlog_left(V) e +
    O(e^2).
    """
    return dlog_right(-float_arrays.twist(V, "V"))


def _parts(V) -> tuple[np.ndarray, np.ndarray]:
    """Return (w, v) of twists, checked."""
    V = float_arrays.twist(V, "V")
    return V[..., :3], V[..., 3:]


def _along(w, v, a, b, da, db) -> np.ndarray:
    """Return the derivative along v of a(s) w^ + b(s) w^ w^, s = |w|^2, whose own derivative is 2
    w.v (G.6).
    """
    S, Z = so3.hat(w), so3.hat(v)
    ds = 2.0 * np.sum(w * v, axis=-1)[..., None, None]
    return a * Z + b * (S @ Z + Z @ S) + ds * (da * S + db * (S @ S))


def _dual(f: np.ndarray, df: np.ndarray) -> np.ndarray:
    """Return [[f, 0], [f', f]] (G.5)."""
    return np.block([[f, np.zeros_like(f)], [df, f]])
