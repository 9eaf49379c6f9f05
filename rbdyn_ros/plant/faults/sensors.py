"""The sensors' measurement of a state and its faults: what they are called, and what they do.

Encoders of the cart and of the gimbal, R = Rx(roll) Ry(pitch) Rz(spin), read a position x to the
next count,

    x~ = c round((x + bias + noise) / c),   c = `encoder.cart` [m], or
                                          2 pi / `encoder.gimbal` [rad],

velocities have only noise; the IMU has noise and bias. A frozen instant repeats the measurement
before it. The draws of an instant do not depend on which faults are set, so one fault does not
change another's noise. `plant.faults.covariance` has what a reader may conclude from them.
"""

import math
from typing import Annotated, NamedTuple, Protocol

import numpy as np

from rbdyn_ros.plant.faults.channel import draws, rows
from rbdyn_ros.schema import Parameter, spec
from rbdyn_ros.types import State, Vector

COUNTED = ("disturbed", "imu_disturbed", "frozen")
_STILL = (0.0, 0.0), (0.0, 0.0, 0.0)  # velocities of cart and rod


def _deviation(of: str, unit: str) -> Parameter:
    return spec(f"Sets the standard deviation of {of}.", unit, low=0.0)


class SensorNoise(NamedTuple):
    """Standard deviations of white noise, drawn for each instant."""

    cart: Annotated[float, _deviation("the cart's measured position, for each axis", "m")] = 0.0
    cart_velocity: Annotated[
        float, _deviation("the cart's measured velocity, for each axis", "m/s")
    ] = 0.0
    angle: Annotated[float, _deviation("the measured roll, pitch and spin", "rad")] = 0.0
    rate: Annotated[
        float, _deviation("the rod's measured angular velocity, for each body axis", "rad/s")
    ] = 0.0
    gyroscope: Annotated[
        float, _deviation("the IMU's angular velocity, for each axis", "rad/s")
    ] = 0.0
    accelerometer: Annotated[
        float, _deviation("the IMU's specific force, for each axis", "m/s^2")
    ] = 0.0


class Bias(NamedTuple):
    """Constant errors that are added to measurements."""

    cart: Annotated[
        tuple[float, float], spec("Adds a constant to the cart's measured position, x and y.", "m")
    ] = (0.0, 0.0)
    angle: Annotated[
        Vector, spec("Adds a constant to the measured roll, pitch and spin.", "rad")
    ] = (0.0, 0.0, 0.0)
    gyroscope: Annotated[
        Vector, spec("Adds a constant to the IMU's angular velocity.", "rad/s")
    ] = (0.0, 0.0, 0.0)
    accelerometer: Annotated[
        Vector, spec("Adds a constant to the IMU's specific force.", "m/s^2")
    ] = (0.0, 0.0, 0.0)


class Encoder(NamedTuple):
    """Resolutions of the encoders."""

    cart: Annotated[
        float,
        spec(
            "Sets the distance between two counts of the cart's encoder; 0 reads exactly.",
            "m",
            low=0.0,
        ),
    ] = 0.0
    gimbal: Annotated[
        float,
        spec(
            "Sets the counts per turn of the encoders of roll, pitch and spin; 0 reads exactly.",
            low=0.0,
        ),
    ] = 0.0


class SensorFaults(Protocol):
    """The part of `plant.faults.fault_options.Faults` that the sensors have."""

    @property
    def noise(self) -> SensorNoise: ...  # noqa: D102
    @property
    def bias(self) -> Bias: ...  # noqa: D102
    @property
    def encoder(self) -> Encoder: ...  # noqa: D102
    @property
    def state_freeze(self) -> float: ...  # noqa: D102


def to_count(position: float, count: float) -> float:
    """Return the position rounded to the nearest count; a count of 0 reads exactly."""
    return count * round(position / count) if count else position


class Sensors:
    """Sensors with their state.

    `counts` has the instants that were disturbed (the measurement differs from the state),
    imu_disturbed and frozen.
    """

    def __init__(self, options: SensorFaults, seed: int):
        # here, so that whoever reads the parameters alone loads no kernels
        from rbdyn_ros.kernel import bind
        from rbdyn_ros.pendulum.gimbal_joints import GimbalJoints, attitude

        self._gimbal, self._attitude = GimbalJoints(), bind(attitude, 0.0, 0.0, 0.0)
        self.reset_counts()
        self.reconfigure(options)
        self.restart(seed)

    def reconfigure(self, options: SensorFaults) -> None:
        """Use other options from now on."""
        self.options = options
        noise, bias, encoder = options.noise, options.bias, options.encoder
        biases = any(map(any, bias))
        self.perfect = not (any(noise) or any(encoder) or biases or options.state_freeze)
        self._turns = any((noise.angle, encoder.gimbal, *bias.angle))  # the measured attitude
        self._cart_count = encoder.cart  # [m]
        self._gimbal_count = 2.0 * math.pi / encoder.gimbal if encoder.gimbal else 0.0  # [rad]

    def restart(self, seed: int) -> None:
        """Restart the random streams and discard the last measurement."""
        self._noise = rows(draws(seed, "noise").standard_normal, 10)
        self._imu_noise = rows(draws(seed, "imu").standard_normal, 6)
        self._chances = rows(draws(seed, "freeze").random, 1)
        self._last: tuple[list[float], list[float]] | None = None
        self._last_inertial: tuple[Vector, Vector] | None = None
        self._is_frozen, self._gimbal.angles = False, (0.0, 0.0, 0.0)

    def reset_counts(self) -> None:
        """Reset the counts to zero."""
        self.counts = dict.fromkeys(COUNTED, 0)

    def measure(self, state: State) -> State:
        """Return the measurement of a state. Call it once per instant."""
        q, v = self.read(state.q.tolist(), state.v.tolist())
        return State(state.t, np.array(q), np.array(v))

    def read(self, q: list[float], v: list[float]) -> tuple[list[float], list[float]]:
        """Return the measurement of the state q (6), v (5) as lists. Call it once per instant."""
        error, (chance,) = next(self._noise), next(self._chances)
        if self.perfect:
            self._is_frozen = False
            return q, v
        self._is_frozen = self._last is not None and chance < self.options.state_freeze
        if self._last is None or not self._is_frozen:
            self._last = self._read_anew(q, v, error)
            self.counts["disturbed"] += self._last != (q, v)
        else:
            self.counts["frozen"] += 1
        return self._last

    def _read_anew(
        self, q: list[float], v: list[float], error: list[float]
    ) -> tuple[list[float], list[float]]:
        noise, (at_x, at_y), count = self.options.noise, self.options.bias.cart, self._cart_count
        x, y, *Q = q
        a, b, roll, pitch, spin, c, d, e, f, g = error
        if self._turns:
            Q = self._read_gimbal(Q, (roll, pitch, spin))
        x = to_count(x + at_x + noise.cart * a, count)
        y = to_count(y + at_y + noise.cart * b, count)
        speed, rate = noise.cart_velocity, noise.rate
        u = v[0] + speed * c, v[1] + speed * d
        return [x, y, *Q], [*u, v[2] + rate * e, v[3] + rate * f, v[4] + rate * g]

    def _read_gimbal(self, Q: list[float], error: Vector) -> tuple[float, ...]:
        """Return the attitude that the encoders read: of q and -q, the one nearer to the true one,
        as a change between them would look like noise.
        """
        a, b, c, d = Q
        (_, angles, _, _), bias = self._gimbal.motion((a, b, c, d), *_STILL), self.options.bias
        roll, pitch, spin = _disturb(angles, bias.angle, self.options.noise.angle, error)
        if count := self._gimbal_count:
            roll, pitch, spin = (
                to_count(roll, count),
                to_count(pitch, count),
                to_count(spin, count),
            )
        w, x, y, z = self._attitude(roll, pitch, spin)
        return (w, x, y, z) if a * w + b * x + c * y + d * z >= 0.0 else (-w, -x, -y, -z)

    def measure_inertial(self, rate: Vector, force: Vector) -> tuple[Vector, Vector]:
        """Return the IMU's (angular velocity, specific force) (3,) [rad/s, m/s^2, body] at the
        instant of the last measurement.
        """
        a, b, c, d, e, f = next(self._imu_noise)
        if self._last_inertial is None or not self._is_frozen:
            noise, bias = self.options.noise, self.options.bias
            w = _disturb(rate, bias.gyroscope, noise.gyroscope, (a, b, c))
            felt = _disturb(force, bias.accelerometer, noise.accelerometer, (d, e, f))
            self._last_inertial = w, felt
            self.counts["imu_disturbed"] += self._last_inertial != (rate, force)
        return self._last_inertial


def _disturb(true: Vector, bias: Vector, noise: float, error: Vector) -> Vector:
    return (
        true[0] + bias[0] + noise * error[0],
        true[1] + bias[1] + noise * error[1],
        true[2] + bias[2] + noise * error[2],
    )
