"""The excitation that measures the loop of the controller node, and the sensors and the filter
through which its law sees the state.
"""

import math
from typing import Annotated, NamedTuple

from rbdyn_ros.parameters.nodes import IMU, TABLES
from rbdyn_ros.schema import Parameter, spec, table


class Excitation(NamedTuple):
    """The force that is added to the law's, to measure the loop's frequency response."""

    amplitude: Annotated[
        float,
        spec(
            "Adds a multisine of this amplitude, sqrt 2 times its effective value, to the force "
            "of the law; 0 adds none.",
            "N",
            low=0.0,
        ),
    ] = 0.0
    low: Annotated[
        float, spec("Sets the lowest frequency of the excitation.", "Hz", above=0.0)
    ] = 0.1
    high: Annotated[
        float, spec("Sets the highest frequency of the excitation.", "Hz", above=0.0)
    ] = 20.0
    axis: Annotated[str, spec("Chooses the axis of the excitation.", choices=("x", "y"))] = "x"
    seed: Annotated[int, spec("Chooses the phases of the excitation.", low=0)] = 0
    period: Annotated[
        float,
        spec(
            "Sets the time after which the excitation repeats; 0 takes that of its lowest "
            "frequency.",
            "s",
            low=0.0,
        ),
    ] = 0.0


def _deviation(of: str, unit: str, name: str = "") -> Parameter:
    return spec(f"Sets the assumed standard deviation of {of}.", unit, name, above=0.0)


def _density(of: str, unit: str, name: str) -> Parameter:
    return spec(f"Sets the assumed white noise of {of}.", f"{unit} / sqrt Hz", name, above=0.0)


class FilterNoise(NamedTuple):
    """The noise that the filter assumes: spectral densities of what its model does not know, and
    deviations at the start.
    """

    cart: Annotated[
        float, _density("the cart's acceleration", "m/s^2", "observer.cart_acceleration")
    ] = 0.1
    rod: Annotated[
        float,
        _density(
            "the rod's angular acceleration across its axis",
            "rad/s^2",
            "observer.rod_acceleration",
        ),
    ] = 0.05
    spin: Annotated[
        float,
        _density(
            "the rod's angular acceleration along its axis",
            "rad/s^2",
            "observer.spin_acceleration",
        ),
    ] = 1.0
    bias: Annotated[float, _density("the gyroscope's bias", "rad/s^2", "observer.bias_walk")] = (
        1e-4
    )
    position: float = 0.01  # of the start [m]
    attitude: float = 0.02  # [rad]
    velocity: float = 0.1  # [m/s]
    rate: float = 0.1  # [rad/s]
    first_bias: Annotated[
        float,
        _deviation(
            "the gyroscope's bias at the start, for each axis", "rad/s", "observer.first_bias"
        ),
    ] = 0.02


class ObserverOptions(NamedTuple):
    """The sensors that give the law its state, and how well the filter knows them."""

    sensors: Annotated[
        str,
        spec(
            "Chooses the source of the law's state: joint_states and odometry as published, or "
            "a Kalman filter of the encoders or of the IMU.",
            choices=("none", "encoders", "imu"),
            read_only=True,
        ),
    ] = "none"
    cart: Annotated[float, _deviation("the cart's measured position, for each axis", "m")] = 1e-4
    angle: Annotated[
        float,
        _deviation("a measured angle of the gimbal; the default is that of 4096 counts", "rad"),
    ] = 2.0 * math.pi / 4096 / math.sqrt(12.0)
    gyroscope: Annotated[
        float, _deviation("a measured angular velocity, for each axis", "rad/s")
    ] = 0.005
    accelerometer: Annotated[
        float, _deviation("a measured specific force, for each axis", "m/s^2")
    ] = 0.05
    imu_position: Annotated[float, IMU] = IMU.default
    noise: Annotated[FilterNoise, "observer."] = FilterNoise()

    @property
    def imu(self) -> bool:
        """Whether gyroscope and accelerometer replace the gimbal's encoders."""
        return self.sensors == "imu"


CONTROLLER = TABLES["controller"] + table(Excitation, "excitation.")
OBSERVER = table(ObserverOptions, "observer.")
