"""Kinematics of a tree of revolute and prismatic joints on a floating base: placements, Jacobians,
their derivatives.

q and u are those of floating_base.py; link 0 is the base, link i + 1 is moved by joint i.
Jacobians are spatial, in the WORLD frame, linear part first: (v, w) = J u with J = [J_P; J_R], as
in the Kindr kinematics sheet.
"""

from typing import NamedTuple

import numpy as np

from rbdyn_ros.geometry import arguments, quaternion, so3
from rbdyn_ros.mechanics.newton_euler import floating_base

KINDS = ("revolute", "prismatic")
BASE = 6  # generalised velocities of the base: three linear [world], three angular [body]


class Joint(NamedTuple):
    """A joint of one degree of freedom, zero where its link's frame coincides with the joint's."""

    kind: str  # one of KINDS
    parent: int  # index of the link that carries it
    position: np.ndarray  # (3,) [m] of the joint's origin in the parent's frame
    orientation: np.ndarray  # (4,) wxyz, of the joint's frame in the parent's
    axis: np.ndarray  # (3,) unit, in the joint's frame


class Placements(NamedTuple):
    """Where every link is, in the world frame."""

    R: np.ndarray  # (n + 1, 3, 3) link to world
    r: np.ndarray  # (n + 1, 3) [m] origins
    axes: np.ndarray  # (n, 3) of the joints


def build(*joints: Joint) -> tuple[Joint, ...]:
    """The joints, checked: parents come before their children; ValueError names the joint that is
    wrong.
    """
    return tuple(_checked(i, joint) for i, joint in enumerate(joints))


def placements(joints: tuple[Joint, ...], q) -> Placements:
    """Every link's frame at q (7 + n,): revolute R_i = R_p R_J exp(axis q_i), prismatic r_i = r_p
    + ... + axis q_i.
    """
    q = floating_base.checked(q, len(joints))
    R, r, axes = [quaternion.to_matrix(q[3:7])], [q[:3]], []
    for joint, angle in zip(joints, q[7:]):
        turned = R[joint.parent] @ quaternion.to_matrix(joint.orientation)
        axes.append(turned @ joint.axis)
        origin = r[joint.parent] + R[joint.parent] @ joint.position
        slides = joint.kind == "prismatic"
        r.append(origin + axes[-1] * angle if slides else origin)
        R.append(turned if slides else turned @ so3.exp(joint.axis * angle))
    return Placements(np.array(R), np.array(r), np.array(axes).reshape(-1, 3))


def jacobian(joints: tuple[Joint, ...], q, link: int, point) -> np.ndarray:
    """J (6, 6 + n) of a point (3,) [m, in the link's frame]: (v_Q, w) = J u [world].

    Columns: base (1; 0) and (-R r^; R) (Appendix II of the sheet); revolute (a x (r_Q - r_i); a);
    prismatic (a; 0); zero for joints that do not carry the link (G.7).
    """
    at = placements(joints, q)
    link, point = _link(joints, link), arguments.array(point, "point", 3)
    arm = at.r[link] + at.R[link] @ point
    J = np.zeros((6, BASE + len(joints)))
    J[:3, :3] = np.eye(3)
    J[:3, 3:6], J[3:, 3:6] = -so3.hat(arm - at.r[0]) @ at.R[0], at.R[0]
    while link > 0:
        joint, axis, column = joints[link - 1], at.axes[link - 1], J[:, BASE + link - 1]
        if joint.kind == "prismatic":
            column[:3] = axis
        else:
            column[:3], column[3:] = np.cross(axis, arm - at.r[link]), axis
        link = joint.parent
    return J


def hessian(joints: tuple[Joint, ...], q, link: int, point) -> np.ndarray:
    """H (6 + n, 6, 6 + n): H[k] is the change of J along the generalised velocity k.

        dJ_i / dk = (J_Rk x J_Pi; J_Rk x J_Ri)   if motion k carries the axis of column i
                    (J_Ri x J_Pk; 0)             otherwise

    (G.8, Appendix III of the Kindr sheet). A motion carries itself and what comes after it. The
    base's rotations carry each other as well, because u speaks of them in the body frame; the
    sheet leaves that case out.
    """
    J = jacobian(joints, q, link, point)
    P, S = J[:3].T, J[3:].T  # (n_u, 3) each
    carried = np.tril(np.ones((len(P), len(P)), dtype=bool)).T  # [k, i]: i >= k
    carried[3:6, 3:6] = True
    turned = np.concatenate([np.cross(S[:, None], P), np.cross(S[:, None], S)], axis=-1)
    moved = np.concatenate([np.cross(S, P[:, None]), np.zeros((len(P), len(P), 3))], axis=-1)
    return np.swapaxes(np.where(carried[..., None], turned, moved), -1, -2)


def jacobian_rate(joints: tuple[Joint, ...], q, u, link: int, point) -> np.ndarray:
    """dJ/dt = sum_k H[k] u_k (6, 6 + n), base rotation included; a_Q = J du/dt + dJ/dt u."""
    H = hessian(joints, q, link, point)
    return np.tensordot(arguments.array(u, "u", len(H)), H, axes=1)


def _checked(i: int, joint: Joint) -> Joint:
    name = f"joint {i}"
    arguments.choice(joint.kind, f"the kind of {name}", KINDS)
    if joint.parent not in range(i + 1):
        raise ValueError(
            f"the parent of {name} is {joint.parent}; it must be a link before it, 0 (the base) "
            f"to {i}"
        )
    return Joint(
        joint.kind,
        joint.parent,
        arguments.array(joint.position, f"the position of {name}", 3),
        arguments.unit_quaternion(joint.orientation, f"the orientation of {name}"),
        arguments.unit(joint.axis, f"the axis of {name}", 3, "divide it by its length"),
    )


def _link(joints: tuple[Joint, ...], link: int) -> int:
    if link not in range(len(joints) + 1):
        raise ValueError(f"link is {link}; it must be 0 (the base) to {len(joints)}")
    return link
