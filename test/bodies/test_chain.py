"""Spatial Jacobians of chains and trees on a floating base, their Hessian and time derivative."""

import numpy as np
import pytest

from rbdyn_ros.bodies import projected_newton_euler
from rbdyn_ros.geometry import floating_base, so3
from rbdyn_ros.numerics.finite_difference import jacobian

POINT = np.array([0.2, -0.4, 0.7])


def along(q, function, minus=np.subtract):
    """Derivative of function(q) along each generalized velocity."""
    return jacobian(function, q, len(q) - 1, plus=floating_base.boxplus, minus=minus).value


def test_jacobian_is_the_derivative_of_the_placement(tree):
    joints, _, q, _ = tree

    def apart(a, b):
        """Of all links at once: how the point moved and how the link turned, in the world."""
        moved = a.r - b.r + (a.R - b.R) @ POINT
        return np.concatenate([moved, so3.log(a.R @ np.swapaxes(b.R, -1, -2))], axis=-1)

    numeric = along(q, lambda p: projected_newton_euler.placements(joints, p), apart).reshape(
        len(joints) + 1, 6, -1
    )
    for link, expected in enumerate(numeric):
        assert np.allclose(
            projected_newton_euler.jacobian(joints, q, link, POINT), expected, atol=1e-9
        )


def test_hessian_is_the_derivative_of_the_jacobian(tree):
    joints, _, q, _ = tree
    for link in (0, len(joints)):
        H = projected_newton_euler.hessian(joints, q, link, POINT)
        numeric = along(q, lambda p: projected_newton_euler.jacobian(joints, p, link, POINT))
        assert np.allclose(
            H, np.moveaxis(numeric.reshape(6, len(q) - 1, len(q) - 1), -1, 0), atol=1e-8
        )


def test_hessian_of_the_sheet_lacks_the_base_rotation(tree):
    """Its rule 'i < j: (J_Ri x J_Pj; 0)' fails for two rotations of the base, and for nothing
    else.
    """
    joints, _, q, _ = tree
    H = projected_newton_euler.hessian(joints, q, len(joints), POINT)
    angular = H[:, 3:]  # [k, :, i]
    earlier = np.array([[i < k for i in range(len(H))] for k in range(len(H))])
    wrong = earlier & (np.abs(angular).max(axis=1) > 1e-12)
    assert {(int(k), int(i)) for k, i in np.argwhere(wrong)} == {(4, 3), (5, 3), (5, 4)}


def test_jacobian_rate_along_a_motion(tree):
    joints, _, q, u = tree
    link = len(joints)

    def moving(t):
        return projected_newton_euler.jacobian(
            joints, floating_base.boxplus(q, t[0] * u), link, POINT
        )

    numeric = jacobian(moving, np.zeros(1)).value.reshape(6, -1)
    assert np.allclose(
        projected_newton_euler.jacobian_rate(joints, q, u, link, POINT), numeric, atol=1e-9
    )


def test_bodies_that_a_joint_does_not_carry_have_zero_columns():
    x, one = np.array([1.0, 0.0, 0.0]), np.array([1.0, 0.0, 0.0, 0.0])
    joints = projected_newton_euler.build(
        *(
            projected_newton_euler.TreeJoint("revolute", 0, i * x, one, np.array([0.0, 0.0, 1.0]))
            for i in range(2)
        )
    )
    q = np.array([0.0, 0.0, 0.0, *one, 0.3, 0.4])
    assert np.array_equal(projected_newton_euler.jacobian(joints, q, 1, POINT)[:, 7], np.zeros(6))
    assert np.array_equal(projected_newton_euler.hessian(joints, q, 1, POINT)[7], np.zeros((6, 8)))


def test_base_alone():
    q = np.array([1.0, 2.0, 3.0, 1.0, 0.0, 0.0, 0.0])
    expected = np.block([[np.eye(3), -so3.hat(POINT)], [np.zeros((3, 3)), np.eye(3)]])
    assert np.allclose(projected_newton_euler.jacobian((), q, 0, POINT), expected)


GOOD = projected_newton_euler.TreeJoint(
    "revolute", 0, np.zeros(3), np.array([1.0, 0, 0, 0]), np.array([0.0, 0, 1])
)


@pytest.mark.parametrize(
    "change, message",
    [
        ({"kind": "ball"}, "the kind of joint 0 is 'ball'; known: revolute, prismatic"),
        ({"parent": 1}, "the parent of joint 0 is 1; it must be a link before it"),
        ({"axis": np.zeros(3)}, "the axis of joint 0 = .* is not of norm 1"),
        ({"orientation": np.ones(4)}, "the orientation of joint 0"),
        ({"position": np.ones(2)}, "the position of joint 0 has shape"),
    ],
)
def test_bad_joints_are_named(change, message):
    with pytest.raises(ValueError, match=message):
        projected_newton_euler.build(GOOD._replace(**change))


def test_bad_configuration_and_link_are_named():
    joints, q = projected_newton_euler.build(GOOD), np.array([0, 0, 0, 1.0, 0, 0, 0])
    with pytest.raises(ValueError, match=r"q has shape \(7,\); it must be \(\.\.\., 8\)"):
        projected_newton_euler.placements(joints, q)
    with pytest.raises(ValueError, match=r"link is 2; it must be 0 \(the base\) to 1"):
        projected_newton_euler.jacobian(joints, np.append(q, 0.1), 2, POINT)
