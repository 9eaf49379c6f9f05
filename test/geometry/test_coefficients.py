"""The coefficients of exp and log against exact rational arithmetic, at and across the series'
threshold.
"""

from fractions import Fraction
from math import factorial

import numpy as np
import pytest

from rbdyn_ros.geometry import coefficients

POINTS = [
    0.0,
    1e-300,
    1e-20,
    1e-8,
    1e-3,
    0.3,
    np.nextafter(2.0, 0.0),
    2.0,
    2.5,
    5.0,
    np.pi**2,
    20.0,
    30.0,
]
COS = [Fraction((-1) ** k, factorial(2 * k)) for k in range(40)]
SINC = [Fraction((-1) ** k, factorial(2 * k + 1)) for k in range(40)]


def series(c, s, order=0):
    """The power series c at s, exactly; or its derivative of that order."""
    for _ in range(order):
        c = [k * x for k, x in enumerate(c)][1:]
    return sum(x * s**k for k, x in enumerate(c))


def cotangent(s):
    """(D, dD/ds, d2D/ds2) by s D = 1 - f and f = cos u / (sin u / u), u^2 = s / 4."""
    z = s / 4
    n, d = ([series(c, z, i) / 4**i for i in range(3)] for c in (COS, SINC))
    f = [n[0] / d[0]]
    f.append((n[1] - f[0] * d[1]) / d[0])
    f.append((n[2] - 2 * f[1] * d[1] - f[0] * d[2]) / d[0])
    D = (1 - f[0]) / s
    dD = (-f[1] - D) / s
    return D, dD, (-f[2] - 2 * dD) / s


@pytest.mark.parametrize("s", POINTS)
def test_sine_and_cosine_family(s):
    exact = Fraction(s)
    assert coefficients.A(s) == pytest.approx(float(series(SINC, exact)), rel=1e-15, abs=1e-16)
    for name, shift in (("B", 2), ("C", 3)):
        c = [Fraction((-1) ** k, factorial(2 * k + shift)) for k in range(40)]
        assert getattr(coefficients, name)(s) == pytest.approx(float(series(c, exact)), rel=4e-15)
        assert getattr(coefficients, "d" + name)(s) == pytest.approx(
            float(series(c, exact, 1)), rel=4e-14
        )


@pytest.mark.parametrize("s", POINTS)
def test_cotangent_family(s):
    D, dD, ddD = cotangent(Fraction(max(s, 1e-30)))
    assert coefficients.D(s) == pytest.approx(float(D), rel=4e-15)
    assert coefficients.dD(s) == pytest.approx(float(dD), rel=1e-13)
    assert coefficients.ddD(s) == pytest.approx(float(ddD), rel=2e-12)


def test_batches_shape_like_matrices():
    v = np.ones((4, 5, 3))
    assert coefficients.of(coefficients.B, v).shape == (4, 5, 1, 1)
    assert coefficients.of(coefficients.B, np.empty((0, 3))).shape == (0, 1, 1)
