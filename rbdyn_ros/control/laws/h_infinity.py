"""The mixed-sensitivity H-infinity controller: the worst amplification, at any frequency, is the
least.

Per axis, with y = (x - r + n_x, th + n_th) measured, a disturbance d of the force and the noise n,
it bounds the largest singular value of the twelve transfer functions

    (d, n_x, n_th)  ->  (w_x x, w_x i, w_th th, w_u u),    i = w_b / (s + w_b) y_1,          (K.29)

scaled by the sizes of d and n. From n_x to i it is the sensitivity of the cart's place, weighted
up to the bandwidth w_b, and from n to u it is K S; d to x and to u are P S and T.
The controller is that of the least gamma times `slack`, sampled with measurement and force held.

It sees no rate. Its memory follows the force within its limit, and the set point moves no faster
than `reference_speed`.

`solve` finds the controller that bounds the worst amplification, by two Riccati equations.

    x' = A x + B1 w + N n + B2 u,   z = (C1 x, u),   y = C2 x + n                        (K.26)

with w and n of any shape. A stabilizing controller with |T| < gamma (the largest singular value of
what leads from (w, n) to z, at any frequency) exists if and only if, with V = B1 B1^T + N N^T and
the stabilizing solutions,

    A^T X + X A + X (V / gamma^2 - B2 B2^T) X + C1^T C1 = 0,   X >= 0
    A_N Y + Y A_N^T + Y (C1^T C1 / gamma^2 - C2^T C2) Y + B1 B1^T = 0,   Y >= 0,   A_N = A - N C2
    largest eigenvalue of X Y  <  gamma^2                                            (K.27)

exist; then one such controller is an observer with the worst w and n, and the feedback of its
state,

    u = F x^,   F = -B2^T X,   G = (1 - Y X / gamma^2)^-1 (Y C2^T + N)
    x^' = (A + V X / gamma^2 - G C_w) x^ + B2 u + G y,   C_w = C2 + N^T X / gamma^2.   (K.28)

Source: K. Zhou, J. C. Doyle, K. Glover, Robust and Optimal Control (1996), chapters 16 and 17.
"""

from typing import Annotated, Any, NamedTuple

import numpy as np
from scipy.linalg import schur

from rbdyn_ros.control import linear_controller, linearization, step_linearization
from rbdyn_ros.control.feedback import NEEDS
from rbdyn_ros.control.law_options import checked
from rbdyn_ros.control.laws.lqg import AngleNoise, CartNoise, ReferenceSpeed
from rbdyn_ros.control.linear_controller import POSITIONS, LinearLaw
from rbdyn_ros.schema import spec
from rbdyn_ros.types import Array

_AXIS = 1e-9  # an eigenvalue this near to the imaginary axis, relative to the largest, is on it
_LARGEST, _ACCURACY = 1e8, 1e-4  # of gamma, absolute and relative


class Problem(NamedTuple):
    """The numbers of (K.26)."""

    A: Array  # (n, n)
    B1: Array  # (n, k)
    B2: Array  # (n, m)
    C1: Array  # (p, n)
    C2: Array  # (q, n)
    N: Array  # (n, q)


class Solution(NamedTuple):
    """The observer and the feedback of (K.28)."""

    observer: Array  # A + V X / gamma^2 - G C_w (n, n)
    correction: Array  # G (n, q)
    feedback: Array  # F (m, n)


def solve(problem: Problem, slack: float) -> tuple[Solution, float]:
    """Return (the controller for gamma = slack times the least one, the least gamma), found by
    bisection.

    ValueError if there is none up to 1e8.
    """
    low, high = 0.0, 1.0
    while attempt(problem, high) is None:
        low, high = high, 2.0 * high
        if high > _LARGEST:
            raise ValueError(
                "no controller bounds the amplification: the force does not reach, or the "
                "measurement does not see, what does not decay by itself"
            )
    while high - low > _ACCURACY * high:
        middle = 0.5 * (low + high)
        low, high = (middle, high) if attempt(problem, middle) is None else (low, middle)
    found = attempt(problem, slack * high)
    if found is None:
        raise ValueError(f"gamma = {slack * high:g} has no solution, though {high:g} has one")
    return found, high


def attempt(problem: Problem, gamma: float) -> Solution | None:
    """Return the controller (K.28) for that gamma; None if there is none."""
    A, B1, B2, C1, C2, N = problem
    worst = (B1 @ B1.T + N @ N.T) / gamma**2
    X = _stabilizing(A, worst - B2 @ B2.T, C1.T @ C1)
    Y = _stabilizing((A - N @ C2).T, C1.T @ C1 / gamma**2 - C2.T @ C2, B1 @ B1.T)
    if X is None or Y is None or np.abs(np.linalg.eigvals(X @ Y)).max() >= gamma**2:
        return None
    G = np.linalg.solve(np.eye(len(A)) - Y @ X / gamma**2, Y @ C2.T + N)
    return Solution(A + worst @ X - G @ (C2 + N.T @ X / gamma**2), G, -B2.T @ X)


def _stabilizing(A: Array, R: Array, Q: Array) -> Array | None:
    """X >= 0 of A^T X + X A + X R X + Q = 0 with A + R X stable; None if there is none."""
    n = len(A)
    hamiltonian = np.block([[A, R], [-Q, -A.T]])
    values = np.linalg.eigvals(hamiltonian)
    if np.abs(values.real).min() < _AXIS * np.abs(values).max():
        return None
    ordered: Any = schur(hamiltonian, sort="lhp")  # T, Z, and how many are stable
    basis = ordered[1]
    if ordered[2] != n or np.linalg.cond(basis[:n, :n]) > 1e14:
        return None
    X = basis[n:, :n] @ np.linalg.inv(basis[:n, :n])
    X = 0.5 * (X + X.T)
    return X if np.linalg.eigvalsh(X).min() > -1e-8 * np.abs(X).max() else None


KINDS = ("balance",)  # what it is meant for, in the words of evaluation.suite


class Options(NamedTuple):
    """The weights, what is measured how well, and what the plant allows."""

    position_weight: Annotated[
        float, spec("Sets the weight of the cart's place.", "1/m", above=0.0)
    ] = 7.0
    tilt_weight: Annotated[float, spec("Sets the weight of the tilt.", "1/rad", low=0.0)] = 10.0
    force_weight: Annotated[float, spec("Sets the weight of the force.", "1/N", above=0.0)] = 0.4
    bandwidth: Annotated[
        float,
        spec(
            "Sets the frequency up to which the place's sensitivity is weighted.",
            "rad/s",
            above=0.0,
        ),
    ] = 2.0
    disturbance: Annotated[
        float, spec("Sets the size of the force's disturbance.", "N", above=0.0)
    ] = 20.0
    cart_noise: CartNoise = 5e-4
    angle_noise: AngleNoise = 5e-4
    slack: Annotated[
        float, spec("Sets gamma, in multiples of the least one.", low=1.01, high=100.0)
    ] = 2.0
    reference_speed: ReferenceSpeed = 0.5
    period: float = 0.002  # h [s]
    force_limit: float = 20.0  # [N]


def design(model, params, options: Options) -> LinearLaw:
    """Return the law for the plant that `model` builds from `params`.

    ValueError if an option is out of range, if no controller stabilizes, or if the sampled one
    does not.
    """
    o = checked("h_infinity", options)
    system = model.build(params)
    noise = np.array((o.cart_noise, o.angle_noise))
    try:
        found, _ = solve(_problem(system, o, noise), o.slack)
    except ValueError as error:
        raise ValueError(f"controller h_infinity: {error}; {NEEDS}") from error
    n = len(found.observer)
    force = np.vstack((linearization.upright(system)[1], np.zeros((n - 4, 1))))
    inputs = np.hstack((force, found.correction / noise))
    A, held = linearization.discretize(found.observer, inputs, o.period)
    C, windup = -found.feedback[0] / o.force_weight, held[:, 0]
    controller = linear_controller.dynamic(
        A - np.outer(windup, C),
        held[:, 1:] @ POSITIONS,
        C,
        np.zeros(4),
        windup=windup,
        moved=np.eye(n)[0],
        start=np.eye(n)[:, :4] @ POSITIONS.T @ POSITIONS,
    )
    if not linear_controller.is_stable(controller, *step_linearization.upright(system, o.period)):
        raise ValueError(
            f"controller h_infinity: sampled every {o.period:g} s it does not stabilize; take a "
            "shorter period, a larger h_infinity.slack, or larger noises"
        )
    return LinearLaw(controller, o.force_limit, o.reference_speed * o.period)


def _problem(system, o: Options, noise) -> Problem:
    """(K.29) in the form of (K.26), with the states e and i; y and u in their own sizes."""
    A, B = linearization.upright(system)
    whole, seen, enters = np.zeros((5, 5)), np.zeros((3, 5)), np.zeros((5, 2))
    whole[:4, :4] = A
    whole[4, 0], whole[4, 4] = 1.0, -o.bandwidth
    enters[4, 0] = o.cart_noise
    force = np.vstack((B, [[0.0]]))
    seen[0, 0], seen[1, 2] = o.position_weight, o.tilt_weight
    seen[2, 4] = o.position_weight * o.bandwidth
    measured = np.hstack((POSITIONS, np.zeros((2, 1)))) / noise[:, None]
    return Problem(whole, o.disturbance * force, force / o.force_weight, seen, measured, enters)
