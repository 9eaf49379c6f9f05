"""The ball joint as the chain of hinges that a URDF can describe: R = Rx(roll) Ry(pitch) Rz(spin).

    (R_23, R_33) = cos p (-sin r, cos r),  R_13 = sin p,  row 2 of Rx(r)^T R = (sin s, cos s, 0)
    w_b = (cos p cos s r' + sin s p',  -cos p sin s r' + cos s p',  sin p r' + s')

Singular at p = +-90 degrees, the poles, where only the sum or the difference of roll and spin is
known: roll stays.
"""

import math

from rbdyn_ros.geometry import unit_quaternion, vec
from rbdyn_ros.kernel import bind, inlined, kernel
from rbdyn_ros.types import Vector

_POLE = 1e-9  # cos p below which roll is undetermined


@inlined
def attitude(roll, pitch, spin):
    """Return the quaternion (4,) wxyz of Rx(roll) Ry(pitch) Rz(spin)."""
    cr, cp, cs = math.cos(0.5 * roll), math.cos(0.5 * pitch), math.cos(0.5 * spin)
    sr, sp, ss = math.sin(0.5 * roll), math.sin(0.5 * pitch), math.sin(0.5 * spin)
    return (
        cr * cp * cs - sr * sp * ss,
        sr * cp * cs + cr * sp * ss,
        cr * sp * cs - sr * cp * ss,
        cr * cp * ss + sr * sp * cs,
    )


@inlined
def nearest_angles(R, last):
    """Return the angles (roll, pitch, spin) [rad] of the rotation with rows R that are nearest to
    the `last` ones.
    """
    at_pole = math.hypot(R[1][2], R[2][2]) < _POLE
    roll = last[0] if at_pole else math.atan2(-R[1][2], R[2][2])
    cr, sr = math.cos(roll), math.sin(roll)
    pitch = math.atan2(R[0][2], cr * R[2][2] - sr * R[1][2])
    spin = math.atan2(cr * R[1][0] + sr * R[2][0], cr * R[1][1] + sr * R[2][1])
    angles = (roll, pitch, spin)
    if (
        vec.size(vec.sub(angles, last)) < math.pi
    ):  # the other branch is 2 pi less that away, or more
        return angles
    one, other = (
        _unwrap(angles, last),
        _unwrap((roll + math.pi, math.pi - pitch, spin + math.pi), last),
    )
    return one if vec.size(vec.sub(one, last)) <= vec.size(vec.sub(other, last)) else other


@inlined
def hinge_rates(angles, w):
    """Return the rates [rad/s] of the angles under the angular velocity w (3,) [rad/s, body]; they
    are large near a pole.
    """
    _, pitch, spin = angles
    cp, sp, cs, ss = math.cos(pitch), math.sin(pitch), math.cos(spin), math.sin(spin)
    cp = math.copysign(max(abs(cp), 1e-6), cp)  # finite at the pole itself
    roll_rate = (cs * w[0] - ss * w[1]) / cp
    return roll_rate, ss * w[0] + cs * w[1], w[2] - sp * roll_rate


@inlined
def _unwrap(angles, last):
    """Return the angles, each changed by whole turns to lie within half a turn of the last one."""
    turn = 2.0 * math.pi
    return (
        angles[0] + turn * round((last[0] - angles[0]) / turn),
        angles[1] + turn * round((last[1] - angles[1]) / turn),
        angles[2] + turn * round((last[2] - angles[2]) / turn),
    )


@kernel
def motion(Q, u, w, last):
    """Return (R, angles, rates of the hinges, cart velocity in the axes of the rod), with the
    angles near `last`.
    """
    R = unit_quaternion.matrix(Q)
    angles = nearest_angles(R, last)
    return R, angles, hinge_rates(angles, w), vec.transposed_matvec(R, (u[0], u[1], 0.0))


class GimbalJoints:
    """The three angles, followed continuously: they pass 180 degrees without a jump and a pole on
    the nearer branch.
    """

    def __init__(self):
        self.angles = (0.0, 0.0, 0.0)  # roll, pitch, spin [rad]
        self._motion = bind(motion, (1.0, 0.0, 0.0, 0.0), (0.0, 0.0), (0.0, 0.0, 0.0), self.angles)

    def follow(self, R: tuple[Vector, Vector, Vector]) -> Vector:
        """Return the angles (roll, pitch, spin) [rad] of the rotation with rows R that are nearest
        to the last ones.
        """
        self.angles = nearest_angles(R, self.angles)
        return self.angles

    def motion(
        self, Q: tuple[float, float, float, float], u: tuple[float, float], w: Vector
    ) -> tuple[tuple[Vector, Vector, Vector], Vector, Vector, Vector]:
        """Return (R, angles, rates, V) of the rotation Q (4,) under w (3,), where V = R^T (u, 0)
        is the cart's velocity u (2,) in body axes.
        """
        R, self.angles, rates, V = self._motion(Q, u, w, self.angles)
        return R, self.angles, rates, V
