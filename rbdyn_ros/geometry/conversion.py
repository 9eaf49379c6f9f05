"""From any parameterization of a rotation to any other, on the principal branch.

| name            | shape       | meaning                                                        |
|-----------------|-------------|----------------------------------------------------------------|
| quaternion      | (..., 4)    | w x y z, w >= 0                                                |
| matrix          | (..., 3, 3) | R_IB, body to world                                            |
| rotation_vector | (..., 3)    | [rad], length at most pi                                       |
| angle_axis      | (..., 4)    | angle [rad] in [0, pi], unit axis                              |
| euler_zyx       | (..., 3)    | z y x [rad], R = Rz Ry Rx, outer in [-pi, pi), y [-pi/2, pi/2] |
| euler_xyz       | (..., 3)    | x y z [rad], R = Rx Ry Rz, same ranges                         |

The quaternion is the hub: it is the only one without a singularity or a constraint beyond its
norm.

Euler angles (..., 3) [rad]: ZYX = (z, y, x) with R = Rz Ry Rx, and XYZ = (x, y, z) with R = Rx
Ry Rz.

ZYX is z-y'-x'', yaw pitch roll; XYZ is x-y'-z'', roll pitch yaw (both intrinsic, as in the Kindr
kinematics sheet). Principal: the outer angles in [-pi, pi), y in [-pi/2, pi/2]. At y = +-pi/2 the
charts are singular: only the sum or the difference of the outer angles is defined; here the first
is then 0.

Angle-axis (..., 4) = (theta, n): the angle [rad] FIRST, then the unit axis.

Principal: theta in [0, pi].
"""

import numpy as np

from rbdyn_ros.geometry import float_arrays, quaternion


def to_quaternion(a) -> np.ndarray:
    """Return (cos(theta/2), n sin(theta/2)), not made canonical.

    Raise ValueError if the axis is not a unit vector.
    """
    theta, n = split(a)
    return np.concatenate([np.cos(0.5 * theta), np.sin(0.5 * theta) * n], axis=-1)


def from_quaternion(q) -> np.ndarray:
    """Return (|log q|, log q / |log q|); the identity has the axis (1, 0, 0).

    The Kindr sheet's 2 arccos(q0) leaves [0, pi] for q0 < 0 and loses half the digits of a small
    angle.
    """
    v = quaternion.log(q)
    theta = float_arrays.length(v)
    n = np.where(theta > 0.0, v, (1.0, 0.0, 0.0)) / np.where(theta > 0.0, theta, 1.0)
    return np.concatenate([theta, n], axis=-1)


def split(a) -> tuple[np.ndarray, np.ndarray]:
    """Return (theta (..., 1), n (..., 3)) of an angle-axis, checked."""
    a = float_arrays.array(a, "angle_axis", 4)
    theta = float_arrays.rotation_vector(a[..., :1] * np.ones(3), "angle_axis angle")[..., :1]
    return theta, float_arrays.unit(a[..., 1:], "angle_axis axis", 3, "divide it by its length")


def zyx_to_quaternion(zyx) -> np.ndarray:
    """Return qz o qy o qx, canonical."""
    z, y, x = np.moveaxis(float_arrays.rotation_vector(zyx, "zyx"), -1, 0)
    return quaternion.canonical(
        quaternion.product(quaternion.product(about(2, z), about(1, y)), about(0, x))
    )


def zyx_from_quaternion(q) -> np.ndarray:
    """Return the ZYX angles of a rotation quaternion; they give the same rotation back to
    round-off, singular or not.

    z comes from the first column of R, then y and x from Rz(z)^T R = Ry Rx with that very z.
    (Taking x from R alone would let the errors of z and x, large near the singularity, no longer
    cancel.)
    """
    R = quaternion.to_matrix(q)
    z = np.arctan2(R[..., 1, 0], R[..., 0, 0])
    first, second = _rotate_back(R, z)
    y = np.arctan2(-R[..., 2, 0], first[..., 0])
    x = np.arctan2(-second[..., 2], second[..., 1])
    return np.stack([_wrap_angle(z), y, _wrap_angle(x)], axis=-1)


def xyz_to_quaternion(xyz) -> np.ndarray:
    """Return qx o qy o qz, canonical."""
    return quaternion.conjugate(
        zyx_to_quaternion(-float_arrays.rotation_vector(xyz, "xyz")[..., ::-1])
    )


def xyz_from_quaternion(q) -> np.ndarray:
    """Return the XYZ angles: R^T = Rz(-z) Ry(-y) Rx(-x), so they are those of the inverse in ZYX,
    negated and reversed.
    """
    x, y, z = np.moveaxis(-zyx_from_quaternion(quaternion.conjugate(q))[..., ::-1], -1, 0)
    return np.stack([_wrap_angle(x), y, _wrap_angle(z)], axis=-1)


def about(axis: int, angle: np.ndarray) -> np.ndarray:
    """Return the rotation by an angle (...) [rad] about the axis x, y or z: 0, 1, 2."""
    q = np.zeros((*angle.shape, 4))
    q[..., 0], q[..., axis + 1] = np.cos(0.5 * angle), np.sin(0.5 * angle)
    return q


def _rotate_back(R: np.ndarray, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the first two rows of Rz(z)^T R."""
    c, s = np.cos(z)[..., None], np.sin(z)[..., None]
    return c * R[..., 0, :] + s * R[..., 1, :], c * R[..., 1, :] - s * R[..., 0, :]


def _wrap_angle(angle: np.ndarray) -> np.ndarray:
    """Map [-pi, pi] to [-pi, pi)."""
    return np.where(angle >= np.pi, angle - 2.0 * np.pi, angle)


TO_QUATERNION = {
    "quaternion": lambda q: float_arrays.unit_quaternion(q, "quaternion"),
    "matrix": quaternion.from_matrix,
    "rotation_vector": quaternion.exp,
    "angle_axis": to_quaternion,
    "euler_zyx": zyx_to_quaternion,
    "euler_xyz": xyz_to_quaternion,
}

FROM_QUATERNION = {
    "quaternion": quaternion.canonical,
    "matrix": quaternion.to_matrix,
    "rotation_vector": quaternion.log,
    "angle_axis": from_quaternion,
    "euler_zyx": zyx_from_quaternion,
    "euler_xyz": xyz_from_quaternion,
}

NAMES = tuple(TO_QUATERNION)


def convert(value, source: str, target: str) -> np.ndarray:
    """Return the rotation `value`, given as `source`, as `target`; principal even when source and
    target are the same.

    Raise ValueError for an unknown name (it lists the known ones), a wrong shape, a non-finite
    number, a matrix that is no rotation, a quaternion or an axis whose norm is not 1.
    """
    float_arrays.choice(source, "source", NAMES)
    float_arrays.choice(target, "target", NAMES)
    return FROM_QUATERNION[target](TO_QUATERNION[source](value))
