"""The sensors' measurement of a state, and its covariance.

Encoders of the cart and of the gimbal, R = Rx(roll) Ry(pitch) Rz(spin), read a position x to the
next count,

    x~ = c round((x + bias + noise) / c),   c = `encoder.cart` [m], or
                                          2 pi / `encoder.gimbal` [rad],

velocities have only noise; the IMU has noise and bias. A frozen instant repeats the measurement
before it. The draws of an instant do not depend on which faults are set, so one fault does not
change another's noise.

To the first order a reading with white noise sigma, rounded to counts c, has the variance sigma^2
+ c^2 / 12. The angles of the gimbal turn about the axes e_i of the world, so the attitude's error,
a small rotation about fixed axes, has the covariance

    S = s^2 sum e_i e_i^T,    e_1 = (1, 0, 0),    e_2 = Rx e_y,    e_3 = Rx Ry e_z,

and the velocity V = R^T u in body axes has that of u and of R,

    s_u^2 R^T diag(1, 1, 0) R + [V]x R^T S R [V]x^T.

A bias is not noise and is not included. Without noise and encoders all covariances are zero.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from rbdyn_ros.faults.channel import Counts, draws, refill
from rbdyn_ros.faults.options import Faults, Vector
from rbdyn_ros.geometry import unit_quaternion, vec
from rbdyn_ros.kernel import bind, inlined, kernel
from rbdyn_ros.mechanics.pendulum.gimbal_joints import attitude, nearest_angles
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
            Q = attitude(
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
        felt: Any = self._out[0, :6].tolist()
        return tuple(felt[:3]), tuple(felt[3:])


NONE = (0.0,) * 36


class Covariances(NamedTuple):
    """Covariance matrices, row-major, as messages have them."""

    pose: tuple = NONE  # (36,) x y z [m], rotation about the fixed axes of the world [rad]
    twist: tuple = NONE  # (36,) velocity of the joint, angular velocity [m/s, rad/s, body]
    orientation: tuple = NONE[:9]  # (9,) the attitude's part of `pose` [rad^2]
    angular_velocity: tuple = NONE[:9]  # (9,) of the IMU [rad^2/s^2, body]
    acceleration: tuple = NONE[:9]  # (9,) of the IMU [m^2/s^4, body]


@kernel
def rotation_covariances(variances, angles, R, V):
    """Return (S of the attitude, that of the velocity V in body axes) (9,), row-major.

    `variances` of an angle [rad^2] and of a component of the cart's velocity [m^2/s^2].
    """
    angle, speed = variances
    cr, sr = math.cos(angles[0]), math.sin(angles[0])
    cp, sp = math.cos(angles[1]), math.sin(angles[1])
    axes = (1.0, 0.0, 0.0), (0.0, cr, sr), (sp, -sr * cp, cr * cp)
    orientation = _outer(angle, axes[0], angle, axes[1])
    orientation = _sum(orientation, _outer(angle, axes[2], 0.0, axes[2]))
    velocity = _outer(speed, R[0], speed, R[1])
    c1 = vec.cross(V, vec.transposed_matvec(R, axes[0]))
    c2 = vec.cross(V, vec.transposed_matvec(R, axes[1]))
    c3 = vec.cross(V, vec.transposed_matvec(R, axes[2]))
    velocity = _sum(velocity, _outer(angle, c1, angle, c2))
    return orientation, _sum(velocity, _outer(angle, c3, 0.0, c3))


@kernel
def _outer(a, v, b, w):
    """Return the sum a v v^T + b w w^T, row-major (9,)."""
    xx, yy = a * v[0] * v[0] + b * w[0] * w[0], a * v[1] * v[1] + b * w[1] * w[1]
    zz, xy = a * v[2] * v[2] + b * w[2] * w[2], a * v[0] * v[1] + b * w[0] * w[1]
    xz, yz = a * v[0] * v[2] + b * w[0] * w[2], a * v[1] * v[2] + b * w[1] * w[2]
    return xx, xy, xz, xy, yy, yz, xz, yz, zz


@kernel
def _sum(a, b):
    return (
        *(a[0] + b[0], a[1] + b[1], a[2] + b[2], a[3] + b[3], a[4] + b[4]),
        *(a[5] + b[5], a[6] + b[6], a[7] + b[7], a[8] + b[8]),
    )


def variances(faults: Faults) -> tuple[float, float, float, float, float, float]:
    """Return the variances of the measured cart position, angles, cart velocity, angular velocity,
    gyroscope and accelerometer.
    """
    noise, encoder = faults.noise, faults.encoder
    count = 2.0 * math.pi / encoder.gimbal if encoder.gimbal else 0.0
    return (
        variance(noise.cart, encoder.cart),
        variance(noise.angle, count),
        variance(noise.cart_velocity),
        variance(noise.rate),
        variance(noise.gyroscope),
        variance(noise.accelerometer),
    )


def covariances(
    faults: Faults, angles: Vector, R: tuple[Vector, Vector, Vector], V: Vector
) -> Covariances:
    """Return the covariances of a measurement with gimbal angles (3,) [rad], attitude R (rows) and
    velocity V (3,) [m/s, body].
    """
    if not any(faults.noise) and not any(faults.encoder):
        return Covariances()
    cart, angle, speed, rate, gyroscope, accelerometer = variances(faults)
    rows = tuple(tuple(map(float, row)) for row in R)
    vectors = tuple(map(float, angles)), rows, tuple(map(float, V))
    orientation, velocity = rotation_covariances((angle, speed), *vectors)
    return Covariances(
        _blocks(_diagonal(cart, 2), orientation),
        _blocks(velocity, _diagonal(rate)),
        orientation,
        _diagonal(gyroscope),
        _diagonal(accelerometer),
    )


def variance(deviation: float, count: float = 0.0) -> float:
    """Return the variance of a reading with white noise that is rounded to counts."""
    return float(deviation**2 + count**2 / 12.0)


def _diagonal(value: float, size: int = 3) -> tuple:
    """Return a 3 x 3 matrix with the value at the first `size` diagonal places, row-major."""
    return tuple(value if i % 4 == 0 and i < 4 * size else 0.0 for i in range(9))


def _blocks(first: tuple, second: tuple) -> tuple:
    """Return the 6 x 6 matrix with two 3 x 3 blocks on its diagonal, row-major."""
    zero, upper, lower = (0.0, 0.0, 0.0), (), ()
    for i in (0, 3, 6):
        upper += first[i : i + 3] + zero
        lower += zero + second[i : i + 3]
    return upper + lower
