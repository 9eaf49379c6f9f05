"""The weights of the symmetric compositions: palindromes that satisfy the order conditions.

The conditions on mixed sums are seen where the order is measured, on the nonlinear pendulum.
"""

import numpy as np
import pytest

from rbdyn_ros.integrators.composition import COMPOSITIONS, ORDERS


@pytest.mark.parametrize("name", COMPOSITIONS)
def test_weights_are_palindromes_that_sum_to_one(name):
    g = COMPOSITIONS[name]
    assert (g == g[::-1]).all()
    assert g.sum() == pytest.approx(1.0, abs=1e-15)


@pytest.mark.parametrize("name", COMPOSITIONS)
def test_odd_power_sums_vanish_below_the_order(name):
    """sum g^k = 0 for the odd k from 3 below the order (Hairer, Lubich, Wanner, V.3)."""
    for k in range(3, ORDERS[name], 2):
        assert np.sum(COMPOSITIONS[name] ** k) == pytest.approx(0.0, abs=1e-14), k
