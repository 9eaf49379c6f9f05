"""Friction by a semismooth Newton on the function of Alart and Curnier, with a line search.

    F_N = r_N - max(0, a),   F_T = r_T - proj_D(r_T - rho u_T),
    a = r_N - rho u_N,  D = disc of radius mu max(0, a)  (S.19)

F = 0 is the friction law, rho > 0 any. Of its pieces (S.20) the Jacobian is that of the one that
holds: open a <= 0, sticking, sliding. Open contacts drop out of the linear system; W is shifted a
little there, so that redundant contacts leave it regular. Source: Alart, Curnier, Comput. Methods
Appl. Mech. Eng. 92 (1991) 353.
"""

from typing import NamedTuple

import numpy as np

from rbdyn_ros.geometry import vec
from rbdyn_ros.kernel import inlined, kernel, part
from rbdyn_ros.numerics import linear
from rbdyn_ros.numerics.solvers import fc3d
from rbdyn_ros.numerics.solvers.solution import Options
from rbdyn_ros.types import Array


class NewtonStep(NamedTuple):
    """A step of Newton's method for n contacts, and the memory that it needs."""

    dr: Array  # (3n,) change of the impulses
    du: Array  # (3n,) change of the velocities
    b: Array  # (3n,) right hand side
    best: Array  # (3n,) the best impulses so far
    J: Array  # (3n, 3n) matrix of the contacts that are not open
    rho: Array  # (n,) of (S.19)
    closed: Array  # (n,) integers: which contacts are not open


DEFAULTS = Options(tolerance=1e-8, max_iterations=100)

_SHIFT = 1e-10  # of W's mean diagonal
_WITHIN = 1.0 - 1e-9  # of mu, for impulses within their cones
_HALVINGS = 6  # of a Newton step


@inlined
def law(r, u, mu, rho):
    """Return (F, open): the function (S.19) of one contact and whether the contact is open."""
    a = r[0] - rho * u[0]
    if a <= 0.0:
        return r, True
    x, y = r[1] - rho * u[1], r[2] - rho * u[2]
    T = (x * x + y * y) ** 0.5
    s = min(mu * a / T, 1.0) if T > 0.0 else 1.0
    return (rho * u[0], r[1] - s * x, r[2] - s * y), False


@inlined
def pieces(r, u, mu, rho):
    """Return (A, B), rows of 3: dF = A dr + B du for a contact that is not open (S.20)."""
    a = r[0] - rho * u[0]
    x, y = r[1] - rho * u[1], r[2] - rho * u[2]
    T, R = (x * x + y * y) ** 0.5, mu * a
    zero = (0.0, 0.0, 0.0)
    if T <= R:
        return (zero, zero, zero), ((rho, 0.0, 0.0), (0.0, rho, 0.0), (0.0, 0.0, rho))
    c, s = x / T, y / T
    G11, G12, G22 = R / T * s * s, -R / T * c * s, R / T * c * c
    A = (zero, (-mu * c, 1.0 - G11, -G12), (-mu * s, -G12, 1.0 - G22))
    B = (
        (rho, 0.0, 0.0),
        (mu * rho * c, rho * G11, rho * G12),
        (mu * rho * s, rho * G12, rho * G22),
    )
    return A, B


@part
def merit(r, u, step, fraction, mu):
    """Return |F|^2 after a fraction of the step from r, u."""
    total = 0.0
    for i in range(len(mu)):
        r_i = vec.axpy(fraction, fc3d.part(step.dr, i), fc3d.part(r, i))
        u_i = vec.axpy(fraction, fc3d.part(step.du, i), fc3d.part(u, i))
        F, _ = law(r_i, u_i, mu[i], step.rho[i])
        total += vec.dot(F, F)
    return total


@inlined
def fill_row(row, b, W, i, columns, m):
    """Set row := b^T W_ij for the first m contacts j of `columns`."""
    for c in range(m):
        for k in range(3):
            j = 3 * columns[c] + k
            row[3 * c + k] = b[0] * W[3 * i, j] + b[1] * W[3 * i + 1, j] + b[2] * W[3 * i + 2, j]


@part
def direction(problem, r, u, shift, step):
    """Set step.dr to the Newton step and step.du := W dr; inf or nan where the system is
    singular.
    """
    W, mu, closed, m = problem.W, problem.mu, step.closed, 0
    for i in range(len(mu)):
        F, is_open = law(fc3d.part(r, i), fc3d.part(u, i), mu[i], step.rho[i])
        fc3d.put(step.dr, i, (-F[0], -F[1], -F[2]) if is_open else (0.0, 0.0, 0.0))
        if not is_open:
            closed[m] = i
            m += 1
    J, b = step.J[: 3 * m, : 3 * m], step.b[: 3 * m]
    linear.multiply(W, step.dr, step.du)
    for row in range(m):
        i = closed[row]
        contact = fc3d.part(r, i), fc3d.part(u, i), mu[i], step.rho[i]
        (F, _), (A, B) = law(*contact), pieces(*contact)
        for k in range(3):
            fill_row(J[3 * row + k], B[k], W, i, closed, m)
            for j in range(3):
                J[3 * row + k, 3 * row + j] += A[k][j] + shift * B[k][j]
            b[3 * row + k] = -F[k] - vec.dot(B[k], fc3d.part(step.du, i))
    linear.solve_in_place(J, b)
    for row in range(m):
        fc3d.put(step.dr, closed[row], fc3d.part(b, row))
    linear.multiply(W, step.dr, step.du)


@part
def descend(problem, r, u, step, tolerance, max_iterations):
    """Take Newton steps from r, in place, and return (steps, residual); u (3n,) is work space and
    nothing is allocated. r ends as the best that was met.
    """
    W, mu, best = problem.W, problem.mu, step.best
    w, size = fc3d.scales(problem)
    for i in range(len(mu)):
        trace = vec.trace(fc3d.block(W, i))
        step.rho[i] = 3.0 / trace if trace > 0.0 else 1.0 / w
    fc3d.velocities(problem, r, u)
    least, steps = fc3d.error_at(r, u, mu, w, size), 0
    for k in range(len(r)):
        best[k] = r[k]
    while steps < max_iterations and least > tolerance:
        direction(problem, r, u, _SHIFT * w, step)
        steps += 1
        before, fraction = merit(r, u, step, 0.0, mu), 1.0
        for _ in range(_HALVINGS):
            if merit(r, u, step, fraction, mu) < before:
                break
            fraction *= 0.5
        for k in range(len(r)):
            r[k] += fraction * step.dr[k]
        fc3d.velocities(problem, r, u)
        residual = fc3d.error_at(r, u, mu, w, size)
        if not np.isfinite(residual):
            break
        if residual < least:
            least = residual
            for k in range(len(r)):
                best[k] = r[k]
    for k in range(len(r)):
        r[k] = best[k]
    return steps, least


@kernel
def iterate(problem, r, u, tolerance, max_iterations):
    """Take Newton steps from r, in place, and return (steps, residual); u (3n,) is work space. r
    ends as the best that was met.
    """
    n = len(problem.mu)
    step = NewtonStep(
        np.empty_like(r),
        np.empty_like(r),
        np.empty_like(r),
        np.empty_like(r),
        np.empty((3 * n, 3 * n)),
        np.empty(n),
        np.empty(n, np.int64),
    )
    return descend(problem, r, u, step, tolerance, max_iterations)


@kernel
def solve(problem, guess, options):
    """Return the Solution by Newton from `guess` (3n,)."""
    r = guess.copy()
    steps, _ = iterate(problem, r, np.empty_like(r), options.tolerance, options.max_iterations)
    return fc3d.finish(problem, r, steps, options.tolerance)
