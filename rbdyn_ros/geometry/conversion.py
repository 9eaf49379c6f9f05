"""From any parameterisation of a rotation to any other, on the principal branch.

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
"""

import numpy as np

from rbdyn_ros.geometry import angle_axis, arguments, euler_angles, quaternion

TO_QUATERNION = {
    "quaternion": lambda q: arguments.unit_quaternion(q, "quaternion"),
    "matrix": quaternion.from_matrix,
    "rotation_vector": quaternion.exp,
    "angle_axis": angle_axis.to_quaternion,
    "euler_zyx": euler_angles.zyx_to_quaternion,
    "euler_xyz": euler_angles.xyz_to_quaternion,
}

FROM_QUATERNION = {
    "quaternion": quaternion.canonical,
    "matrix": quaternion.to_matrix,
    "rotation_vector": quaternion.log,
    "angle_axis": angle_axis.from_quaternion,
    "euler_zyx": euler_angles.zyx_from_quaternion,
    "euler_xyz": euler_angles.xyz_from_quaternion,
}

NAMES = tuple(TO_QUATERNION)


def convert(value, source: str, target: str) -> np.ndarray:
    """The rotation `value`, given as `source`, as `target`; principal even when source and target
    are the same.

    ValueError for an unknown name (lists the known), a wrong shape, a non-finite number, a matrix
    that is no rotation, a quaternion or an axis whose norm is not 1.
    """
    arguments.choice(source, "source", NAMES)
    arguments.choice(target, "target", NAMES)
    return FROM_QUATERNION[target](TO_QUATERNION[source](value))
