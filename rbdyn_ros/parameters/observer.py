"""The controller's observer: which sensors it sees through, and how well it knows them and the plant."""

import math

from rbdyn_ros.parameters.simulator import SIMULATOR
from rbdyn_ros.schema import Parameter

_IMU = next(
    parameter for parameter in SIMULATOR if parameter.name == "imu.position"
)  # where the simulated one is


def _deviation(name: str, default: float, unit: str, of: str) -> Parameter:
    return Parameter(
        f"observer.{name}",
        default,
        unit,
        f"Sets the assumed standard deviation of {of}.",
        low=0.0,
        low_open=True,
    )


def _density(name: str, default: float, unit: str, of: str) -> Parameter:
    return Parameter(
        f"observer.{name}",
        default,
        unit,
        f"Sets the assumed white noise of {of}.",
        low=0.0,
        low_open=True,
    )


OBSERVER = (
    Parameter(
        "observer.sensors",
        "none",
        "",
        "Chooses what the law sees the state through: joint_states and odometry as they come, or "
        "a filter of the encoders or of the IMU.",
        "string",
        choices=("none", "encoders", "imu"),
        read_only=True,
    ),
    _deviation("cart", 1e-4, "m", "the cart's measured position, for each axis"),
    _deviation(
        "angle",
        2.0 * math.pi / 4096 / math.sqrt(12.0),
        "rad",
        "a measured angle of the gimbal; the default is that of 4096 counts",
    ),
    _deviation("gyroscope", 0.005, "rad/s", "a measured angular velocity, for each axis"),
    _deviation("accelerometer", 0.05, "m/s^2", "a measured specific force, for each axis"),
    _density("cart_acceleration", 0.1, "m/s^2 / sqrt Hz", "the cart's acceleration"),
    _density(
        "rod_acceleration",
        0.05,
        "rad/s^2 / sqrt Hz",
        "the rod's angular acceleration across its axis",
    ),
    _density(
        "spin_acceleration",
        1.0,
        "rad/s^2 / sqrt Hz",
        "the rod's angular acceleration along its axis",
    ),
    _density("bias_walk", 1e-4, "rad/s^2 / sqrt Hz", "the gyroscope's bias"),
    _deviation("first_bias", 0.02, "rad/s", "the gyroscope's bias at the start, for each axis"),
    _IMU,
)
