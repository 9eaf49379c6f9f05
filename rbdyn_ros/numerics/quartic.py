"""The roots of a quartic in closed form: good starts for a Newton that polishes them."""

import math

from rbdyn_ros.kernel import kernel

_DOUBLE = 1e-14  # of q^2: round-off of the discriminant


@kernel
def largest_cubic_root(b, c, d):
    """The largest real root of x^3 + b x^2 + c x + d, by Cardano or, for three real roots, by
    Viete's cosine.

    Two roots that are equal up to round-off count as real: they may be the largest.
    """
    p, q = (c - b * b / 3.0) / 3.0, (b * (2.0 * b * b / 9.0 - c) / 3.0 + d) / 2.0
    discriminant = q * q + p * p * p
    if p >= 0.0 or discriminant > _DOUBLE * q * q:
        u = (abs(q) + discriminant**0.5) ** (1.0 / 3.0)
        x = (p / u - u if q > 0.0 else u - p / u) if u > 0.0 else 0.0
    else:
        root = (-p) ** 0.5
        x = 2.0 * root * math.cos(math.acos(max(-1.0, min(1.0, q / (p * root)))) / 3.0)
    return x - b / 3.0


@kernel
def _pair(s, m):
    """Real parts of the roots of y^2 + s y + m."""
    root = max(0.25 * s * s - m, 0.0) ** 0.5
    return -0.5 * s + root, -0.5 * s - root


@kernel
def real_parts(a4, a3, a2, a1, a0):
    """Real parts of the four roots of a4 x^4 + a3 x^3 + a2 x^2 + a1 x + a0; inf or nan where a4 =
    0.

    With x = y - b/4 the monic quartic is y^4 + P y^2 + Q y + R = (y^2 + s y + m_1) (y^2 - s y +
    m_2), where s^2 = 2 m and m >= 0 is the largest root of the resolvent m^3 + P m^2 + (P^2/4 - R)
    m - Q^2/8. Multiple roots keep half the digits or fewer. Source: Ferrari, in Cardano, Ars magna
    (1545), chapter 39.
    """
    b, c, d, e = a3 / a4, a2 / a4, a1 / a4, a0 / a4
    P = c - 0.375 * b * b
    Q = d - 0.5 * b * c + 0.125 * b * b * b
    R = e - 0.25 * b * d + 0.0625 * b * b * c - 0.01171875 * b * b * b * b
    m = max(largest_cubic_root(P, 0.25 * P * P - R, -0.125 * Q * Q), 0.0)
    s = (2.0 * m) ** 0.5
    split = 0.5 * Q / s if s > 0.0 else max(0.25 * P * P - R, 0.0) ** 0.5
    x1, x2 = _pair(s, 0.5 * P + m - split)
    x3, x4 = _pair(-s, 0.5 * P + m + split)
    return (x1 - 0.25 * b, x2 - 0.25 * b, x3 - 0.25 * b, x4 - 0.25 * b)
