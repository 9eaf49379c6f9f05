"""First-order systems by theta-gamma schemes: theta weighs the smooth part, gamma the input r.

    standard   M x = M x_k + h theta f(x) + h (1 - theta) f(x_k) + h gamma r + h (1 - gamma) r_k,
               y = h(t_{k+1}, x, lambda),             r = g(t_{k+1}, x, lambda)              (N.20)
    full       M x = M x_k + h theta f(x) + h (1 - theta) f(x_k) + h r,
               y = h(t_{k+gamma}, x_gamma, lambda),   r = g(t_{k+gamma}, x_gamma, lambda),
               x_gamma = gamma x + (1 - gamma) x_k                                           (N.21)

Newton, with s = 1, c = h gamma (standard) or s = gamma, c = h (full) and W = M - h theta A, x_free
= x - W^-1 R_free:

    x := Khat^-1 (x_free + c W^-1 [g - s K x - B lambda + B lambda_new]),
    Khat = 1 - c s W^-1 K                                                                    (N.22)
    y := h + s C (x_new - x) + D (lambda_new - lambda)
    so  y = (h gamma C Khat^-1 W^-1 B + D) lambda_new + y_p :
    a mixed complementarity problem                                                          (N.23)

The one-step problem is about y itself, which fits rows whose relative degree is 0 or 1. At degree
2 lambda is an impulse where y reaches zero: theta = gamma = 1 takes it as one without rebound, any
other choice lets y pass zero without a trace in the residual. Such a step is refused; mechanics is
for lagrangian and mechanics.network, whose laws are on velocities.

Source: the Siconos developer's notes, chapter 8, with the factors gamma and h restored (their
8.13, 8.30, 8.34, 8.43).
"""

from typing import Any, NamedTuple

import numpy as np

from rbdyn_ros.network import one_step
from rbdyn_ros.network.first_order import FirstOrder, reach
from rbdyn_ros.network.second_order import Singular, solve_mass
from rbdyn_ros.numerics.arguments import count, number, positive, vector
from rbdyn_ros.numerics.solvers.solution import explain
from rbdyn_ros.types import Array


class Options(NamedTuple):
    """The options of the schemes, made by `options`, which checks them."""

    theta: float = 0.5
    gamma: float = 1.0
    full: bool = False
    tolerance: float = 1e-12  # of the residual, relative to |M x| + h |f| + h |r|
    max_iterations: int = 20


class ThetaGammaStep(NamedTuple):
    """The result of a step; r is passed to the next step of the standard scheme, degree to any."""

    t: float
    x: Array  # (n,)
    multiplier: Array  # lambda (m,)
    y: Array  # (m,)
    r: Array  # (n,)
    iterations: int
    residual: float
    ok: bool
    message: str
    degree: int  # the largest relative degree of a row


def options(*given: Any, **named: Any) -> Options:
    """Return the Options with these fields. Raise ValueError for theta outside [0, 1], gamma
    outside (0, 1] (at 0 no multiplier acts), a tolerance <= 0.
    """
    made = Options(*given, **named)
    return Options(
        number(made.theta, "theta", 0.0, 1.0),
        number(made.gamma, "gamma", 0.0, 1.0, open_low=True),
        bool(made.full),
        number(made.tolerance, "tolerance", 0.0, 1e-3, open_low=True),
        count(made.max_iterations, "max_iterations", 1, 1000),
    )


def start(system: FirstOrder, t: float, x: Array, multiplier: Array) -> ThetaGammaStep:
    """Return the state at the beginning as a Step, with the y and r that belong to it, and the
    relative degree.

    Raise ValueError for x (n,), multiplier (m,) of other shapes or not finite, and for a row whose
    law no multiplier can keep.
    """
    x = vector(x, "x", len(system.M))
    multiplier = vector(multiplier, "multiplier", sum(rows for rows, _ in system.laws))
    y, r = system.h(t, x, multiplier), system.g(t, x, multiplier)
    degrees = reach(system, t, x, multiplier)
    for j, degree in enumerate(degrees):
        if degree is None or degree > 2:
            seen = (
                "in no derivative of it" if degree is None else f"in its derivative {degree} only"
            )
            raise ValueError(
                f"row {j} of y has a law that no multiplier can keep: lambda appears {seen}; at "
                "most the second is allowed"
            )
    return ThetaGammaStep(
        t, x, multiplier, y, r, 0, 0.0, True, "", max(filter(None, degrees), default=0)
    )


class _Stage(NamedTuple):
    """The quantities that stay the same in the Newton iteration of a step."""

    system: FirstOrder
    last: ThetaGammaStep
    known: Array  # of `_known_part`
    h: float
    options: Options


def step(
    system: FirstOrder, last: ThetaGammaStep, h: float, options: Options = Options()
) -> ThetaGammaStep:
    """Return the Step of h [s] from the last one; when it is not ok, `message` says what was
    tried.

    Raise ValueError for h <= 0, and for a relative degree of 2 unless theta = gamma = 1.
    """
    positive(h, "h")
    if last.degree == 2 and not options.theta == options.gamma == 1.0:
        raise ValueError(
            f"theta is {options.theta:g} and gamma {options.gamma:g}; a law of relative degree "
            "2 needs 1 and 1: "
            "write mechanics as a lagrangian system or a model of bodies"
        )
    stage = _Stage(system, last, _known_part(system, last, h, options), h, options)
    x, multiplier = last.x, last.multiplier
    for iteration in range(1, options.max_iterations + 1):
        try:
            x, multiplier, solution = _newton(stage, x, multiplier)
        except Singular as reason:
            return last._replace(
                iterations=iteration,
                residual=float("nan"),
                ok=False,
                message=f"the step to t = {last.t + h:g} s: {reason}",
            )
        y, r, residual = _residual(stage, x, multiplier)
        if residual <= options.tolerance or not solution.ok or not np.isfinite(residual):
            break
    ok, message = bool(solution.ok and residual <= options.tolerance), ""
    if not ok:
        reason = f"Newton stopped at {residual:.1e} after {iteration} iterations"
        reason = reason if solution.ok else explain(solution)
        message = f"the step to t = {last.t + h:g} s: {reason}; try a smaller step than {h:g} s"
    return ThetaGammaStep(
        last.t + h, x, multiplier, y, r, iteration, residual, ok, message, last.degree
    )


def _known_part(system: FirstOrder, last: ThetaGammaStep, h: float, options: Options) -> Array:
    """Return M x_k + h (1 - theta) f_k, and in the standard scheme + h (1 - gamma) r_k."""
    known = system.M @ last.x + h * (1.0 - options.theta) * system.f(last.t, last.x)
    return known if options.full else known + h * (1.0 - options.gamma) * last.r


def _point(last: ThetaGammaStep, x: Array, h: float, options: Options) -> tuple:
    """Return (t, x) at which h and g are evaluated, s and c of (N.22)."""
    if not options.full:
        return last.t + h, x, 1.0, h * options.gamma
    gamma = options.gamma
    return last.t + gamma * h, gamma * x + (1.0 - gamma) * last.x, gamma, h


def _newton(stage: _Stage, x: Array, multiplier: Array) -> tuple:
    """Return x, lambda and the Solution of their complementarity problem (N.22), (N.23)."""
    system, last, known, h, options = stage
    t1, (t, z, s, c) = last.t + h, _point(last, x, h, options)
    W = system.M - h * options.theta * system.A(t1, x)
    x_free = x - solve_mass(
        W, system.M @ x - h * options.theta * system.f(t1, x) - known, "matrix M - h theta A"
    )
    at = (t, z, multiplier)
    C, D, K, B = system.C(*at), system.D(*at), system.K(*at), system.B(*at)
    K_hat = np.eye(len(x)) - c * s * np.linalg.solve(W, K)
    gain = solve_mass(K_hat, c * np.linalg.solve(W, B), "matrix 1 - c s W^-1 K")
    fixed = np.linalg.solve(
        K_hat, x_free + c * np.linalg.solve(W, system.g(*at) - s * K @ x - B @ multiplier)
    )
    y_p = system.h(*at) + s * C @ (fixed - x) - D @ multiplier
    solution = one_step.solve(s * C @ gain + D, y_p, list(system.laws))
    return fixed + gain @ solution.z, solution.z, solution


def _residual(stage: _Stage, x: Array, multiplier: Array) -> tuple:
    """Return (y, r, the larger of the dynamics' and the laws' residual, each relative)."""
    system, last, known, h, options = stage
    t, z, _, c = _point(last, x, h, options)
    f, y, r = system.f(last.t + h, x), system.h(t, z, multiplier), system.g(t, z, multiplier)
    rest = system.M @ x - h * options.theta * f - known - c * r
    size = max(
        np.abs(known).max(),
        np.abs(system.M @ x).max(),
        h * np.abs(f).max(),
        h * np.abs(r).max(),
        np.finfo(float).tiny,
    )
    law = one_step.violation(y, multiplier, list(system.laws))
    return y, r, float(np.max([np.abs(rest).max() / size, law]))
