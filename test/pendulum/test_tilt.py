"""The log-map tilt: definitions, near the singular points too."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rbdyn_ros.geometry import unit_quaternion
from rbdyn_ros.pendulum import spherical_pendulum
from rbdyn_ros.pendulum.tilt import tilt

components = st.floats(-1.0, 1.0).map(lambda x: x if abs(x) > 1e-300 else 0.0)
rates = st.floats(-10.0, 10.0)
attitudes = (
    st.tuples(*[components] * 4)
    .filter(lambda q: np.linalg.norm(q) > 1e-3)
    .map(lambda q: q / np.linalg.norm(q))
)


def coordinates(Q, w):
    return tilt(np.array((0.3, -0.7, *Q)), np.array((0.1, 0.2, *w)))


@settings(deadline=None)  # the first example compiles
@given(attitudes)
def test_the_exponential_of_the_tilt_is_the_rod(Q):
    th = coordinates(Q, (0.0, 0.0, 0.0))[:2]
    angle = math.hypot(*th)
    k = (np.sinc(angle / math.pi) * th[0], np.sinc(angle / math.pi) * th[1], math.cos(angle))
    np.testing.assert_allclose(k, unit_quaternion.rotate(tuple(Q), (0.0, 0.0, 1.0)), atol=1e-15)


@settings(deadline=None)  # the first example compiles
@given(attitudes, rates, rates, rates, st.floats(-math.pi, math.pi))
def test_a_turn_about_the_rod_and_its_spin_change_nothing(Q, w1, w2, w3, angle):
    turned = unit_quaternion.product(
        tuple(Q), (math.cos(angle / 2), 0.0, 0.0, math.sin(angle / 2))
    )
    c, s = math.cos(angle), math.sin(angle)
    w_turned = (c * w1 + s * w2, c * w2 - s * w1, w3)
    np.testing.assert_allclose(
        coordinates(turned, w_turned)[2:], coordinates(Q, (w1, w2, 0.0))[2:], atol=1e-13
    )


@pytest.mark.parametrize("azimuth", np.radians((0.0, 37.0, 120.0, -90.0)))
@pytest.mark.parametrize(
    "angle", (0.0, 1e-300, 1e-160, 1e-9, 0.1, 1.5, math.pi / 2, 2.0, math.pi - 1e-9)
)
def test_it_points_where_the_rod_leans(angle, azimuth):
    state = spherical_pendulum.upright(angle, azimuth)
    expected = (angle * math.cos(azimuth), angle * math.sin(azimuth))
    np.testing.assert_allclose(tilt(state.q, state.v)[:2], expected, rtol=1e-15, atol=1e-15)


def test_hanging_exactly_is_a_tilt_of_pi_and_not_upright():
    assert coordinates((0.0, 1.0, 0.0, 0.0), (0.0, 0.0, 0.0))[:2] == (math.pi, 0.0)


def test_the_rate_is_the_derivative_near_upright():
    w, h = np.array((0.3, -0.5, 4.0)), 1e-6
    ahead = np.array((1.0, *(0.5 * h * w)))
    th = np.array(coordinates(ahead / np.linalg.norm(ahead), w))
    np.testing.assert_allclose(th[:2] / h, coordinates((1.0, 0.0, 0.0, 0.0), w)[2:], atol=1e-5)
