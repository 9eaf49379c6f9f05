"""The attitude of the dual steps, against the quaternion of dual numbers that it stands for."""

import os

import numpy as np
import pytest

from rbdyn_ros.geometry import dual_attitude, unit_quaternion
from rbdyn_ros.geometry.dual import store, value, variable
from rbdyn_ros.kernel import kernel

pytestmark = pytest.mark.skipif(
    os.environ.get("NUMBA_DISABLE_JIT") == "1", reason="dual numbers need compiled code"
)


@kernel
def _both(Q, q, values, slopes):
    """Nine entries of R, then four of the quaternion, of Q exp(theta^) turned by q exp(phi^)."""
    theta = variable(6, 0.0, 0), variable(6, 0.0, 1), variable(6, 0.0, 2)
    phi = variable(6, 0.0, 3), variable(6, 0.0, 4), variable(6, 0.0, 5)
    attitude = Q, theta
    s, a, b, c = dual_attitude.quaternion((q, phi))
    turned = dual_attitude.compose(attitude, q, dual_attitude.own_turn(s, (a, b, c)))
    product = unit_quaternion.product(dual_attitude.quaternion(attitude), (s, a, b, c))
    same = dual_attitude.quaternion(dual_attitude.from_quaternion(product))
    ours, theirs = dual_attitude.matrix(turned), unit_quaternion.matrix(product)
    for i in range(3):
        for j in range(3):
            values[0, 3 * i + j], values[1, 3 * i + j] = value(ours[i][j]), value(theirs[i][j])
            store(slopes, 3 * i + j, 0, ours[i][j], 0, 6)
            store(slopes, 13 + 3 * i + j, 0, theirs[i][j], 0, 6)
    for j in range(4):
        values[0, 9 + j], values[1, 9 + j] = value(same[j]), value(product[j])
        store(slopes, 9 + j, 0, same[j], 0, 6)
        store(slopes, 22 + j, 0, product[j], 0, 6)


def test_the_turn_of_an_attitude_is_that_of_its_quaternion():
    Q, q = np.array((0.7, -0.3, 0.5, 0.3)), np.array((0.9, 0.2, -0.1, 0.4))
    values, slopes = np.zeros((2, 13)), np.zeros((26, 6))
    _both(*(tuple((a / np.linalg.norm(a)).tolist()) for a in (Q, q)), values, slopes)
    assert np.abs(slopes).max() > 0.5
    np.testing.assert_allclose(values[0], values[1], rtol=0, atol=1e-15)
    np.testing.assert_allclose(slopes[:13], slopes[13:], rtol=0, atol=1e-15)
