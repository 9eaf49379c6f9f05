"""Adjoint and coadjoint matrices of SE(3).

Twists (w, v), wrenches (mu, f): moment and angular part FIRST.

On SO(3) they are R and w^ themselves. Source: the notebook "Geometric Discrete Variational
Dynamics", with two of its formulas corrected: the bracket's linear part is v1 x w2 PLUS w1 x v2,
and the coadjoint's moment is R^T mu - (R^T p) x (R^T f).
"""

import numpy as np

from rbdyn_ros.geometry import arguments, homogeneous, so3


def Ad(T) -> np.ndarray:
    """Ad_T = [[R, 0], [p^ R, R]] (..., 6, 6): a body twist in the world frame, T V^ T^-1 = (Ad_T
    V)^.
    """
    R, p = homogeneous.rotation(T), homogeneous.position(T)
    return np.concatenate(
        [np.concatenate([R, np.zeros_like(R)], -1), np.concatenate([so3.hat(p) @ R, R], -1)], -2
    )


def ad(V) -> np.ndarray:
    """ad_V = [[w^, 0], [v^, w^]] (..., 6, 6): the Lie bracket, ad_V W = (V^ W^ - W^ V^) vee."""
    V = arguments.array(V, "V", 6)
    S, Z = so3.hat(V[..., :3]), so3.hat(V[..., 3:])
    return np.concatenate(
        [np.concatenate([S, np.zeros_like(S)], -1), np.concatenate([Z, S], -1)], -2
    )


def coAd(T) -> np.ndarray:
    """Ad_T^T (..., 6, 6): a world wrench in the body frame, (R^T mu - (R^T p) x (R^T f), R^T
    f).
    """
    return np.swapaxes(Ad(T), -1, -2)


def coad(V) -> np.ndarray:
    """ad_V^T (..., 6, 6): (mu x w + f x v, f x w), the gyroscopic term of d(mu, f)/dt = ad_V^T
    (mu, f).
    """
    return np.swapaxes(ad(V), -1, -2)
