"""The sensors' measurement of a state.

Encoders of the cart and of the gimbal, R = Rx(roll) Ry(pitch) Rz(spin), read a position x to the
next count,

    x~ = c round((x + bias + noise) / c),   c = `encoder.cart` [m], or
                                          2 pi / `encoder.gimbal` [rad],

velocities have only noise; the IMU has noise and bias. A frozen instant repeats the measurement
before it. The draws of an instant do not depend on which faults are set, so one fault does not
change another's noise.
"""

import math
from typing import NamedTuple

import numpy as np

from rbdyn_ros.faults.channel import Counts, draws, refill
from rbdyn_ros.faults.options import Faults, Vector
from rbdyn_ros.geometry import unit_quaternion
from rbdyn_ros.kernel import bind, inlined, kernel
from rbdyn_ros.mechanics.pendulum.gimbal_joints import nearest_angles
from rbdyn_ros.types import Array, State

BLOCK = 256  # instants for which numbers are drawn at once
STATE = 11  # numbers of a measurement: q (6,), v (5,)
COUNTED = ("disturbed", "imu_disturbed", "frozen")
# after the counts: draws used, of the IMU, whether there is a last measurement, one of the IMU,
# whether the present instant is frozen
_DISTURBED, _IMU_DISTURBED, _FROZEN, USED, IMU_USED, _HAS_LAST, _HAS_IMU, _IS_FROZEN = range(8)
# options: standard deviations (6), biases (11), encoders (2), as in `faults.options`; then
_BIAS, _CART, _GIMBAL, _FREEZE, _PERFECT, _ANGLES_DIFFER = 6, 17, 18, 19, 20, 21


class SensorState(NamedTuple):
    """Sensors as arrays, for kernels."""

    options: Array  # (22,)
    draws: Array  # (BLOCK, 10) normal, of the state
    freezes: Array  # (BLOCK, 1) uniform in [0, 1)
    imu_draws: Array  # (BLOCK, 6) normal, of the IMU
    numbers: Array  # (8,) the counts of COUNTED, then those that are named above
    last: Array  # (20,) the last measurement: state (11), IMU (6); angles of the gimbal [rad]


@inlined
def to_count(position, count):
    """Return the position rounded to the nearest count; a count of 0 reads exactly."""
    return count * round(position / count) if count != 0.0 else position


@inlined
def gimbal_quaternion(roll, pitch, spin):
    """Return the quaternion (4,) wxyz of Rx(roll) Ry(pitch) Rz(spin)."""
    cr, cp, cs = math.cos(0.5 * roll), math.cos(0.5 * pitch), math.cos(0.5 * spin)
    sr, sp, ss = math.sin(0.5 * roll), math.sin(0.5 * pitch), math.sin(0.5 * spin)
    return (
        cr * cp * cs - sr * sp * ss,
        sr * cp * cs + cr * sp * ss,
        cr * sp * cs - sr * cp * ss,
        cr * cp * ss + sr * sp * cs,
    )


@kernel
def measure_state(s, q, v, out, row, at):
    """Write the measurement of the state q (6,), v (5,) to out[row, at:at + 11].

    Call it once per instant; there must be draws for it.
    """
    o, k, last = s.options, s.numbers, s.last
    draw = k[USED]
    k[USED] += 1
    k[_IS_FROZEN] = (
        (o[_PERFECT] == 0.0) and (k[_HAS_LAST] == 1) and (s.freezes[draw, 0] < o[_FREEZE])
    )
    if o[_PERFECT] == 1.0:
        for i in range(6):
            out[row, at + i] = q[i]
        for i in range(5):
            out[row, at + 6 + i] = v[i]
        return
    if k[_IS_FROZEN] == 1:
        k[_FROZEN] += 1
    else:
        for i in range(2):
            last[i] = to_count(q[i] + o[_BIAS + i] + o[0] * s.draws[draw, i], o[_CART])
            last[6 + i] = v[i] + o[1] * s.draws[draw, 5 + i]
        for i in range(3):
            last[8 + i] = v[2 + i] + o[3] * s.draws[draw, 7 + i]
        for i in range(2, 6):
            last[i] = q[i]
        if o[_ANGLES_DIFFER] == 1.0:
            R = unit_quaternion.matrix((q[2], q[3], q[4], q[5]))
            a = nearest_angles(R, (last[17], last[18], last[19]))
            last[17], last[18], last[19] = a
            count = 2.0 * math.pi / o[_GIMBAL] if o[_GIMBAL] != 0.0 else 0.0
            Q = gimbal_quaternion(
                to_count(a[0] + o[_BIAS + 2] + o[2] * s.draws[draw, 2], count),
                to_count(a[1] + o[_BIAS + 3] + o[2] * s.draws[draw, 3], count),
                to_count(a[2] + o[_BIAS + 4] + o[2] * s.draws[draw, 4], count),
            )
            # of Q and -Q, the one nearer to q
            dot = q[2] * Q[0] + q[3] * Q[1] + q[4] * Q[2] + q[5] * Q[3]
            sign = math.copysign(1.0, dot)
            for i in range(4):
                last[2 + i] = sign * Q[i]
        k[_HAS_LAST], differs = 1, False
        for i in range(6):
            differs |= last[i] != q[i]
        for i in range(5):
            differs |= last[6 + i] != v[i]
        k[_DISTURBED] += differs
    for i in range(11):
        out[row, at + i] = last[i]


@kernel
def measure_inertial(s, rate, force, out, row, at):
    """Write the IMU's angular velocity and specific force at the instant of `measure_state`, whose
    true values are `rate` and `force` (3,), to out[row, at:at + 6].
    """
    o, k, last = s.options, s.numbers, s.last
    draw = k[IMU_USED]
    k[IMU_USED] += 1
    if k[_IS_FROZEN] == 0 or k[_HAS_IMU] == 0:
        differs = False
        for i in range(3):
            last[11 + i] = rate[i] + o[_BIAS + 5 + i] + o[4] * s.imu_draws[draw, i]
            last[14 + i] = force[i] + o[_BIAS + 8 + i] + o[5] * s.imu_draws[draw, 3 + i]
            differs |= last[11 + i] != rate[i] or last[14 + i] != force[i]
        k[_IMU_DISTURBED] += differs
        k[_HAS_IMU] = 1
    for i in range(6):
        out[row, at + i] = last[11 + i]


class Sensors(Counts):
    """Sensors with their state.

    `counts` has the instants that were disturbed (the measurement differs from the state),
    imu_disturbed and frozen.
    """

    COUNTED = COUNTED

    def __init__(self, options: Faults, seed: int):
        draws, freezes, imu_draws = (np.zeros((BLOCK, size)) for size in (10, 1, 6))
        self.state = SensorState(
            np.zeros(22), draws, freezes, imu_draws, np.zeros(8, np.int64), np.zeros(20)
        )
        self.reconfigure(options)
        self.restart(seed)
        self._out, three = np.zeros((1, STATE)), (0.0, 0.0, 0.0)
        out, q, v = self._out, np.zeros(6), np.zeros(5)
        self._measure_state = bind(measure_state, self.state, q, v, out, 0, 0)
        self._measure_inertial = bind(measure_inertial, self.state, three, three, out, 0, 0)

    def reconfigure(self, options: Faults) -> None:
        """Use other options from now on."""
        self.options = options
        noise, bias, encoder = options.noise, options.bias, options.encoder
        biases = (*bias.cart, *bias.angle, *bias.gyroscope, *bias.accelerometer)
        self.perfect = not (any(noise) or any(encoder) or any(biases) or options.state_freeze)
        angles_differ = any((noise.angle, encoder.gimbal, *bias.angle))
        flags = options.state_freeze, self.perfect, angles_differ
        self.state.options[:] = *noise, *biases, *encoder, *flags

    def restart(self, seed: int) -> None:
        """Restart the random streams and discard the last measurement."""
        self._normal, self._inertial, self._uniform = (
            draws(seed, name) for name in ("noise", "imu", "freeze")
        )
        self.state.numbers[USED:] = BLOCK, BLOCK, 0, 0, 0
        self.state.last[:] = 0.0
        self.refill()

    def refill(self) -> None:
        """Draw random numbers, so that there are enough for the next BLOCK instants."""
        state, (used, imu_used) = self.state, self.state.numbers[USED : IMU_USED + 1].tolist()
        refill(state.draws, used, self._normal.standard_normal)
        refill(state.freezes, used, self._uniform.random)
        refill(state.imu_draws, imu_used, self._inertial.standard_normal)
        state.numbers[USED : IMU_USED + 1] = 0

    @property
    def is_ready(self) -> bool:
        """Whether there are draws for the next instant."""
        return bool(self.state.numbers[USED : IMU_USED + 1].max() < BLOCK)

    def measure(self, state: State) -> State:
        """Return the measurement of a state. Call it once per instant."""
        if not self.is_ready:
            self.refill()
        self._measure_state(self.state, state.q, state.v, self._out, 0, 0)
        return State(state.t, self._out[0, :6].copy(), self._out[0, 6:].copy())

    def measure_inertial(self, rate: Vector, force: Vector) -> tuple[Vector, Vector]:
        """Return the IMU's (angular velocity, specific force) (3,) [rad/s, m/s^2, body] at the
        instant of the last call of `measure`.
        """
        if not self.is_ready:
            self.refill()
        w, f = tuple(map(float, rate)), tuple(map(float, force))
        self._measure_inertial(self.state, w, f, self._out, 0, 0)
        felt = tuple(self._out[0, :6].tolist())
        return felt[:3], felt[3:]
