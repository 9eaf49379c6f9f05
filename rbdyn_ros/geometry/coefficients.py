"""The even functions of the angle in exp, log and their derivatives, as functions of s = theta^2.

    A = sin t / t               B = (1 - cos t) / t^2
    C = (t - sin t) / t^3       D = (1 - (t/2) cot(t/2)) / t^2        with t = sqrt(s)        (G.4)

and the derivatives d/ds: dB, dC, dD, ddD. All are analytic at s = 0, where the closed forms
cancel: there the power series is summed, to the last bit. D has its pole at t = 2 pi. A, B, C are
those of the notebook "Geometric Discrete Variational Dynamics"; its D loses seven digits just
above its threshold of 0.01.
"""

import math
from fractions import Fraction
from math import factorial

import numpy as np

from rbdyn_ros.kernel import kernel

TERMS = 18  # of the series; the slowest, ddD, shrinks by 1/20 a term at the threshold
THRESHOLD = 2.0  # of s, between series and closed form


def _derivative(series: tuple) -> tuple:
    return tuple(k * c for k, c in enumerate(series))[1:]


def _cotangent() -> tuple:
    """Return the series of D = (1 - f) / s, where f = u cot u solves f (sin u / u) = cos u, and
    u^2 = s / 4.
    """
    f = []
    for k in range(TERMS + 1):
        known = sum(Fraction((-1) ** j, factorial(2 * j + 1)) * f[k - j] for j in range(1, k + 1))
        f.append(Fraction((-1) ** k, factorial(2 * k)) - known)
    return tuple(float(-c / 4**k) for k, c in enumerate(f))[1:]


_B = tuple((-1) ** k / factorial(2 * k + 2) for k in range(TERMS))
_C = tuple((-1) ** k / factorial(2 * k + 3) for k in range(TERMS))
_D = _cotangent()
_DB, _DC, _DD = _derivative(_B), _derivative(_C), _derivative(_D)
_DDD = _derivative(_DD)


@kernel
def horner(series, s):
    """Return sum_k series[k] s^k."""
    y = 0.0
    for k in range(len(series) - 1, -1, -1):
        y = y * s + series[k]
    return y


@kernel
def A(s):
    """Return sin t / t."""
    t = math.sqrt(s)
    return math.sin(t) / t if t > 0.0 else 1.0


@kernel
def B(s):
    """Return (1 - cos t) / t^2 = (sin(t/2) / (t/2))^2 / 2, which does not cancel anywhere."""
    a = A(0.25 * s)
    return 0.5 * a * a


@kernel
def C(s):
    """Return (t - sin t) / t^3 = (1 - A) / s."""
    if s < THRESHOLD:
        return horner(_C, s)
    return (1.0 - A(s)) / s


@kernel
def D(s):
    """Return (1 - (t/2) cot(t/2)) / t^2."""
    if s < THRESHOLD:
        return horner(_D, s)
    u = 0.5 * math.sqrt(s)
    return (1.0 - u / math.tan(u)) / s


@kernel
def dB(s):
    """Return dB/ds = (A - 2 B) / (2 s)."""
    if s < THRESHOLD:
        return horner(_DB, s)
    return (A(s) - 2.0 * B(s)) / (2.0 * s)


@kernel
def dC(s):
    """Return dC/ds = (B - 3 C) / (2 s)."""
    if s < THRESHOLD:
        return horner(_DC, s)
    return (B(s) - 3.0 * C(s)) / (2.0 * s)


@kernel
def dD(s):
    """Return dD/ds = (s D^2 - 3 D + 1/4) / (2 s), the Riccati equation of the cotangent."""
    if s < THRESHOLD:
        return horner(_DD, s)
    d = D(s)
    return (s * d * d - 3.0 * d + 0.25) / (2.0 * s)


@kernel
def ddD(s):
    """Return d^2D/ds^2, from the derivative of the Riccati equation."""
    if s < THRESHOLD:
        return horner(_DDD, s)
    d, slope = D(s), dD(s)
    return (d * d + 2.0 * s * d * slope - 5.0 * slope) / (2.0 * s)


def of(coefficient, v: np.ndarray) -> np.ndarray:
    """Return the coefficient at s = |v|^2 for each v (..., 3), shaped (..., 1, 1) to multiply
    matrices.
    """
    s = np.sum(np.square(v), axis=-1)
    return np.vectorize(coefficient, otypes=[float])(s)[..., None, None]
