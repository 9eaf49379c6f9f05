"""F and F_bar of the Kindr kinematics sheet, and configurations that move."""

import numpy as np
import pytest

from rbdyn_ros.geometry import floating_base
from rbdyn_ros.numerics.finite_difference import jacobian


@pytest.fixture(params=[0, 1, 4, 6], ids="{} joints".format)
def moved(request, random):
    """q (7 + n,) with a unit quaternion, u (6 + n,)."""
    n = request.param
    attitude = random.normal(size=4)
    q = (random.normal(size=3), attitude / np.linalg.norm(attitude), random.normal(size=n))
    return np.concatenate(q), random.normal(size=6 + n)


def test_F_bar_inverts_F(moved):
    q, _ = moved
    assert np.allclose(floating_base.F_bar(q) @ floating_base.F(q), np.eye(len(q) - 1), atol=1e-14)


def test_F_is_the_derivative_of_the_motion(moved):
    q, u = moved
    numeric = jacobian(lambda e: floating_base.boxplus(q, e), np.zeros(len(u)))
    assert np.allclose(floating_base.F(q), numeric.value, atol=1e-10)


def test_batches(moved):
    q, u = moved
    many = floating_base.boxplus(q, np.outer(np.arange(5.0), u)).reshape(5, 1, -1)
    assert floating_base.F(many).shape == (5, 1, len(q), len(u))
    assert np.allclose(floating_base.F(many)[3, 0], floating_base.F(many[3, 0]))


@pytest.mark.parametrize(
    "q, message",
    [
        (np.ones(6), r"q has shape \(6,\); it must be \(\.\.\., 7 \+ n\)"),
        (np.array([0, 0, 0, 1.0, 1.0, 0, 0]), r"q\[3:7\] = .* is not of norm 1"),
        (np.array([0, np.nan, 0, 1.0, 0, 0, 0]), "not finite"),
        (3.0, "q has shape"),
    ],
)
def test_bad_input_is_named(q, message):
    with pytest.raises(ValueError, match=message):
        floating_base.F(q)
