"""Every conversion between parameterizations, in both directions, at the singular points as
well.
"""

from itertools import product

import numpy as np
import pytest
import transforms3d
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from rbdyn_ros.geometry import conversion, quaternion

PAIRS = list(product(conversion.NAMES, repeat=2))
QUARTERS = np.array(list(product((-np.pi, -np.pi / 2, 0.0, np.pi / 2, np.pi), repeat=3)))


def distance(a, b):
    """Of two batches of quaternions, as rotations."""
    return np.minimum(np.abs(a - b).max(-1), np.abs(a + b).max(-1)).max()


@pytest.mark.parametrize("source, target", PAIRS)
def test_every_pair_at_random_and_near_pi(source, target, quaternions, vectors):
    q = np.concatenate([quaternions, quaternion.exp(vectors)])
    start = conversion.convert(q, "quaternion", source)
    end = conversion.convert(start, source, target)
    assert distance(conversion.convert(end, target, "quaternion"), q) < 3e-15


@pytest.mark.parametrize("source, target", PAIRS)
def test_every_pair_at_quarter_turns(source, target):
    q = conversion.zyx_to_quaternion(QUARTERS)
    start = conversion.convert(q, "quaternion", source)
    end = conversion.convert(start, source, target)
    assert distance(conversion.convert(end, target, "quaternion"), q) < 3e-15


COMPONENT = st.floats(-1.0, 1.0)


@settings(max_examples=50, deadline=None)
@given(st.tuples(COMPONENT, COMPONENT, COMPONENT, COMPONENT).filter(any))
def test_every_pair_at_any_rotation(q):
    q = quaternion.normalize(q)
    for source, target in PAIRS:
        there = conversion.convert(conversion.convert(q, "quaternion", source), source, target)
        assert distance(conversion.convert(there, target, "quaternion")[None], q[None]) < 5e-15


def test_values_agree_with_scipy(quaternions):
    R = Rotation.from_quat(quaternions[:, [1, 2, 3, 0]])
    to = lambda name: conversion.convert(quaternions, "quaternion", name)  # noqa: E731
    assert np.allclose(to("euler_zyx"), R.as_euler("ZYX"), atol=1e-12)
    assert np.allclose(to("euler_xyz"), R.as_euler("XYZ"), atol=1e-12)
    assert np.allclose(to("rotation_vector"), R.as_rotvec(), atol=1e-14)
    assert np.allclose(to("quaternion"), R.as_quat(canonical=True)[:, [3, 0, 1, 2]], atol=1e-15)


def test_values_agree_with_transforms3d(quaternions):
    for q in quaternions[:40]:
        R = conversion.convert(q, "quaternion", "matrix")
        assert np.allclose(
            conversion.convert(R, "matrix", "euler_zyx"), transforms3d.euler.mat2euler(R, "rzyx")
        )
        assert np.allclose(
            conversion.convert(R, "matrix", "euler_xyz"), transforms3d.euler.mat2euler(R, "rxyz")
        )
        axis, angle = transforms3d.axangles.mat2axangle(R)
        theta, *n = conversion.convert(R, "matrix", "angle_axis")
        assert np.allclose(
            theta * np.array(n), angle * axis, atol=1e-7
        )  # transforms3d's own accuracy


def test_principal_ranges(quaternions):
    angle_axis = conversion.convert(quaternions, "quaternion", "angle_axis")
    assert np.all((angle_axis[:, 0] >= 0.0) & (angle_axis[:, 0] <= np.pi))
    for name in ("euler_zyx", "euler_xyz"):
        first, y, last = conversion.convert(quaternions, "quaternion", name).T
        assert np.all(np.abs(y) <= np.pi / 2)
        assert np.all((first >= -np.pi) & (first < np.pi) & (last >= -np.pi) & (last < np.pi))


@pytest.mark.parametrize("name", ["euler_zyx", "euler_xyz"])
@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize("away", [0.0, 1e-16, 1e-12, 1e-8, 1e-6])
def test_euler_angles_give_the_rotation_back_at_and_near_their_singularity(name, sign, away):
    """Angles read off the matrix one by one are wrong by 1e-16 / cos y, here up to order 1."""
    angles = np.array(
        [[a, sign * (np.pi / 2 - away), b] for a in (-3.0, 0.4, 2.0) for b in (-1.0, 0.0, 2.5)]
    )
    q = conversion.convert(angles, name, "quaternion")
    back = conversion.convert(q, "quaternion", name)
    assert distance(conversion.convert(back, name, "quaternion"), q) < 1e-15


def test_identity_has_the_axis_x():
    assert np.array_equal(
        conversion.convert([1.0, 0, 0, 0], "quaternion", "angle_axis"), [0.0, 1.0, 0.0, 0.0]
    )


def test_batches_keep_their_shape(quaternions):
    q = quaternions.reshape(10, 4, 5, 4)
    assert conversion.convert(q, "quaternion", "matrix").shape == (10, 4, 5, 3, 3)
    assert conversion.convert(np.empty((0, 3)), "euler_zyx", "matrix").shape == (0, 3, 3)


@pytest.mark.parametrize(
    "value, source, target, message",
    [
        (
            [1.0, 0, 0, 0],
            "quaternions",
            "matrix",
            "source is 'quaternions'; known: quaternion, matrix",
        ),
        ([1.0, 0, 0, 0], "quaternion", "euler", "target is 'euler'; known"),
        ([1.0, 0.5, 0.5, 0.5], "angle_axis", "matrix", "angle_axis axis = .* is not of norm 1"),
        ([0.0, 0.0, 0.0, 0.0], "quaternion", "quaternion", "not of norm 1"),
        ([0.0, np.inf, 0.0], "euler_xyz", "matrix", "xyz = .* is not finite"),
    ],
)
def test_bad_input_is_named(value, source, target, message):
    with pytest.raises(ValueError, match=message):
        conversion.convert(value, source, target)
