"""Friction by a semismooth Newton on the function of Alart and Curnier, with a line search.

    F_N = r_N - max(0, a),   F_T = r_T - proj_D(r_T - rho u_T),
    a = r_N - rho u_N,  D = disc of radius mu max(0, a)  (S.19)

F = 0 is the friction law, rho > 0 any. Of its pieces (S.20) the Jacobian is that of the one that
holds: open a <= 0, sticking, sliding. Open contacts drop out of the linear system; W is shifted a
little there, so that redundant contacts leave it regular. Source: Alart, Curnier, Comput. Methods
Appl. Mech. Eng. 92 (1991) 353.
"""

import numpy as np

from rbdyn_ros.geometry import vec
from rbdyn_ros.kernel import inlined, kernel
from rbdyn_ros.mechanics.solvers import fc3d
from rbdyn_ros.mechanics.solvers.solution import Options
from rbdyn_ros.numerics import linear

DEFAULTS = Options(tolerance=1e-8, max_iterations=100)

_SHIFT = 1e-10  # of W's mean diagonal
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


@kernel
def merit(r, u, mu, rho):
    """Return |F|^2."""
    total = 0.0
    for i in range(len(mu)):
        F, _ = law(fc3d.part(r, i), fc3d.part(u, i), mu[i], rho[i])
        total += F[0] * F[0] + F[1] * F[1] + F[2] * F[2]
    return total


@kernel
def fill_row(row, b, W, i, columns):
    """Set row := b^T W_ij for the contacts j of `columns`."""
    for c in range(len(columns)):
        for k in range(3):
            j = 3 * columns[c] + k
            row[3 * c + k] = b[0] * W[3 * i, j] + b[1] * W[3 * i + 1, j] + b[2] * W[3 * i + 2, j]


@kernel
def direction(problem, r, u, rho, shift, dr):
    """Set dr := the Newton step; inf or nan where the system is singular."""
    W, mu, n = problem.W, problem.mu, len(problem.mu)
    closed, m = np.empty(n, np.int64), 0
    for i in range(n):
        F, is_open = law(fc3d.part(r, i), fc3d.part(u, i), mu[i], rho[i])
        fc3d.put(dr, i, (-F[0], -F[1], -F[2]) if is_open else (0.0, 0.0, 0.0))
        if not is_open:
            closed[m] = i
            m += 1
    J, b, du = np.empty((3 * m, 3 * m)), np.empty(3 * m), np.empty_like(r)
    linear.multiply(W, dr, du)
    for row in range(m):
        i = closed[row]
        contact = fc3d.part(r, i), fc3d.part(u, i), mu[i], rho[i]
        (F, _), (A, B) = law(*contact), pieces(*contact)
        for k in range(3):
            fill_row(J[3 * row + k], B[k], W, i, closed[:m])
            for j in range(3):
                J[3 * row + k, 3 * row + j] += A[k][j] + shift * B[k][j]
            b[3 * row + k] = -F[k] - vec.dot(B[k], fc3d.part(du, i))
    linear.solve_in_place(J, b)
    for row in range(m):
        fc3d.put(dr, closed[row], fc3d.part(b, row))


@kernel
def iterate(problem, r, u, tolerance, max_iterations):
    """Take Newton steps from r, in place, and return (steps, residual); u (3n,) is work space. r
    ends as the best that was met.
    """
    W, mu = problem.W, problem.mu
    w, size = fc3d.scales(problem)
    rho = np.empty(len(mu))
    for i in range(len(mu)):
        trace = vec.trace(fc3d.block(W, i))
        rho[i] = 3.0 / trace if trace > 0.0 else 1.0 / w
    fc3d.velocities(problem, r, u)
    best, least = r.copy(), fc3d.error_at(r, u, mu, w, size)
    x, dr, du = r.copy(), np.empty_like(r), np.empty_like(r)
    steps = 0
    while steps < max_iterations and least > tolerance:
        direction(problem, x, u, rho, _SHIFT * w, dr)
        steps += 1
        linear.multiply(W, dr, du)
        before, fraction = merit(x, u, mu, rho), 1.0
        for _ in range(_HALVINGS):
            if merit(x + fraction * dr, u + fraction * du, mu, rho) < before:
                break
            fraction *= 0.5
        x += fraction * dr
        fc3d.velocities(problem, x, u)
        residual = fc3d.error_at(x, u, mu, w, size)
        if not np.isfinite(residual):
            break
        if residual < least:
            best[:], least = x, residual
    r[:] = best
    return steps, least


@kernel
def solve(problem, guess, options):
    """Return the Solution by Newton from `guess` (3n,)."""
    r = guess.copy()
    steps, _ = iterate(problem, r, np.empty_like(r), options.tolerance, options.max_iterations)
    return fc3d.finish(problem, r, steps, options.tolerance)
