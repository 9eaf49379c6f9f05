"""The observer over a stream: its start, a gap, a repeated instant, and what it refuses."""

import math

import numpy as np
import pytest

from rbdyn_ros.control.observer import measurements
from rbdyn_ros.control.observer.estimator import Estimator, Instant
from rbdyn_ros.geometry import unit_quaternion
from rbdyn_ros.integrators.select import select
from rbdyn_ros.parameters.controller import ObserverOptions
from rbdyn_ros.pendulum import spherical_pendulum
from rbdyn_ros.pendulum.gimbal_joints import GimbalJoints
from rbdyn_ros.types import State

SYSTEM = spherical_pendulum.build(spherical_pendulum.Params(cart_damping=0.5, joint_damping=0.005))
U = (3.0, -2.0)


class Plant:
    """The true pendulum, in full motion, and its exact sensors."""

    def __init__(self):
        self.method, self.input, self.joints = (
            select("quaternion_midpoint"),
            spherical_pendulum.no_input(),
            GimbalJoints(),
        )
        self.options, (_, self.q, self.v) = (
            self.method.options(SYSTEM),
            spherical_pendulum.upright(math.radians(120.0), 0.7),
        )
        self.v[:], self.input.force[:], self.t = (0.4, -0.3, 2.0, -1.5, 4.0), U, 0.0

    def instant(self, h=0.0):
        """What is measured h [s] later."""
        for _ in range(round(h / 0.001)):
            state = State(self.t, self.q, self.v)
            self.method.advance(SYSTEM, self.options, self.input, 0.001, 1, state, np.zeros(3))
        self.t += h
        angles = self.joints.follow(unit_quaternion.matrix(tuple(self.q[2:].tolist())))
        felt = measurements.specific_force(SYSTEM, self.q, self.v, U, 0.3)
        return Instant(
            self.t, tuple(self.q[:2].tolist()), angles, U, tuple(self.v[2:].tolist()), felt
        )


@pytest.mark.parametrize("imu", [False, True], ids=["encoders", "imu"])
def test_started_in_full_motion_it_knows_the_velocities_within_20_ms(imu):
    plant, estimator = (
        Plant(),
        Estimator(SYSTEM, ObserverOptions(sensors="imu" if imu else "encoders")),
    )
    state = estimator.estimate(plant.instant())
    np.testing.assert_allclose(state.v, 0.0)
    for _ in range(10):
        state = estimator.estimate(plant.instant(0.002))
    np.testing.assert_allclose(state.v[:4], plant.v[:4], atol=0.06)
    np.testing.assert_allclose(state.q[:2], plant.q[:2], atol=1e-4)
    assert abs(state.q[2:] @ plant.q[2:]) > 1.0 - 1e-6


def test_a_gap_is_bridged_and_a_long_one_begins_anew():
    plant, estimator = Plant(), Estimator(SYSTEM, ObserverOptions())
    estimator.estimate(plant.instant())
    for _ in range(50):
        estimator.estimate(plant.instant(0.002))
    state = estimator.estimate(plant.instant(0.03))
    np.testing.assert_allclose(state.v[2:4], plant.v[2:4], atol=0.05)
    np.testing.assert_allclose(estimator.estimate(plant.instant(0.2)).v, 0.0)


def test_an_instant_that_is_repeated_changes_nothing():
    plant, estimator = Plant(), Estimator(SYSTEM, ObserverOptions())
    estimator.estimate(plant.instant())
    instant = plant.instant(0.002)
    first = estimator.estimate(instant)
    again = estimator.estimate(instant)
    np.testing.assert_array_equal(again.q, first.q)
    np.testing.assert_array_equal(again.v, first.v)


def test_what_is_not_finite_is_named_and_changes_nothing():
    plant, estimator = Plant(), Estimator(SYSTEM, ObserverOptions())
    estimator.estimate(plant.instant())
    bad = plant.instant(0.002)._replace(angles=(0.1, math.nan, 0.0))
    with pytest.raises(
        ValueError,
        match=r"of what was measured, angles is \[0.1, nan, 0.0\]; every number must be finite",
    ):
        estimator.estimate(bad)
    assert estimator.estimate(plant.instant()).t == plant.t
