"""What sensors say about a state: residual, its derivative, its noise. For a Kalman filter in the tangent space.

The error of a state is xi = (dx, dtheta, dx', dw, db), (13,), as in `step_linearisation`, and b is the gyroscope's bias:
the true state is the estimated one [+] xi. A `Reading` says  residual = H xi + noise,  noise ~ (0, R).
"""

import math
from typing import NamedTuple

import numpy as np

from rbdyn_ros.bodies import rod_on_cart
from rbdyn_ros.geometry import unit_quaternion, vec
from rbdyn_ros.integrators import rk4
from rbdyn_ros.kernel import kernel
from rbdyn_ros.types import Array, State, System

SIZE = 13  # of xi
_STEP = 1e-5  # of the differences


class Reading(NamedTuple):
    """A linearised measurement."""

    residual: Array  # (m,)
    H: Array  # (m, 13)
    R: Array  # (m, m)


def moved(state: State, xi: Array) -> State:
    """state [+] xi: R becomes R exp(dtheta^)."""
    half = 0.5 * np.asarray(xi[2:5])
    angle = math.hypot(*half)
    turn = (math.cos(angle), *(np.sinc(angle / math.pi) * half).tolist())
    Q = unit_quaternion.normalized(unit_quaternion.product(tuple(state.q[2:].tolist()), turn))
    return State(state.t, np.array((*(state.q[:2] + xi[:2]), *Q)), state.v + xi[5:10])


def cart(state: State, position: Array, variance: float) -> Reading:
    """The cart's encoders: x (2,) [m], with the variance of one [m^2]."""
    return Reading(np.asarray(position) - state.q[:2], np.eye(2, SIZE), variance * np.eye(2))


def gimbal(state: State, angles: Array, variance: float) -> Reading:
    """The gimbal's encoders: (roll, pitch, spin) [rad] of R = Rx Ry Rz, with the variance of one [rad^2].

    The residual is log(R_estimated^T R_measured), and its noise J diag(variance) J^T with w = J (roll', pitch', spin'):
    no angle is taken apart, so that the poles at a pitch of 90 degrees are points like others. What they do not tell
    there, a turn about the missing axis, has no noise of its own in J; `variance` is added for it.
    """
    roll, pitch, spin = (float(a) for a in angles)
    turns = ((math.cos(a / 2), *(math.sin(a / 2) * e)) for a, e in zip((roll, pitch, spin), np.eye(3)))
    Qx, Qy, Qz = (tuple(map(float, Q)) for Q in turns)
    measured = unit_quaternion.product(unit_quaternion.product(Qx, Qy), Qz)
    w, *v = state.q[2:].tolist()
    s, *r = unit_quaternion.product((w, -v[0], -v[1], -v[2]), measured)
    size = math.hypot(*r)
    residual = (2.0 * math.atan2(size, abs(s)) / size if size else 2.0) * math.copysign(1.0, s) * np.array(r)
    cp, sp, cs, ss = math.cos(pitch), math.sin(pitch), math.cos(spin), math.sin(spin)
    J = np.array(((cp * cs, ss, 0.0), (-cp * ss, cs, 0.0), (sp, 0.0, 1.0)))
    H = np.zeros((3, SIZE))
    H[:, 2:5] = np.eye(3)
    return Reading(residual, H, variance * (J @ J.T + (1.0 - cp * cp) * np.eye(3)))


def gyroscope(state: State, bias: Array, rate: Array, variance: float) -> Reading:
    """w + b [rad/s, body], with the variance of one [rad^2/s^2]."""
    H = np.zeros((3, SIZE))
    H[:, 7:10] = H[:, 10:] = np.eye(3)
    return Reading(np.asarray(rate) - state.v[2:] - bias, H, variance * np.eye(3))


def accelerometer(system: System, state: State, force: Array, felt: Array, position: float, variance: float) -> Reading:
    """R^T (a_p - g) [m/s^2, body] at p = (0, 0, position) under the cart's `force` (2,) [N]; variance [m^2/s^4].

    H by central differences: the accelerations are those of the plant, so its rod, free to turn, tells no tilt at the centre
    of percussion, and the filter knows.
    """
    u, H = (float(force[0]), float(force[1])), np.zeros((3, SIZE))
    _differentiate(system, state.q, state.v, u, float(position), H)
    expected = specific_force(system, state.q, state.v, u, float(position))
    return Reading(np.asarray(felt) - expected, H, variance * np.eye(3))


@kernel
def _differentiate(system, q, v, u, position, H):
    """H (3, 13) := d specific_force / d xi; the position of the cart is not felt."""
    for i in range(2, 10):
        for sign in (1.0, -1.0):
            a, b, e = q.copy(), v.copy(), sign * _STEP
            if i < 5:
                turn = (1.0, 0.5 * e * (i == 2), 0.5 * e * (i == 3), 0.5 * e * (i == 4))
                a[2], a[3], a[4], a[5] = unit_quaternion.normalized(unit_quaternion.product((q[2], q[3], q[4], q[5]), turn))
            else:
                b[i - 5] += e
            f = specific_force(system, a, b, u, position)
            for j in range(3):
                H[j, i] += sign * f[j] / (2.0 * _STEP)


@kernel
def specific_force(system, q, v, u, position):
    """R^T (a_p - g) (3,) [m/s^2, body] of the plant under the cart force u (2,) [N], with nothing else acting."""
    R, w = unit_quaternion.matrix((q[2], q[3], q[4], q[5])), (v[2], v[3], v[4])
    load = rod_on_cart.Load(u, (0.0, 0.0, 0.0), (0.0, 0.0, 0.0), (0.0, 0.0, 0.0))
    x = (system.cart_free * v[0], system.cart_free * v[1])
    _, _, dw, a = rk4.rates(system, load, (0.0, 0.0), (q[2], q[3], q[4], q[5]), w, x)
    p = (0.0, 0.0, position)
    turning = vec.add(vec.cross(dw, p), vec.cross(w, vec.cross(w, p)))
    return vec.add(vec.transposed_matvec(R, (a[0], a[1], system.gravity)), turning)
