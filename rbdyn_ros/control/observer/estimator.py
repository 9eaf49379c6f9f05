"""Estimate the state from encoders and an IMU by a Kalman filter in the tangent space, near
upright and through a swing-up.

The filter starts at rest at the encoders' values, with an uncertain velocity; from then on it
predicts over the time that has passed, under the force that acted, and corrects by what was
measured. With an IMU the gimbal's encoders are used at the start only. The estimate moves by the
stepper itself, its covariance by the stepper's own derivative:

    predict   state := step(state, u),   Sigma := A Sigma A^T + Sigma_w
    correct   Sigma_r = H Sigma H^T + Sigma_y,  G = Sigma H^T Sigma_r^-1,  state := state [+] G r,
              Sigma := (1 - G H) Sigma (1 - G H)^T + G Sigma_y G^T   (K.14)

with the force u that acted, after its limit. The gyroscope's bias is estimated with the state. The
normalized innovation r.Sigma_r^-1 r of a consistent filter has the mean m, the number of measured
values.

The two halves of the filter, (K.14), are kernels that write to the memory of the estimate.
"""

import math
from typing import NamedTuple

import numpy as np

from rbdyn_ros.control.observer import measurements
from rbdyn_ros.control.observer.measurements import SIZE, Components, Reading, move
from rbdyn_ros.integrators.derivatives import StepSequence, compile_steps
from rbdyn_ros.integrators.select import select
from rbdyn_ros.kernel import kernel
from rbdyn_ros.numerics.linear import solution
from rbdyn_ros.parameters.controller import FilterNoise, ObserverOptions
from rbdyn_ros.pendulum import coulomb_friction, rod_on_cart
from rbdyn_ros.pendulum.gimbal_joints import attitude
from rbdyn_ros.types import Contacts, State, System, Vector

_STATE = 10  # the part of xi that is the plant's
_step = compile_steps("quaternion_midpoint", "state")


@kernel
def predict(system, options, force, h, q, v, Sigma, walk):
    """Advance (q, v) and the covariance Sigma (13, 13) by one step of h [s] under `force` (2,)
    [N]. Return False, and change nothing, if Newton fails.

    `walk` (13,) is the variance that a step adds.
    """
    A, J, S, o = np.eye(SIZE), np.empty((_STATE, _STATE + 2)), np.empty((2, 11)), (0.0, 0.0, 0.0)
    S[0, :6], S[0, 6:] = q, v
    load, loop = (
        rod_on_cart.Load(force, o, o, o),
        StepSequence((1.0,), None, options.tolerance, h, 0.0),
    )
    if _step(system, options, load, loop, S, None, J) != 1:
        return False
    A[:_STATE, :_STATE] = J[:, :_STATE]
    Sigma[:] = A @ Sigma @ A.T
    for i in range(SIZE):
        Sigma[i, i] += walk[i]
    q[:], v[:] = S[1, :6], S[1, 6:]
    return True


@kernel
def correct(q, v, bias, Sigma, r, H, noise):
    """Correct (q, v), the bias (3,) and Sigma by r = H xi + noise, whose covariance is `noise`.
    Return the normalized innovation r.Sigma_r^-1 r.
    """
    crossed = H @ Sigma
    Sigma_r = crossed @ H.T + noise
    G = np.ascontiguousarray(solution(Sigma_r, crossed).T)
    xi = G @ r
    move(q, v, xi)
    bias += xi[_STATE:]
    rest = np.eye(SIZE) - G @ H
    Sigma[:] = rest @ Sigma @ rest.T + G @ noise @ G.T
    return r @ solution(Sigma_r, r)


class Observer:
    """The Kalman filter; `state` and `bias` are its estimate, `covariance` (13, 13) that of its
    error.
    """

    def __init__(self, system: System, start: State, h: float, noise: FilterNoise = FilterNoise()):
        """Make the filter; h [s] is the time between two predictions."""
        self.system = coulomb_friction.without(system)._replace(contacts=Contacts())
        self.h = float(h)
        self._options = select("quaternion_midpoint").options(self.system)
        n = noise
        first = n.position, n.attitude, n.velocity, n.rate, n.first_bias
        self._first = np.diag(np.repeat(first, (2, 3, 2, 3, 3)) ** 2)
        density = 0.0, n.cart, n.rod, n.spin, n.bias
        self._density = np.repeat(density, (5, 2, 2, 1, 3)) ** 2
        self.reset(start)

    @property
    def state(self) -> State:
        """The estimate, as a copy."""
        return State(self._t, self._q.copy(), self._v.copy())

    def reset(self, start: State) -> None:
        """Begin anew from a first guess of the state."""
        self._t, self._q, self._v = start.t, np.array(start.q, float), np.array(start.v, float)
        self.bias, self.covariance = np.zeros(3), self._first.copy()

    def predict(self, force: Components, h: float | None = None) -> bool:
        """Advance by one period, or by h [s], under the force (2,) [N] that acted. Return False,
        and change nothing, if the step did not converge.
        """
        u, h = (float(force[0]), float(force[1])), self.h if h is None else float(h)
        if not predict(
            self.system, self._options, u, h, self._q, self._v, self.covariance, h * self._density
        ):
            return False
        self._t += h
        return True

    def correct(self, reading: Reading) -> float:
        """Correct the estimate by a reading of `control.observer.measurements`; return the
        normalized innovation r.Sigma_r^-1 r.

        Raise ValueError, and keep the estimate, for a reading that is not finite.
        """
        if not np.isfinite(reading.residual).all():
            raise ValueError(
                f"a reading differs from the estimate by {reading.residual.tolist()}; every "
                "number must be finite"
            )
        return correct(self._q, self._v, self.bias, self.covariance, *reading)


# [m/s], [rad/s] deviation of what the encoders do not measure at the start
FIRST_VELOCITY, FIRST_RATE = 1.0, 3.0
LONGEST = 0.1  # [s] without a measurement, after which the filter starts anew
MEMORY = 500  # instants over which the innovations are averaged


class Instant(NamedTuple):
    """The measurements at a time."""

    t: float  # [s]
    cart: tuple[float, float]  # x y [m]
    angles: Vector  # roll pitch spin [rad]
    force: tuple[float, float]  # (2,) [N] that acted since the last instant
    rate: Vector | None = None  # (3,) [rad/s, body]
    felt: Vector | None = None  # (3,) [m/s^2, body] specific force


class Estimator:
    """An `Observer` that initializes itself from the first measurements.

    `nis` is the innovation's r.Sigma_r^-1 r per measured value, with the mean 1 if all is as
    assumed.
    """

    def __init__(self, system: System, options: ObserverOptions):
        o = options
        noise = o.noise._replace(
            position=2.0 * o.cart, attitude=2.0 * o.angle, velocity=FIRST_VELOCITY, rate=FIRST_RATE
        )
        self._system, self._options = coulomb_friction.without(system), options
        self._filter = Observer(system, state_at_rest(_NOTHING), 1.0, noise)
        self.reset()

    def reset(self) -> None:
        """Start anew from the next instant."""
        self._t: float | None = None
        self.nis = self.mean_nis = 1.0
        self.failures = 0  # predictions that did not converge

    def estimate(self, instant: Instant) -> State:
        """Return the state at the instant; a time that is not after the last one only repeats it.

        Raise ValueError, and keep the estimate, for a measurement that is not finite.
        """
        _check(instant)
        if self._t is None or instant.t - self._t > LONGEST:
            self._filter.reset(state_at_rest(instant))
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


def state_at_rest(instant: Instant) -> State:
    """Return the state at the encoders' values, without a velocity."""
    return State(
        instant.t,
        np.array((*instant.cart, *attitude(*map(float, instant.angles)))),
        np.zeros(5),
    )


def _check(instant: Instant) -> None:
    for name, numbers in zip(instant._fields[1:], instant[1:]):
        if numbers is not None and not all(map(math.isfinite, numbers)):
            raise ValueError(
                f"of what was measured, {name} is {list(numbers)}; every number must be finite"
            )
