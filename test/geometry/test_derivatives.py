"""Every derivative identity of the Kindr kinematics sheet, corrected, against finite
differences.
"""

import numpy as np
import pytest

from rbdyn_ros.geometry import increments, quaternion, so3
from rbdyn_ros.numerics.finite_difference import jacobian

X = np.array([0.4, -1.3, 0.8])


@pytest.fixture(params=range(4))
def rotations(request, quaternions):
    return quaternions[request.param], quaternions[-1 - request.param]


def by_rotation(function, q, minus=np.subtract):
    return jacobian(function, q, 3, plus=increments.boxplus, minus=minus).value


def close(analytic, numeric):
    return np.allclose(analytic, numeric, atol=1e-9)


def test_of_a_rotated_vector(rotations):
    q, _ = rotations
    assert close(increments.rotate_second(q), jacobian(lambda x: quaternion.rotate(q, x), X).value)
    assert close(increments.rotate_first(q, X), by_rotation(lambda p: quaternion.rotate(p, X), q))


def test_of_the_inverse_and_of_products(rotations):
    a, b = rotations
    minus = increments.boxminus
    assert close(increments.inverse(a), by_rotation(quaternion.conjugate, a, minus))
    assert close(
        increments.product_first(a, b), by_rotation(lambda p: quaternion.product(p, b), a, minus)
    )
    assert close(
        increments.product_second(a, b), by_rotation(lambda p: quaternion.product(a, p), b, minus)
    )


def test_of_boxminus_with_the_missing_sign(rotations):
    b = rotations[1]
    a = increments.boxplus(b, X)
    assert close(
        increments.boxminus_first(a, b), by_rotation(lambda p: increments.boxminus(p, b), a)
    )
    numeric = by_rotation(lambda p: increments.boxminus(a, p), b)
    assert close(increments.boxminus_second(a, b), numeric)
    assert not close(-increments.boxminus_second(a, b), numeric)
    assert close(numeric, -so3.dlog_right(X) @ so3.exp(X))


def test_of_log(rotations):
    q = quaternion.exp(X)
    assert close(so3.dlog_right(X), by_rotation(quaternion.log, q))


def test_of_cross_products():
    y = np.array([1.0, 2.0, -0.5])
    assert close(increments.cross_first(y), jacobian(lambda x: np.cross(x, y), X).value)
    assert close(increments.cross_second(X), jacobian(lambda z: np.cross(X, z), y).value)


def test_of_the_inverse_in_time(rotations):
    q, _ = rotations

    def turning(t):
        return quaternion.conjugate(quaternion.product(q, quaternion.exp(t[0] * X)))

    numeric = jacobian(turning, np.zeros(1), minus=increments.boxminus).value[:, 0]
    assert close(increments.frame_in_time(X), numeric)
