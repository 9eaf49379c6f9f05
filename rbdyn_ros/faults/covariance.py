"""Covariances of what the sensors measure, to the first order, from `faults.noise` and encoders.

A reading with white noise sigma, rounded to counts c, has the variance sigma^2 + c^2 / 12. The
angles of the gimbal R = Rx(roll) Ry(pitch) Rz(spin) turn about the axes e_i of the world, so the
attitude's error, a small rotation about fixed axes, has the covariance

    S = s^2 sum e_i e_i^T,    e_1 = (1, 0, 0),    e_2 = Rx e_y,    e_3 = Rx Ry e_z,

and the velocity V = R^T u in body axes that of u and of R,

    s_u^2 R^T diag(1, 1, 0) R + [V]x R^T S R [V]x^T.

A bias is no noise: it is in none of them. Zeros where nothing is wrong.
"""

import math
from typing import NamedTuple

from rbdyn_ros.faults.options import Faults, Vector

NONE = (0.0,) * 36


class Covariances(NamedTuple):
    """Row-major, as messages have them."""

    pose: tuple = NONE  # (36,) x y z [m], rotation about the fixed axes of the world [rad]
    twist: tuple = NONE  # (36,) velocity of the joint, angular velocity [m/s, rad/s, body]
    orientation: tuple = NONE[:9]  # (9,) the attitude's part of `pose` [rad^2]
    angular_velocity: tuple = NONE[:9]  # (9,) of the IMU [rad^2/s^2, body]
    acceleration: tuple = NONE[:9]  # (9,) of the IMU [m^2/s^4, body]


def covariances(
    faults: Faults, angles: Vector, R: tuple[Vector, Vector, Vector], V: Vector
) -> Covariances:
    """Of a measurement with gimbal angles (3,) [rad], attitude R (rows), V (3,) [m/s, body].

    In plain numbers, for they are few: it takes a third of the time of arrays.
    """
    noise, encoder = faults.noise, faults.encoder
    if not any(noise) and not any(encoder):
        return Covariances()
    count = 2.0 * math.pi / encoder.gimbal if encoder.gimbal else 0.0
    angle, speed = variance(noise.angle, count), variance(noise.cart_velocity)
    axes = _axes(angles)
    orientation = _outer([(angle, e) for e in axes])
    levers = [_cross(V, _to_body(R, e)) for e in axes]
    velocity = _outer([(speed, R[0]), (speed, R[1])] + [(angle, c) for c in levers])
    return Covariances(
        _blocks(_diagonal(variance(noise.cart, encoder.cart), 2), orientation),
        _blocks(velocity, _diagonal(variance(noise.rate))),
        orientation,
        _diagonal(variance(noise.gyroscope)),
        _diagonal(variance(noise.accelerometer)),
    )


def variance(deviation: float, count: float = 0.0) -> float:
    """Of a reading with white noise that is rounded to counts."""
    return deviation**2 + count**2 / 12.0


def _axes(angles: tuple) -> tuple:
    """The axes e_i (3,) of the world about which the angles turn."""
    roll, pitch, _ = angles
    cr, sr, cp, sp = math.cos(roll), math.sin(roll), math.cos(pitch), math.sin(pitch)
    return (1.0, 0.0, 0.0), (0.0, cr, sr), (sp, -sr * cp, cr * cp)


def _outer(terms: list) -> tuple:
    """The sum of weight v v^T over (weight, v (3,)), row-major."""
    xx = xy = xz = yy = yz = zz = 0.0
    for weight, (x, y, z) in terms:
        xx, xy, xz = xx + weight * x * x, xy + weight * x * y, xz + weight * x * z
        yy, yz, zz = yy + weight * y * y, yz + weight * y * z, zz + weight * z * z
    return (xx, xy, xz, xy, yy, yz, xz, yz, zz)


def _diagonal(value: float, size: int = 3) -> tuple:
    """A 3 x 3 matrix with the value at the first places of its diagonal, row-major."""
    return tuple(value if i % 4 == 0 and i < 4 * size else 0.0 for i in range(9))


def _blocks(first: tuple, second: tuple) -> tuple:
    """The 6 x 6 matrix of two 3 x 3 blocks on its diagonal, row-major."""
    zero, upper, lower = (0.0, 0.0, 0.0), (), ()
    for i in (0, 3, 6):
        upper += first[i : i + 3] + zero
        lower += zero + second[i : i + 3]
    return upper + lower


def _to_body(R: tuple, e: tuple) -> tuple:
    """R^T e."""
    return tuple(R[0][i] * e[0] + R[1][i] * e[1] + R[2][i] * e[2] for i in range(3))


def _cross(a: tuple, b: tuple) -> tuple:
    """a x b."""
    return (a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0])
