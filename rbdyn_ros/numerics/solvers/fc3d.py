"""Contacts with Coulomb friction in space: the problem and its error (doc/nonsmooth.md, S.10 to
S.14).

n contacts, each with a frame (normal, tangent, tangent); impulses r and relative velocities u
(3n,):

    u = W r + q,    K_mu  in  r_i  _|_  u_i + mu_i |u_iT| e_N  in  K_mu*                     (S.10)

K_mu = {|r_T| <= mu r_N} is Coulomb's cone, K_mu* = {mu |u_T| <= u_N} its dual. Newton's
restitution enters by q_N := q_N + e u_N^-. This is the form of de Saxce, unscaled: exactly
Signorini and Coulomb, mu = 0 allowed.
"""

from typing import NamedTuple

import numpy as np

from rbdyn_ros.geometry import vec
from rbdyn_ros.kernel import hot, inlined, kernel
from rbdyn_ros.numerics import arguments, linear
from rbdyn_ros.numerics.solvers.solution import SINGULAR, STALLED, assess
from rbdyn_ros.types import Array

CONSERVED = 1e-12  # of the energies that an impact exchanges: what round-off may gain
HALVINGS = 30  # of the share of the restitution
_CLOSE = 1e-9  # shares that differ by less are one
_ROUND_OFF = 2.3e-16  # relative
SETTLING = 6  # steps of `settle`


class Problem(NamedTuple):
    """n contacts as matrices, made by `problem`, which checks them."""

    W: Array  # (3n, 3n) Delassus matrix [1/kg]
    q: Array  # (3n,) velocity without contact impulses [m/s]
    mu: Array  # (n,) friction coefficients [-]


def problem(W, q, mu) -> Problem:
    """Return the problem of W (3n, 3n), q (3n,), mu (n,) or one number for all. Raise ValueError
    naming what does not fit.
    """
    W = arguments.square(W, "W", block=3)
    return Problem(
        W, arguments.vector(q, "q", len(W)), arguments.coefficients(mu, "mu", len(W) // 3)
    )


@inlined
def part(a, i):
    """Return a_i, the three entries of contact i."""
    return vec.three(a, 3 * i)


@inlined
def put(a, i, value):
    """Set a_i := value."""
    a[3 * i], a[3 * i + 1], a[3 * i + 2] = value


@inlined
def block(W, i):
    """Return W_ii, the rows of contact i's own 3x3 block."""
    k = 3 * i
    return (
        (W[k, k], W[k, k + 1], W[k, k + 2]),
        (W[k + 1, k], W[k + 1, k + 1], W[k + 1, k + 2]),
        (W[k + 2, k], W[k + 2, k + 1], W[k + 2, k + 2]),
    )


@inlined
def tangential(x):
    """Return |x_T|."""
    return (x[1] * x[1] + x[2] * x[2]) ** 0.5


@inlined
def project(x, mu):
    """Return the point of K_mu nearest to x.

    It is x inside K_mu, 0 inside the polar cone mu |x_T| <= -x_N, else (t, mu t x_T/|x_T|), t =
    (x_N + mu |x_T|)/(1 + mu^2).
    """
    T = tangential(x)
    if T <= mu * x[0]:
        return x
    if mu * T <= -x[0]:
        return (0.0, 0.0, 0.0)
    t = (x[0] + mu * T) / (1.0 + mu * mu)
    s = mu * t / T
    return (t, s * x[1], s * x[2])


@inlined
def projection_gradient(x, mu):
    """Return the symmetric gradient of the projection of x on K_mu."""
    T = tangential(x)
    if T <= mu * x[0]:
        return (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)
    if mu * T <= -x[0]:
        return (0.0, 0.0, 0.0), (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
    i = 1.0 / (1.0 + mu * mu)
    cosine, sine = x[1] / T, x[2] / T
    across, along = mu * i * (x[0] + mu * T) / T, mu * mu * i
    return (
        (i, mu * i * cosine, mu * i * sine),
        (
            mu * i * cosine,
            along * cosine * cosine + across * sine * sine,
            (along - across) * cosine * sine,
        ),
        (
            mu * i * sine,
            (along - across) * cosine * sine,
            along * sine * sine + across * cosine * cosine,
        ),
    )


@inlined
def natural(r, u, mu, w):
    """Return w (r - proj_K(r - (u + mu |u_T| e_N)/w)), zero exactly at a solution; w [1/kg] makes
    it a velocity.
    """
    lifted = (u[0] + mu * tangential(u), u[1], u[2])
    return vec.scale(w, vec.sub(r, project(vec.axpy(-1.0 / w, lifted, r), mu)))


@inlined
def settle(r, u, W, mu, w):
    """Return the impulse after SETTLING steps r := proj_K(r - (u + mu |u_T| e_N)/w) of a contact
    with the matrix W, whose velocity at r is u; w [1/kg] its trace. Sweeps of such steps may end
    where those of the exact law go round in circles.
    """
    for _ in range(SETTLING if w > 0.0 else 0):
        change = vec.scale(-1.0 / w, natural(r, u, mu, w))
        r, u = vec.add(r, change), vec.add(u, vec.matvec(W, change))
    return r


@inlined
def narrow(low, high, share, full, refused):
    """Return (low, high, next share, whether `share` is the answer) in the search for the largest
    share of the restitution, at most `full`, with which no energy is gained. `refused`: `share`
    gains energy, or has no impulses.
    """
    low, high = (low, share) if refused else (share, high)
    return low, high, 0.5 * (low + high), not refused and (share == full or high - low <= _CLOSE)


@hot
def scales(problem):
    """Return (w, size): mean of W's diagonal, |q|; 1 in place of what is not positive."""
    W, q = problem.W, problem.q
    w, square = 0.0, 0.0
    for k in range(len(q)):
        w += W[k, k]
        square += q[k] * q[k]
    w /= max(len(q), 1)
    return (w if w > 0.0 else 1.0), (square**0.5 if square > 0.0 else 1.0)


@hot
def error_at(r, u, mu, w, size):
    """Return |natural| / size for impulses r and the velocities u = W r + q that go with them,
    with the round-off of r: beside impulses of 1e16 |q|/w any velocity would count as none.
    """
    square, impulses = 0.0, 0.0
    for i in range(len(mu)):
        e = natural(part(r, i), part(u, i), mu[i], w)
        square += vec.dot(e, e)
        impulses += vec.dot(part(r, i), part(r, i))
    return (square**0.5 + _ROUND_OFF * w * impulses**0.5) / size


@hot
def velocities(problem, r, u):
    """Set u := W r + q."""
    linear.multiply(problem.W, r, u)
    for k in range(len(u)):
        u[k] += problem.q[k]


@kernel
def error(problem, r):
    """Return how far r (3n,) is from solving the problem: natural map over |q| [-] (S.14), with
    the round-off of r.
    """
    u = np.empty_like(problem.q)
    velocities(problem, r, u)
    w, size = scales(problem)
    return error_at(r, u, problem.mu, w, size)


@kernel
def finish(problem, r, iterations, tolerance):
    """Return the Solution for r with its true residual, and with the reason where that exceeds the
    tolerance.
    """
    residual, failure = error(problem, r), STALLED
    if tolerance < residual < np.inf and np.linalg.matrix_rank(problem.W) < len(r):
        failure = SINGULAR
    return assess(r, residual, iterations, tolerance, failure)
