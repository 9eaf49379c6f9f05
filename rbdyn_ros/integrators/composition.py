"""Symmetric compositions: a symmetric method of order 2, stepped s times by fractions of h, gains
order.

The weights g_1 .. g_s are palindromic and sum to one. Order 4 needs sum g^3 = 0, order 6 also sum
g^5 = 0 and one condition on mixed sums, and so on (Hairer, Lubich, Wanner, Geometric Numerical
Integration, V.3).
"""

from typing import NamedTuple

import numpy as np

from rbdyn_ros.types import Array

_z = 1.0 / (4.0 - 4.0 ** (1.0 / 3.0))


def _palindrome(*half: float) -> np.ndarray:
    """Return g_1 .. g_m, middle, g_m .. g_1 with the middle one from sum g = 1."""
    return np.array([*half, 1.0 - 2.0 * sum(half), *half[::-1]])


COMPOSITIONS = {
    "none": np.ones(1),
    # Suzuki, Phys. Lett. A 146 (1990): order 4, five stages
    "suzuki4": _palindrome(_z, _z),
    # Kahan, Li, Math. Comp. 66 (1997): order 6, nine stages
    "kahan_li6": _palindrome(
        0.39216144400731413928,
        0.33259913678935943860,
        -0.70624617255763935981,
        0.082213596293550800230,
    ),
    # Kahan, Li, Math. Comp. 66 (1997): order 8, seventeen stages
    "kahan_li8": _palindrome(
        0.13020248308889008088,
        0.56116298177510838456,
        -0.38947496264484728641,
        0.15884190655515560090,
        -0.39590389413323757734,
        0.18453964097831570709,
        0.25837438768632204729,
        0.29501172360931029888,
    ),
}
ORDERS = {"none": 2, "suzuki4": 4, "kahan_li6": 6, "kahan_li8": 8}


class Options(NamedTuple):
    """Options of a composed method that solves equations; the weights of its stages sum to one.

    One class for all of them: where two have the same name and fields, Numba takes 0.2 ms a call
    to tell them apart.
    """

    weights: Array | tuple[float]  # (s,) fractions of h
    tolerance: float  # relative residual of the discrete equations
    max_iterations: int
