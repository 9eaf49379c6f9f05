"""The law behind an observer: it sees what a Kalman filter makes of the sensors of `faults`, never the state.

The filter is told what the sensors are (quantum^2 / 12 and noise^2), as whoever builds a machine knows them.
"""

import math
from typing import Callable

import numpy as np

from rbdyn_ros.controllers.observer import Noise, Observer
from rbdyn_ros.evaluation.conditions import Conditions
from rbdyn_ros.geometry import unit_quaternion
from rbdyn_ros.models import measurements, spherical_pendulum
from rbdyn_ros.models.gimbal_joints import GimbalJoints
from rbdyn_ros.types import Array, State

LEAST = 1e-6  # [m], [rad], [rad/s], [m/s^2]: the deviation of a sensor that is told to be perfect


def observer(conditions: Conditions, params: spherical_pendulum.Params, start: State) -> Callable | None:
    """What `simulation.closed_loop.Conditions.observer` asks for; None if the law sees the state."""
    if conditions.observer == "none":
        return None
    return {"encoders": Encoders, "imu": Imu}[conditions.observer](conditions, params, start)


class Filtered:
    """A filter that knows the declared plant, and starts from the true state."""

    def __init__(self, conditions: Conditions, params: spherical_pendulum.Params, start: State):
        self.system, self.faults, self.position = spherical_pendulum.build(params), conditions.faults, conditions.imu_position
        self.filter, self.begun = Observer(self.system, start, conditions.period, Noise()), False

    def __call__(self, measured: State, truth: State, force: Array, sensors) -> State:
        """The estimate after the force (2,) that acted and the sensors' newest word."""
        u = np.array(force, float)
        if self.begun:
            self.filter.predict(u)
        self.begun = True
        position = variance(self.faults.noise.cart, self.faults.encoder.cart)
        self.filter.correct(measurements.cart(self.filter.state, measured.q[:2], position))
        self.correct(measured, truth, u, sensors)
        return State(truth.t, self.filter.state.q, self.filter.state.v)


class Encoders(Filtered):
    """Encoders of cart and gimbal."""

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.joints = GimbalJoints()

    def correct(self, measured: State, truth: State, force: Array, sensors) -> None:
        """Take in the gimbal."""
        angles = self.joints.follow(unit_quaternion.matrix(tuple(measured.q[2:].tolist())))
        count = 2.0 * math.pi / self.faults.encoder.gimbal if self.faults.encoder.gimbal else 0.0
        self.filter.correct(measurements.gimbal(self.filter.state, angles, variance(self.faults.noise.angle, count)))


class Imu(Filtered):
    """An encoder of the cart, and an IMU on the rod."""

    def correct(self, measured: State, truth: State, force: Array, sensors) -> None:
        """Take in gyroscope and accelerometer."""
        noise, estimate = self.faults.noise, self.filter
        felt = measurements.specific_force(self.system, truth.q, truth.v, tuple(force.tolist()), self.position)
        rate = tuple(truth.v[2:].tolist())
        rate, felt = sensors.inertial(rate, felt) if sensors else (rate, felt)
        gyroscope, accelerometer = variance(noise.gyroscope), variance(noise.accelerometer)
        estimate.correct(measurements.gyroscope(estimate.state, estimate.bias, rate, gyroscope))
        estimate.correct(measurements.accelerometer(self.system, estimate.state, force, felt, self.position, accelerometer))


def variance(deviation: float, count: float = 0.0) -> float:
    """Of a reading with white noise, rounded to counts."""
    return max(deviation**2 + count**2 / 12.0, LEAST**2)


