"""The measurement of a state by sensors, for a Kalman filter in the tangent space: residual, its
derivative, its noise.

The error of a state is xi = (dx, dtheta, dx', dw, db), (13,), as in `step_linearization`, and b is
the gyroscope's bias: the true state is the estimated one [+] xi. A `Reading` is residual = H xi +
noise.
"""

import math
from typing import NamedTuple

import numpy as np

from rbdyn_ros.geometry import dual_attitude, unit_quaternion, vec
from rbdyn_ros.geometry.dual import store
from rbdyn_ros.integrators import rk4
from rbdyn_ros.integrators.derivatives import along_ten
from rbdyn_ros.kernel import inlined, kernel
from rbdyn_ros.pendulum import imu, rod_on_cart
from rbdyn_ros.pendulum.gimbal_joints import attitude
from rbdyn_ros.types import Array, State, System

Components = Array | tuple[float, ...]  # of a vector

SIZE = 13  # of xi


class Reading(NamedTuple):
    """A linearized measurement."""

    residual: Array  # (m,)
    H: Array  # (m, 13)
    noise: Array  # its covariance Sigma_y (m, m)


@kernel
def move(q, v, xi):
    """Compute (q, v) := (q, v) [+] xi in place."""
    half = (0.5 * xi[2], 0.5 * xi[3], 0.5 * xi[4])
    angle = vec.norm(half)
    sinc = math.sin(angle) / angle if angle > 0.0 else 1.0
    turn = (math.cos(angle), sinc * half[0], sinc * half[1], sinc * half[2])
    Q = unit_quaternion.normalize(unit_quaternion.product((q[2], q[3], q[4], q[5]), turn))
    q[0] += xi[0]
    q[1] += xi[1]
    q[2], q[3], q[4], q[5] = Q
    for i in range(5):
        v[i] += xi[5 + i]


def cart(state: State, position: Components, variance: float) -> Reading:
    """Return the reading of the cart's encoders: x (2,) [m], with the variance of one [m^2]."""
    return Reading(np.asarray(position) - state.q[:2], np.eye(2, SIZE), variance * np.eye(2))


def gimbal(state: State, angles: Components, variance: float) -> Reading:
    """Return the reading of the gimbal's encoders: (roll, pitch, spin) [rad] of R = Rx Ry Rz, with
    the variance of one [rad^2].

    The residual is log(R_estimated^T R_measured), and its noise J diag(variance) J^T with w = J
    (roll', pitch', spin'): no angle is taken apart, so that the poles at a pitch of 90 degrees are
    points like others. What they do not measure there, a turn about the missing axis, has no noise
    of its own in J; `variance` is added for it.
    """
    roll, pitch, spin = map(float, angles)
    return Reading(*_gimbal(state.q, roll, pitch, spin, float(variance)))


@kernel
def _gimbal(q, roll, pitch, spin, variance):
    measured = attitude(roll, pitch, spin)
    s, a, b, c = unit_quaternion.product((q[2], -q[3], -q[4], -q[5]), measured)
    size = vec.norm((a, b, c))
    scale = (2.0 * math.atan2(size, abs(s)) / size if size > 0.0 else 2.0) * math.copysign(1.0, s)
    residual = np.array((scale * a, scale * b, scale * c))
    cp, sp, cs, ss = math.cos(pitch), math.sin(pitch), math.cos(spin), math.sin(spin)
    J = ((cp * cs, ss, 0.0), (-cp * ss, cs, 0.0), (sp, 0.0, 1.0))
    H, noise = np.zeros((3, SIZE)), np.zeros((3, 3))
    for i in range(3):
        H[i, 2 + i] = 1.0
        for j in range(3):
            noise[i, j] = variance * (vec.dot(J[i], J[j]) + (1.0 - cp * cp) * (i == j))
    return residual, H, noise


def gyroscope(state: State, bias: Array, rate: Components, variance: float) -> Reading:
    """Return the reading of w + b [rad/s, body], with the variance of one [rad^2/s^2]."""
    H = np.zeros((3, SIZE))
    H[:, 7:10] = H[:, 10:] = np.eye(3)
    return Reading(np.asarray(rate) - state.v[2:] - bias, H, variance * np.eye(3))


def accelerometer(
    system: System,
    state: State,
    force: Components,
    felt: Components,
    position: float,
    variance: float,
) -> Reading:
    """Return the reading of R^T (a_p - g) [m/s^2, body] at p = (0, 0, position) under the cart's
    `force` (2,) [N]; variance [m^2/s^4].

    The accelerations are those of the plant: for its rod, which is free to turn, the measurement
    at the center of percussion does not depend on the tilt, and neither does H.
    """
    u, H = (float(force[0]), float(force[1])), np.zeros((3, SIZE))
    _differentiate(system, state.q, state.v, u, float(position), H)
    expected = specific_force(system, state.q, state.v, u, float(position))
    return Reading(np.asarray(felt) - expected, H, variance * np.eye(3))


@kernel
def _differentiate(system, q, v, u, position, H):
    """Compute H (3, 13) := d specific_force / d xi, which does not depend on the position of the
    cart.
    """
    s = np.concatenate((q, v))
    _, load, (_, Q, w, x) = along_ten(system, _cart_load(u), s)
    f = _body_specific_force(system, load, dual_attitude.quaternion(Q), w, x, position)
    for j in range(3):
        store(H, j, 4, f[j], 0, 6)
        store(H, j, 2, f[j], 1, 2)
        store(H, j, 5, f[j], 8, 2)


@inlined
def _cart_load(u):
    """Return the load of a cart force u (2,) [N] alone."""
    return rod_on_cart.Load(u, (0.0, 0.0, 0.0), (0.0, 0.0, 0.0), (0.0, 0.0, 0.0))


@inlined
def _body_specific_force(system, load, Q, w, x, position):
    """Return R^T (a_p - g) of an attitude and velocities; x (2,) [m/s] is that of the cart."""
    dw, a = rk4.accelerations(system, load, (0.0, 0.0), Q, w, x)
    return imu.at(unit_quaternion.matrix(Q), w, dw, a, system.gravity, position)


@kernel
def specific_force(system, q, v, u, position):
    """Return R^T (a_p - g) (3,) [m/s^2, body] of the plant under the cart force u (2,) [N], with
    nothing else acting.
    """
    x = (system.cart_free * v[0], system.cart_free * v[1])
    Q, w = (q[2], q[3], q[4], q[5]), (v[2], v[3], v[4])
    return _body_specific_force(system, _cart_load(u), Q, w, x, position)
