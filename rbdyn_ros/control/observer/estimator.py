"""The observer over a stream of instants: where it starts, what it does about gaps, how well it is
believed.

The first instant is taken from the encoders, at rest but not sure of it; from then on the filter
of `control.observer.observer` goes on by the time that has passed, under the force that acted, and
takes in what was measured. With an IMU the gimbal's encoders tell the start alone.
"""

import math
from typing import NamedTuple

import numpy as np

from rbdyn_ros.control.observer import measurements
from rbdyn_ros.control.observer.observer import Observer
from rbdyn_ros.parameters.controller import ObserverOptions
from rbdyn_ros.types import State, System, Vector

# [m/s], [rad/s] deviation of what the encoders do not tell at the start
FIRST_VELOCITY, FIRST_RATE = (
    1.0,
    3.0,
)
LONGEST = 0.1  # [s] without a measurement, after which the filter starts anew
MEMORY = 500  # instants over which the innovations are averaged


class Instant(NamedTuple):
    """What was measured at a time."""

    t: float  # [s]
    cart: tuple[float, float]  # x y [m]
    angles: Vector  # roll pitch spin [rad]
    force: tuple[float, float]  # (2,) [N] that acted since the last instant
    rate: Vector | None = None  # (3,) [rad/s, body]
    felt: Vector | None = None  # (3,) [m/s^2, body] specific force


class Estimator:
    """An `Observer` with a beginning.

    `nis` is the innovation's r.S^-1 r per measured value, of the mean 1 if all is as believed.
    """

    def __init__(self, system: System, options: ObserverOptions):
        o = options
        noise = o.noise._replace(
            position=2.0 * o.cart, attitude=2.0 * o.angle, velocity=FIRST_VELOCITY, rate=FIRST_RATE
        )
        self._system, self._options, self._filter = (
            system,
            options,
            Observer(system, at_rest(_NOTHING), 1.0, noise),
        )
        self.reset()

    def reset(self) -> None:
        """Start anew from the next instant."""
        self._t: float | None = None
        self.nis = self.mean_nis = 1.0
        self.failures = 0  # predictions that did not converge

    def estimate(self, instant: Instant) -> State:
        """The state at the instant; a time that is not after the last one only repeats it.

        ValueError for a measurement that is not finite: the estimate stays.
        """
        _check(instant)
        if self._t is None or instant.t - self._t > LONGEST:
            self._filter.reset(at_rest(instant))
            self._t = instant.t
        elif instant.t > self._t:
            self.failures += not self._filter.predict(instant.force, instant.t - self._t)
            self._t = instant.t
            self._take_in(instant)
        return self._filter.state._replace(t=instant.t)

    def _take_in(self, instant: Instant) -> None:
        o, seen = self._options, self._filter
        total = seen.correct(measurements.cart(seen.state, instant.cart, o.cart**2))
        if o.imu:
            if instant.rate is None or instant.felt is None:
                raise ValueError(
                    "the observer reads an IMU, and the instant has no measurement of it"
                )
            total += seen.correct(
                measurements.gyroscope(seen.state, seen.bias, instant.rate, o.gyroscope**2)
            )
            felt = (instant.force, instant.felt, o.imu_position, o.accelerometer**2)
            total += seen.correct(measurements.accelerometer(self._system, seen.state, *felt))
        else:
            total += seen.correct(measurements.gimbal(seen.state, instant.angles, o.angle**2))
        self.nis = total / (8 if o.imu else 5)
        self.mean_nis += (self.nis - self.mean_nis) / MEMORY


_NOTHING = Instant(0.0, (0.0, 0.0), (0.0, 0.0, 0.0), (0.0, 0.0))


def at_rest(instant: Instant) -> State:
    """Where the encoders say, without a velocity."""
    return State(
        instant.t,
        np.array((*instant.cart, *measurements.attitude(*map(float, instant.angles)))),
        np.zeros(5),
    )


def _check(instant: Instant) -> None:
    for name, numbers in zip(instant._fields[1:], instant[1:]):
        if numbers is not None and not all(map(math.isfinite, numbers)):
            raise ValueError(
                f"of what was measured, {name} is {list(numbers)}; every number must be finite"
            )
