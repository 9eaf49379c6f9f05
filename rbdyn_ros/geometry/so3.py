"""SO(3): hat, exp, log and their derivatives.

Rotation vectors (..., 3) [rad], matrices (..., 3, 3).

The derivative of exp has two trivializations, and two names each:

    dexp_right(v) = Gamma(v)  = left Jacobian:   exp(v + e) = exp(dexp_right(v) e) exp(v) + O(e^2)
    dexp_left(v)  = Gamma(-v) = right Jacobian:  exp(v + e) = exp(v) exp(dexp_left(v) e) + O(e^2)

so a right-trivialized derivative is one of world-frame velocities, a left-trivialized one of body
velocities. dlog_right and dlog_left are their inverses. Gamma is the letter of the Kindr
kinematics sheet, whose formula for it has two misplaced brackets; dlog_right is the rotation block
of the notebook's dlog. Derived in doc/geometry.md (G.3).
"""

import numpy as np

from rbdyn_ros.geometry import coefficients, float_arrays, quaternion


def hat(v) -> np.ndarray:
    """Return v^, the skew matrix with v^ b = v x b."""
    x, y, z = np.moveaxis(float_arrays.array(v, "v", 3), -1, 0)
    o = np.zeros_like(x)
    return quaternion.stack_rows([[o, -z, y], [z, o, -x], [-y, x, o]])


def vee(S) -> np.ndarray:
    """Return the vector of a skew matrix, the inverse of hat. Raise ValueError if S + S^T is not
    zero.
    """
    S = float_arrays.skew(S, "S")
    return 0.5 * np.stack(
        [S[..., 2, 1] - S[..., 1, 2], S[..., 0, 2] - S[..., 2, 0], S[..., 1, 0] - S[..., 0, 1]],
        axis=-1,
    )


def exp(v) -> np.ndarray:
    """Return the rotation matrix of a rotation vector, Rodrigues: 1 + A v^ + B v^ v^ (A, B of
    coefficients.py).
    """
    v = float_arrays.rotation_vector(v, "v")
    return _quadratic(v, coefficients.of(coefficients.A, v), coefficients.of(coefficients.B, v))


def log(R) -> np.ndarray:
    """Return the rotation vector of a rotation matrix, principal: |log R| <= pi, exact to
    round-off up to and at pi.

    It goes by way of the quaternion: the arc cosine of the trace, as the notebook has it, loses
    half the digits near 0 and all of them near pi. At pi the first non-zero component is positive.
    """
    return quaternion.log(quaternion.from_matrix(R))


def dexp_right(v) -> np.ndarray:
    """Return Gamma(v) = 1 + B v^ + C v^ v^, the LEFT Jacobian: world angular velocity = Gamma(v)
    dv/dt.
    """
    v = float_arrays.rotation_vector(v, "v")
    return _quadratic(v, coefficients.of(coefficients.B, v), coefficients.of(coefficients.C, v))


def dexp_left(v) -> np.ndarray:
    """Return Gamma(-v) = Gamma(v)^T, the RIGHT Jacobian: body angular velocity = Gamma(-v)
    dv/dt.
    """
    return float_arrays.transpose(dexp_right(v))


def dlog_right(v) -> np.ndarray:
    """Return Gamma(v)^-1 = 1 - v^/2 + D v^ v^, the inverse of the LEFT Jacobian.

    Raise ValueError at |v| = 2 pi k, k > 0, where exp(v) is the identity from every direction.
    """
    v = float_arrays.rotation_vector(v, "v")
    _require_regular(v, "v")
    return _quadratic(v, -0.5, coefficients.of(coefficients.D, v))


def dlog_left(v) -> np.ndarray:
    """Return Gamma(-v)^-1 = Gamma(v)^-T, the inverse of the RIGHT Jacobian. Raise ValueError at
    |v| = 2 pi k, k > 0.
    """
    return float_arrays.transpose(dlog_right(v))


def _quadratic(v: np.ndarray, a, b) -> np.ndarray:
    """Return 1 + a v^ + b v^ v^."""
    S = hat(v)
    return np.eye(3) + a * S + b * (S @ S)


def _require_regular(v: np.ndarray, name: str) -> None:
    """Raise ValueError where the chart of rotation vectors is singular: at the lengths 2 pi, 4 pi,
    ...
    """
    turns = np.linalg.norm(v, axis=-1) / (2.0 * np.pi)
    singular = (turns > 0.5) & (np.abs(turns - np.round(turns)) < 1e-9)
    if np.any(singular):
        raise ValueError(
            f"{name} has length {2 * np.pi * np.max(turns[singular]):.12g} rad, a multiple "
            "of 2 pi, where the logarithm has no derivative; "
            "shorten it by a full turn to reach the principal branch"
        )
