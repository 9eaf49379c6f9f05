"""The ball joint as the chain of hinges that a URDF knows: R = Rx(roll) Ry(pitch) Rz(spin).

    (R_23, R_33) = cos p (-sin r, cos r),  R_13 = sin p,  second row of Rx(r)^T R = (sin s, cos s, 0)
    w_b = (cos p cos s r' + sin s p',  -cos p sin s r' + cos s p',  sin p r' + s')

Singular at p = +-90 degrees, the poles, where only the sum or the difference of roll and spin is known: roll stays.
"""

import math

_POLE = 1e-9  # cos p below which roll cannot be told


class GimbalJoints:
    """Follows the three angles continuously: they pass 180 degrees without a jump and a pole on the nearer branch."""

    def __init__(self):
        self.angles = (0.0, 0.0, 0.0)  # roll, pitch, spin [rad]

    def follow(self, R: tuple) -> tuple:
        """The angles (roll, pitch, spin) [rad] of the rotation with rows R that are nearest to the last ones."""
        at_pole = math.hypot(R[1][2], R[2][2]) < _POLE
        roll = self.angles[0] if at_pole else math.atan2(-R[1][2], R[2][2])
        cr, sr = math.cos(roll), math.sin(roll)
        pitch = math.atan2(R[0][2], cr * R[2][2] - sr * R[1][2])
        spin = math.atan2(cr * R[1][0] + sr * R[2][0], cr * R[1][1] + sr * R[2][1])
        if sum(abs(a - b) for a, b in zip((roll, pitch, spin), self.angles)) < math.pi:  # the other branch is 2 pi less that away, or more
            self.angles = (roll, pitch, spin)
            return self.angles
        branches = ((roll, pitch, spin), (roll + math.pi, math.pi - pitch, spin + math.pi))
        near = [tuple(map(_nearest, branch, self.angles)) for branch in branches]
        self.angles = min(near, key=lambda angles: sum(abs(a - b) for a, b in zip(angles, self.angles)))
        return self.angles

    def rates(self, w: tuple) -> tuple:
        """The hinge rates [rad/s] of the angular velocity w (3,) [rad/s, body] at the last angles; large near a pole."""
        _, pitch, spin = self.angles
        cp, sp, cs, ss = math.cos(pitch), math.sin(pitch), math.cos(spin), math.sin(spin)
        cp = math.copysign(max(abs(cp), 1e-6), cp)  # finite at the pole itself
        roll_rate = (cs * w[0] - ss * w[1]) / cp
        return (roll_rate, ss * w[0] + cs * w[1], w[2] - sp * roll_rate)


def _nearest(angle: float, last: float) -> float:
    """The angle, turned by whole turns to lie within half a turn of `last`."""
    return angle + 2.0 * math.pi * round((last - angle) / (2.0 * math.pi))
