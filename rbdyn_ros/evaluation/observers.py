"""The law behind an observer: it sees what a Kalman filter makes of the sensors of `faults`, never
the state.

It is the filter of the controller node (`control.observer.estimator`): it begins at rest where the
encoders say. It is given the declared plant and what the sensors are (quantum^2 / 12 and noise^2),
as whoever builds a machine knows them.
"""

import math

from rbdyn_ros.control.observer import measurements
from rbdyn_ros.control.observer.estimator import Estimator, Instant
from rbdyn_ros.evaluation.scenario import Scenario
from rbdyn_ros.geometry import unit_quaternion
from rbdyn_ros.mechanics.pendulum import spherical_pendulum
from rbdyn_ros.mechanics.pendulum.gimbal_joints import GimbalJoints
from rbdyn_ros.parameters.controller import ObserverOptions
from rbdyn_ros.types import Array, State

LEAST = 1e-6  # [m], [rad], [rad/s], [m/s^2]: the deviation of a sensor that is declared perfect


def observer(scenario: Scenario, params: spherical_pendulum.Params) -> "Filtered | None":
    """What `simulation.closed_loop.Conditions.observer` asks for; None if the law sees the
    state.
    """
    return None if scenario.observer == "none" else Filtered(scenario, params)


class Filtered:
    """The filter behind encoders of cart and gimbal, or behind that of the cart and an IMU on the
    rod.
    """

    def __init__(self, scenario: Scenario, params: spherical_pendulum.Params):
        noise, encoder = scenario.faults.noise, scenario.faults.encoder
        self.system, self.joints = spherical_pendulum.build(params), GimbalJoints()
        self.options = ObserverOptions(
            sensors=scenario.observer,
            cart=deviation(noise.cart, encoder.cart),
            angle=deviation(
                noise.angle, 2.0 * math.pi / encoder.gimbal if encoder.gimbal else 0.0
            ),
            gyroscope=deviation(noise.gyroscope),
            accelerometer=deviation(noise.accelerometer),
            imu_position=scenario.imu_position,
        )
        self.filter = Estimator(self.system, self.options)

    def __call__(self, measured: State, truth: State, force: Array, sensors) -> State:
        """The estimate after the force (2,) of the last period and the sensors' newest
        readings.
        """
        u = float(force[0]), float(force[1])
        angles = self.joints.follow(unit_quaternion.matrix(tuple(measured.q[2:].tolist())))
        inertial = self._inertial(truth, u, sensors) if self.options.imu else (None, None)
        return self.filter.estimate(
            Instant(truth.t, tuple(measured.q[:2].tolist()), angles, u, *inertial)
        )

    def _inertial(self, truth: State, u: tuple, sensors) -> tuple:
        """(rate, specific force) that the IMU reads."""
        felt = measurements.specific_force(
            self.system, truth.q, truth.v, u, self.options.imu_position
        )
        rate = tuple(truth.v[2:].tolist())
        return sensors.inertial(rate, felt) if sensors else (rate, felt)


def deviation(noise: float, count: float = 0.0) -> float:
    """Of a reading with white noise, rounded to counts."""
    return max(math.hypot(noise, count / math.sqrt(12.0)), LEAST)
