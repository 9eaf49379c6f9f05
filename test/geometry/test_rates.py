"""Rates of every parameterization against finite differences, in both frames, and their
singularities.
"""

import numpy as np
import pytest

from rbdyn_ros.geometry import conversion, increments, quaternion, rates, so3
from rbdyn_ros.numerics.finite_difference import jacobian

NAMED = pytest.mark.parametrize("name", conversion.NAMES)
FRAMED = pytest.mark.parametrize("frame", increments.FRAMES)
W = np.array([0.7, -1.1, 0.4])


def start(name):
    """A rotation with w > 0, away from every singularity, so that its principal value moves
    smoothly.
    """
    return conversion.convert([0.5, -0.4, 0.9], "rotation_vector", name)


@NAMED
@FRAMED
def test_rate_is_the_derivative_along_the_motion(name, frame):
    q = start("quaternion")
    motion = lambda t: conversion.convert(  # noqa: E731
        increments.integrate(q, float(t[0]) * W, 1.0, frame), "quaternion", name
    )
    numeric = jacobian(motion, np.zeros(1))
    assert np.allclose(
        rates.rate(name, start(name), W, frame).ravel(), numeric.value[:, 0], atol=1e-11
    )


@NAMED
@FRAMED
def test_angular_velocity_inverts_rate(name, frame, quaternions, random):
    value, w = (
        conversion.convert(quaternions, "quaternion", name),
        random.normal(size=(len(quaternions), 3)),
    )
    back = rates.angular_velocity(name, value, rates.rate(name, value, w, frame), frame)
    assert np.allclose(back, w, atol=1e-10)


@NAMED
def test_frames_differ_by_the_rotation(name, quaternions):
    value = conversion.convert(quaternions, "quaternion", name)
    in_world = quaternion.rotate(quaternions, W)
    assert np.allclose(
        rates.rate(name, value, W, "body"), rates.rate(name, value, in_world, "world"), atol=1e-9
    )


def test_quaternion_mappings_are_H(quaternions):
    world, body = (rates.mapping("quaternion", quaternions, frame) for frame in ("world", "body"))
    assert np.allclose(world, 2.0 * quaternion.H(quaternions), atol=1e-14)
    assert np.allclose(body, 2.0 * quaternion.H_bar(quaternions), atol=1e-14)


def test_euler_zyx_mapping_of_appendix_one(random):
    """det E = -cos y, and the four closed forms of the Kindr sheet."""
    for z, y, x in random.uniform(-1.4, 1.4, size=(20, 3)):
        cx, sx, cy, sy = np.cos(x), np.sin(x), np.cos(y), np.sin(y)
        assert np.linalg.det(rates.mapping("euler_zyx", [z, y, x], "world")) == pytest.approx(-cy)
        E_body = [[-sy, 0, 1], [cy * sx, cx, 0], [cx * cy, -sx, 0]]
        assert np.allclose(rates.mapping("euler_zyx", [z, y, x], "body"), E_body, atol=1e-14)
        inverse = [[0, sx / cy, cx / cy], [0, cx, -sx], [1, sx * sy / cy, cx * sy / cy]]
        assert np.allclose(
            rates.inverse_mapping("euler_zyx", [z, y, x], "body"), inverse, atol=1e-13
        )


def test_rotation_vector_mapping_is_gamma(vectors):
    assert np.allclose(rates.mapping("rotation_vector", vectors, "world"), so3.dexp_right(vectors))
    assert np.allclose(
        rates.mapping("rotation_vector", vectors, "body"), so3.dexp_left(vectors), atol=4e-15
    )


def test_angle_axis_rate_keeps_the_axis_a_unit_vector(quaternions):
    value = conversion.convert(quaternions, "quaternion", "angle_axis")
    n, dn = value[:, 1:], rates.rate("angle_axis", value, W)[:, 1:]
    assert np.allclose(np.sum(n * dn, axis=-1), 0.0, atol=1e-12)


@pytest.mark.parametrize(
    "name, value",
    [
        ("euler_zyx", [0.3, np.pi / 2, 0.1]),
        ("euler_xyz", [0.3, -np.pi / 2, 0.1]),
        ("angle_axis", [0.0, 1.0, 0.0, 0.0]),
        ("angle_axis", [2.0 * np.pi, 0.0, 0.0, 1.0]),
        ("rotation_vector", [0.0, 0.0, 2.0 * np.pi]),
    ],
)
def test_singular_charts_have_no_rate(name, value):
    with pytest.raises(ValueError, match="singular|multiple of 2 pi"):
        rates.rate(name, value, W)
    assert rates.angular_velocity(name, value, np.zeros(len(value))).shape == (3,)


def test_rotation_vector_is_regular_at_zero():
    assert np.array_equal(rates.rate("rotation_vector", np.zeros(3), W), W)


@pytest.mark.parametrize(
    "call, message",
    [
        (
            lambda: rates.rate("quaternion", [1, 0, 0, 0], W, "space"),
            "frame is 'space'; known: body, world",
        ),
        (lambda: rates.rate("euler", [0, 0, 0], W), "parameterization is 'euler'; known"),
        (lambda: rates.angular_velocity("matrix", np.eye(3), np.eye(3)), "not skew-symmetric"),
        (lambda: rates.mapping("matrix", np.eye(3)), "parameterization is 'matrix'; known"),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
