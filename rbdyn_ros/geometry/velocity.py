"""Velocities of points seen from moving frames; every vector (..., 3) of one call in the same
frame.

Source: Kindr kinematics sheet.
"""

import numpy as np

from rbdyn_ros.geometry import arguments


def in_rotating_frame(v_A, dr_AP, w, r_AP) -> np.ndarray:
    """v_P = v_A + d(r_AP)/dt + w x r_AP [m/s].

    dr_AP is the derivative of the components of r_AP [m] in the frame that turns at w [rad/s]; A
    may move at v_A.
    """
    return of_rigid_body(v_A, w, r_AP) + arguments.array(dr_AP, "dr_AP", 3)


def of_rigid_body(v_P, w, r_PQ) -> np.ndarray:
    """v_Q = v_P + w x r_PQ [m/s] for two points of a body that turns at w [rad/s]."""
    v_P, w, r_PQ = (arguments.array(x, n, 3) for x, n in ((v_P, "v_P"), (w, "w"), (r_PQ, "r_PQ")))
    return v_P + np.cross(w, r_PQ)


def composed(*w) -> np.ndarray:
    """w_AD = w_AB + w_BC + w_CD [rad/s]: relative angular velocities add up when expressed in one
    frame.
    """
    return np.sum([arguments.array(x, f"w[{i}]", 3) for i, x in enumerate(w)], axis=0)
