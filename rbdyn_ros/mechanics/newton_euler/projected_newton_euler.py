"""Projected Newton-Euler equations of rigid bodies on a floating base: M du/dt + g = f + W lambda
(G.9).

    M = sum_i  J_P^T m J_P + J_R^T Theta J_R
    g = sum_i  J_P^T m dJ_P/dt u + J_R^T (Theta dJ_R/dt u + Omega x Theta Omega)
    f = sum    J_Q^T F + J_R^T T

over the links i, with the Jacobians of their centres of mass and Theta = R Theta_i R^T in the
WORLD frame. Coordinates q, u and links as in chain.py. Source: Kindr kinematics sheet; its h is f
- g.
"""

from typing import NamedTuple

import numpy as np

from rbdyn_ros.geometry import arguments
from rbdyn_ros.mechanics.newton_euler import chain


class Link(NamedTuple):
    """What a link weighs, in its own frame."""

    mass: float  # m [kg]
    center: np.ndarray  # (3,) [m] centre of mass
    inertia: np.ndarray  # (3, 3) [kg m^2] about the centre of mass


class Load(NamedTuple):
    """A force and a couple on a link."""

    link: int
    point: np.ndarray  # (3,) [m] where the force acts, in the link's frame
    force: np.ndarray  # (3,) [N, world]
    torque: np.ndarray  # (3,) [N m, world]


class Equations(NamedTuple):
    """M du/dt + g = f + W lambda, without the right-hand side."""

    M: np.ndarray  # (n_u, n_u) mass matrix
    g: np.ndarray  # (n_u,) gyroscopic and Coriolis forces


def equations(joints: tuple[chain.Joint, ...], links: tuple[Link, ...], q, u) -> Equations:
    """M(q) and g(q, u) for the base and one link per joint; ValueError if the number of links is
    wrong.
    """
    _require_one_link_each(joints, links)
    at = chain.placements(joints, q)
    u = arguments.array(u, "u", chain.BASE + len(joints))
    M, g = np.zeros((len(u), len(u))), np.zeros(len(u))
    for i, link in enumerate(links):
        J = chain.jacobian(joints, q, i, link.center)
        bias = chain.jacobian_rate(joints, q, u, i, link.center) @ u
        J_P, J_R, Theta = J[:3], J[3:], at.R[i] @ link.inertia @ at.R[i].T
        Omega = J_R @ u
        M += J_P.T * link.mass @ J_P + J_R.T @ Theta @ J_R
        g += J_P.T @ (link.mass * bias[:3]) + J_R.T @ (
            Theta @ bias[3:] + np.cross(Omega, Theta @ Omega)
        )
    return Equations(M, g)


def applied(joints: tuple[chain.Joint, ...], q, loads: tuple[Load, ...]) -> np.ndarray:
    """f (n_u,): the generalised force of the loads."""
    f = np.zeros(chain.BASE + len(joints))
    for load in loads:
        wrench = [
            arguments.array(load.force, "force", 3),
            arguments.array(load.torque, "torque", 3),
        ]
        f += chain.jacobian(joints, q, load.link, load.point).T @ np.concatenate(wrench)
    return f


def weight(links: tuple[Link, ...], gravity) -> tuple[Load, ...]:
    """The links' weights as loads, for the gravity (3,) [m/s^2, world]."""
    gravity = arguments.array(gravity, "gravity", 3)
    return tuple(
        Load(i, link.center, link.mass * gravity, np.zeros(3)) for i, link in enumerate(links)
    )


def acceleration(equations: Equations, f, W=None, lam=None) -> np.ndarray:
    """du/dt = M^-1 (f - g + W lambda); W (n_u, m) holds the directions of the m constraint or
    contact forces.
    """
    return velocity_change(equations, f, 1.0, W, lam)


def velocity_change(equations: Equations, f, dt: float, W=None, P=None) -> np.ndarray:
    """Delta u with M Delta u - (f - g) dt = W P: over a step dt [s] with percussions P (m,) [N s].

    dt = 0 is an impact: M (u+ - u-) = W Lambda. ValueError if M is singular: a link without mass
    or inertia.
    """
    h = arguments.array(f, "f", len(equations.g)) - equations.g
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


def transformed(M_bar, h_bar, B, dB, u) -> tuple[np.ndarray, np.ndarray]:
    """(M, h) in other velocities u, where u_bar = B u and dB is dB/dt:

    M = B^T M_bar B,  h = B^T (h_bar - M_bar dB u).
    """
    return B.T @ M_bar @ B, B.T @ (h_bar - M_bar @ dB @ u)


def _require_one_link_each(joints: tuple[chain.Joint, ...], links: tuple[Link, ...]) -> None:
    if len(links) != len(joints) + 1:
        raise ValueError(
            f"links has {len(links)} entries; {len(joints)} joints need {len(joints) + 1}, base "
            "first"
        )
    for i, link in enumerate(links):
        arguments.array(link.center, f"the centre of link {i}", 3)
        arguments.array(link.inertia, f"the inertia of link {i}", 3, 3)
        if not 0.0 <= link.mass < np.inf:
            raise ValueError(f"the mass of link {i} is {link.mass} kg; it must be finite and >= 0")
