"""The sensors' measurement of a state.

Encoders of the cart and of the gimbal, R = Rx(roll) Ry(pitch) Rz(spin), read a position x to the
next count,

    x~ = c round((x + bias + noise) / c),   c = `encoder.cart` [m], or
                                          2 pi / `encoder.gimbal` [rad],

velocities have noise alone; the IMU has noise and bias. A frozen instant tells once more what was
told before. What an instant draws does not depend on what is wrong, so one fault does not shift
another's noise.
"""

import math
from collections import Counter

import numpy as np

from rbdyn_ros.faults.draws import draws
from rbdyn_ros.faults.options import Faults, Vector
from rbdyn_ros.geometry import unit_quaternion
from rbdyn_ros.mechanics.pendulum.gimbal_joints import GimbalJoints
from rbdyn_ros.types import State


class Sensors:
    """Sensors with a memory.

    `counts` has the instants that were disturbed (the state read otherwise than it is),
    imu_disturbed and frozen.
    """

    def __init__(self, options: Faults, seed: int):
        self.counts = Counter()
        self.become(options)
        self.restart(seed)

    def become(self, options: Faults) -> None:
        """Go on with other numbers."""
        self.options = options
        self._noise, self._bias, self._freeze = options.noise, options.bias, options.state_freeze
        self._quantum, self._counts_per_turn = options.encoder
        angles = (options.noise.angle, options.encoder.gimbal, *options.bias.angle)
        self._angles_differ, biased = any(angles), any(any(bias) for bias in options.bias)
        self.perfect = not (
            any(options.noise) or any(options.encoder) or biased or options.state_freeze
        )

    def restart(self, seed: int) -> None:
        """Draw from the beginning; what was measured is forgotten."""
        self._normal, self._inertial, self._uniform = (
            draws(seed, name) for name in ("noise", "imu", "freeze")
        )
        self._gimbal, self._frozen = GimbalJoints(), False
        self._last: tuple[list[float], list[float]] | None = None
        self._felt: tuple[Vector, Vector] | None = None

    def measured(self, state: State) -> State:
        """The state as it is measured at its instant; one call per instant."""
        normal, uniform = self._normal.standard_normal(10).tolist(), self._uniform.random()
        if self.perfect:
            return State(state.t, state.q.copy(), state.v.copy())
        last = self._last if uniform < self._freeze else None
        self._frozen = last is not None
        if last is not None:
            self.counts["frozen"] += 1
        else:
            q, v = state.q.tolist(), state.v.tolist()
            last = self._last = (self._positions(q, normal), self._velocities(v, normal))
            self.counts["disturbed"] += last != (q, v)
        return State(state.t, np.array(last[0]), np.array(last[1]))

    def inertial(self, rate: Vector, force: Vector) -> tuple[Vector, Vector]:
        """(angular velocity, specific force) (3,) of the IMU [rad/s, m/s^2, body] at the instant
        that `measured` was called for.
        """
        normal = self._inertial.standard_normal(6).tolist()
        if not self._frozen or self._felt is None:
            n, b = self._noise, self._bias
            self._felt = (
                tuple(w + e + n.gyroscope * z for w, e, z in zip(rate, b.gyroscope, normal[:3])),
                tuple(
                    f + e + n.accelerometer * z
                    for f, e, z in zip(force, b.accelerometer, normal[3:])
                ),
            )
            self.counts["imu_disturbed"] += self._felt != (rate, force)
        return self._felt

    def _positions(self, q: list[float], normal: list[float]) -> list[float]:
        measured = [
            x + bias + self._noise.cart * z for x, bias, z in zip(q, self._bias.cart, normal)
        ]
        attitude = self._attitude(q[2:], normal[2:5]) if self._angles_differ else q[2:]
        return [to_count(x, self._quantum) for x in measured] + attitude

    def _attitude(self, true: list[float], normal: list[float]) -> list[float]:
        angles = self._gimbal.follow(unit_quaternion.matrix(tuple(true)))
        count = 2.0 * math.pi / self._counts_per_turn if self._counts_per_turn else 0.0
        errors = zip(angles, self._bias.angle, normal)
        turned = turn(
            *(to_count(angle + bias + self._noise.angle * z, count) for angle, bias, z in errors)
        )
        # of q and -q, the one that is nearer
        sign = math.copysign(1.0, sum(a * b for a, b in zip(true, turned)))
        return [sign * c for c in turned]

    def _velocities(self, v: list, normal: list) -> list:
        deviations = (self._noise.cart_velocity,) * 2 + (self._noise.rate,) * 3
        return [rate + deviation * z for rate, deviation, z in zip(v, deviations, normal[5:])]


def to_count(position: float, count: float) -> float:
    """The position at the next count; a count of 0 reads exactly."""
    return count * round(position / count) if count else position


def turn(roll: float, pitch: float, spin: float) -> tuple[float, float, float, float]:
    """The quaternion (4,) wxyz of Rx(roll) Ry(pitch) Rz(spin)."""
    (cr, cp, cs), (sr, sp, ss) = (
        tuple(f(0.5 * a) for a in (roll, pitch, spin)) for f in (math.cos, math.sin)
    )
    return (
        cr * cp * cs - sr * sp * ss,
        sr * cp * cs + cr * sp * ss,
        cr * sp * cs - sr * cp * ss,
        cr * cp * ss + sr * sp * cs,
    )
