"""Projected Newton-Euler equations of rigid bodies on a floating base: M du/dt + g = f + W lambda
(G.9).

    M = sum_i  J_P^T m J_P + J_R^T Theta J_R
    g = sum_i  J_P^T m dJ_P/dt u + J_R^T (Theta dJ_R/dt u + Omega x Theta Omega)
    f = sum    J_Q^T F + J_R^T T

over the links i, with the Jacobians of their centers of mass and Theta = R Theta_i R^T in the
WORLD frame. Coordinates q, u and links as below. Source: Kindr kinematics sheet; its h is f
- g.

Kinematics of a tree of revolute and prismatic joints on a floating base: placements, Jacobians,
their derivatives.

q and u are those of floating_base.py; link 0 is the base, link i + 1 is moved by joint i.
Jacobians are spatial, in the WORLD frame, linear part first: (v, w) = J u with J = [J_P; J_R], as
in the Kindr kinematics sheet.
"""

from typing import NamedTuple

import numpy as np

from rbdyn_ros.geometry import float_arrays, floating_base, quaternion, so3

KINDS = ("revolute", "prismatic")
BASE = 6  # generalized velocities of the base: three linear [world], three angular [body]


class TreeJoint(NamedTuple):
    """A joint of one degree of freedom, zero where its link's frame coincides with the joint's."""

    kind: str  # one of KINDS
    parent: int  # index of the link that carries it
    position: np.ndarray  # (3,) [m] of the joint's origin in the parent's frame
    orientation: np.ndarray  # (4,) wxyz, of the joint's frame in the parent's
    axis: np.ndarray  # (3,) unit, in the joint's frame


class Placements(NamedTuple):
    """The position and the orientation of every link in the world frame."""

    R: np.ndarray  # (n + 1, 3, 3) link to world
    r: np.ndarray  # (n + 1, 3) [m] origins
    axes: np.ndarray  # (n, 3) of the joints


def build(*joints: TreeJoint) -> tuple[TreeJoint, ...]:
    """Return the joints after a check: parents come before their children. Raise ValueError, which
    names the joint that is wrong.
    """
    return tuple(_check_joint(i, joint) for i, joint in enumerate(joints))


def placements(joints: tuple[TreeJoint, ...], q) -> Placements:
    """Return every link's frame at q (7 + n,): revolute R_i = R_p R_J exp(axis q_i), prismatic r_i
    = r_p + ... + axis q_i.
    """
    q = floating_base.check_coordinates(q, len(joints))
    R, r, axes = [quaternion.to_matrix(q[3:7])], [q[:3]], []
    for joint, angle in zip(joints, q[7:]):
        turned = R[joint.parent] @ quaternion.to_matrix(joint.orientation)
        axes.append(turned @ joint.axis)
        origin = r[joint.parent] + R[joint.parent] @ joint.position
        slides = joint.kind == "prismatic"
        r.append(origin + axes[-1] * angle if slides else origin)
        R.append(turned if slides else turned @ so3.exp(joint.axis * angle))
    return Placements(np.array(R), np.array(r), np.array(axes).reshape(-1, 3))


def jacobian(joints: tuple[TreeJoint, ...], q, link: int, point) -> np.ndarray:
    """Return J (6, 6 + n) of a point (3,) [m, in the link's frame]: (v_Q, w) = J u [world].

    Columns: base (1; 0) and (-R r^; R) (Appendix II of the sheet); revolute (a x (r_Q - r_i); a);
    prismatic (a; 0); zero for joints that do not carry the link (G.7).
    """
    at = placements(joints, q)
    link, point = _link(joints, link), float_arrays.array(point, "point", 3)
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


def hessian(joints: tuple[TreeJoint, ...], q, link: int, point) -> np.ndarray:
    """Return H (6 + n, 6, 6 + n): H[k] is the change of J along the generalized velocity k.

        dJ_i / dk = (J_Rk x J_Pi; J_Rk x J_Ri)   if motion k carries the axis of column i
                    (J_Ri x J_Pk; 0)             otherwise

    (G.8, Appendix III of the Kindr sheet). A motion carries itself and what comes after it. The
    base's rotations carry each other as well, because u has them in the body frame; the
    sheet leaves that case out.
    """
    J = jacobian(joints, q, link, point)
    P, S = J[:3].T, J[3:].T  # (n_u, 3) each
    carried = np.tril(np.ones((len(P), len(P)), dtype=bool)).T  # [k, i]: i >= k
    carried[3:6, 3:6] = True
    turned = np.concatenate([np.cross(S[:, None], P), np.cross(S[:, None], S)], axis=-1)
    moved = np.concatenate([np.cross(S, P[:, None]), np.zeros((len(P), len(P), 3))], axis=-1)
    return np.swapaxes(np.where(carried[..., None], turned, moved), -1, -2)


def jacobian_rate(joints: tuple[TreeJoint, ...], q, u, link: int, point) -> np.ndarray:
    """Return dJ/dt = sum_k H[k] u_k (6, 6 + n) with base rotation; a_Q = J du/dt + dJ/dt u."""
    H = hessian(joints, q, link, point)
    return np.tensordot(float_arrays.array(u, "u", len(H)), H, axes=1)


def _check_joint(i: int, joint: TreeJoint) -> TreeJoint:
    name = f"joint {i}"
    float_arrays.choice(joint.kind, f"the kind of {name}", KINDS)
    if joint.parent not in range(i + 1):
        raise ValueError(
            f"the parent of {name} is {joint.parent}; it must be a link before it, 0 (the base) "
            f"to {i}"
        )
    return TreeJoint(
        joint.kind,
        joint.parent,
        float_arrays.array(joint.position, f"the position of {name}", 3),
        float_arrays.unit_quaternion(joint.orientation, f"the orientation of {name}"),
        float_arrays.unit(joint.axis, f"the axis of {name}", 3, "divide it by its length"),
    )


def _link(joints: tuple[TreeJoint, ...], link: int) -> int:
    if link not in range(len(joints) + 1):
        raise ValueError(f"link is {link}; it must be 0 (the base) to {len(joints)}")
    return link


class LinkInertia(NamedTuple):
    """The mass and the inertia of a link, in its own frame."""

    mass: float  # m [kg]
    center: np.ndarray  # (3,) [m] center of mass
    inertia: np.ndarray  # (3, 3) [kg m^2] about the center of mass


class LinkLoad(NamedTuple):
    """A force and a couple on a link."""

    link: int
    point: np.ndarray  # (3,) [m] where the force acts, in the link's frame
    force: np.ndarray  # (3,) [N, world]
    torque: np.ndarray  # (3,) [N m, world]


class Equations(NamedTuple):
    """M du/dt + g = f + W lambda, without the right-hand side."""

    M: np.ndarray  # (n_u, n_u) mass matrix
    g: np.ndarray  # (n_u,) gyroscopic and Coriolis forces


def equations(joints: tuple[TreeJoint, ...], links: tuple[LinkInertia, ...], q, u) -> Equations:
    """Return M(q) and g(q, u) for the base and one link per joint. Raise ValueError if the number
    of links is wrong.
    """
    _require_one_link_each(joints, links)
    at = placements(joints, q)
    u = float_arrays.array(u, "u", BASE + len(joints))
    M, g = np.zeros((len(u), len(u))), np.zeros(len(u))
    for i, link in enumerate(links):
        J = jacobian(joints, q, i, link.center)
        bias = jacobian_rate(joints, q, u, i, link.center) @ u
        J_P, J_R, Theta = J[:3], J[3:], at.R[i] @ link.inertia @ at.R[i].T
        Omega = J_R @ u
        M += J_P.T * link.mass @ J_P + J_R.T @ Theta @ J_R
        g += J_P.T @ (link.mass * bias[:3]) + J_R.T @ (
            Theta @ bias[3:] + np.cross(Omega, Theta @ Omega)
        )
    return Equations(M, g)


def generalized_force(joints: tuple[TreeJoint, ...], q, loads: tuple[LinkLoad, ...]) -> np.ndarray:
    """Return f (n_u,), the generalized force of the loads."""
    f = np.zeros(BASE + len(joints))
    for load in loads:
        wrench = [
            float_arrays.array(load.force, "force", 3),
            float_arrays.array(load.torque, "torque", 3),
        ]
        f += jacobian(joints, q, load.link, load.point).T @ np.concatenate(wrench)
    return f


def weight(links: tuple[LinkInertia, ...], gravity) -> tuple[LinkLoad, ...]:
    """Return the links' weights as loads, for the gravity (3,) [m/s^2, world]."""
    gravity = float_arrays.array(gravity, "gravity", 3)
    return tuple(
        LinkLoad(i, link.center, link.mass * gravity, np.zeros(3)) for i, link in enumerate(links)
    )


def acceleration(equations: Equations, f, W=None, lam=None) -> np.ndarray:
    """Return du/dt = M^-1 (f - g + W lambda); W (n_u, m) holds the directions of the m constraint
    or contact forces.
    """
    return velocity_change(equations, f, 1.0, W, lam)


def velocity_change(equations: Equations, f, dt: float, W=None, P=None) -> np.ndarray:
    """Return Delta u with M Delta u - (f - g) dt = W P, over a step dt [s] with percussions P (m,)
    [N s].

    dt = 0 is an impact: M (u+ - u-) = W Lambda. Raise ValueError if M is singular: a link without
    mass or inertia.
    """
    h = float_arrays.array(f, "f", len(equations.g)) - equations.g
    if (W is None) != (P is None):
        raise ValueError(
            "W, the directions, and P, the percussions, are given together or not at all"
        )
    momentum = h * dt
    if W is not None and P is not None:
        momentum = momentum + np.asarray(W) @ np.atleast_1d(P)
    try:
        return np.linalg.solve(equations.M, momentum)
    except np.linalg.LinAlgError:
        raise ValueError(
            "the mass matrix is singular; every motion must move some mass or inertia"
        ) from None


def transform(M_bar, h_bar, B, dB, u) -> tuple[np.ndarray, np.ndarray]:
    """Return (M, h) in other velocities u, where u_bar = B u and dB is dB/dt:

    M = B^T M_bar B,  h = B^T (h_bar - M_bar dB u).
    """
    return B.T @ M_bar @ B, B.T @ (h_bar - M_bar @ dB @ u)


def _require_one_link_each(joints: tuple[TreeJoint, ...], links: tuple[LinkInertia, ...]) -> None:
    if len(links) != len(joints) + 1:
        raise ValueError(
            f"links has {len(links)} entries; {len(joints)} joints need {len(joints) + 1}, base "
            "first"
        )
    for i, link in enumerate(links):
        float_arrays.array(link.center, f"the center of link {i}", 3)
        float_arrays.array(link.inertia, f"the inertia of link {i}", 3, 3)
        if not 0.0 <= link.mass < np.inf:
            raise ValueError(f"the mass of link {i} is {link.mass} kg; it must be finite and >= 0")
