"""The covariance of a measurement under white noise and encoders.

To the first order a reading with white noise sigma, rounded to counts c, has the variance sigma^2
+ c^2 / 12. The angles of the gimbal turn about the axes e_i of the world, so the attitude's error,
a small rotation about fixed axes, has the covariance

    S = s^2 sum e_i e_i^T,    e_1 = (1, 0, 0),    e_2 = Rx e_y,    e_3 = Rx Ry e_z,

and the velocity V = R^T u in body axes has that of u and of R,

    s_u^2 R^T diag(1, 1, 0) R + [V]x R^T S R [V]x^T.

A bias is not noise and is not included. Without noise and encoders all covariances are zero.
"""

import math
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

from rbdyn_ros.geometry import vec
from rbdyn_ros.kernel import bind, kernel
from rbdyn_ros.plant.faults.fault_options import Faults
from rbdyn_ros.types import Vector

NONE = (0.0,) * 36
_Z = (0.0, 0.0, 0.0)


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


class SensorErrors:
    """What is claimed of the sensors' measurements under `faults`."""

    def __init__(self, faults: Faults):
        cart, angle, speed, rate, gyroscope, accelerometer = variances(faults)
        self._is_zero = not any(faults.noise) and not any(faults.encoder)
        self._drawn, z = (angle, speed), 0.0
        self._cart = (cart, *_Z, *_Z[:2], z, cart, *_Z, z, *_Z, *_Z, *_Z)
        self._rates = (*_Z, rate, z, z, *_Z, z, rate, z, *_Z, z, z, rate)
        self._inertial = _diagonal(gyroscope), _diagonal(accelerometer)

    def covariances(
        self, angles: Vector, R: tuple[Vector, Vector, Vector], V: Vector
    ) -> Covariances:
        """Return those of a measurement with gimbal angles (3,) [rad], attitude R (rows) and
        velocity V (3,) [m/s, body].
        """
        if self._is_zero:
            return Covariances()
        S, v = _bound()(self._drawn, angles, R, V)
        pose = self._cart + S[:3] + _Z + S[3:6] + _Z + S[6:]
        twist = v[:3] + _Z + v[3:6] + _Z + v[6:] + _Z + self._rates
        return Covariances(pose, twist, S, *self._inertial)


def _diagonal(value: float) -> tuple[float, ...]:
    return value, 0.0, 0.0, 0.0, value, 0.0, 0.0, 0.0, value


@cache
def _bound() -> Callable[..., Any]:
    """Return `rotation_covariances` for numbers of these types."""
    return bind(rotation_covariances, (0.0, 0.0), _Z, (_Z, _Z, _Z), _Z)


def variance(deviation: float, count: float = 0.0) -> float:
    """Return the variance of a reading with white noise that is rounded to counts."""
    return float(deviation**2 + count**2 / 12.0)
