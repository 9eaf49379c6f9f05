"""The one-step problem: impulses P with u = G P + u_free that obey their laws; equalities
eliminated first.

    G_EE P_E = -(u_E + G_EU P_U),     G' = G_UU - G_UE G_EE^+ G_EU,
    u' = u_U - G_UE G_EE^+ u_E                                                               (N.14)

What remains is a linear complementarity problem, or with friction a friction problem, in which a
contact without friction has mu = 0 and a missing tangent is a row of its own that nothing couples.
"""

import numpy as np

from rbdyn_ros.network.laws import WITH_TANGENTS, Equality, Law
from rbdyn_ros.numerics.solvers import fc3d, fc3d_hybrid, lcp, lcp_lemke
from rbdyn_ros.numerics.solvers.solution import NOT_FINITE, SINGULAR, SOLVED, Solution
from rbdyn_ros.types import Array

TOLERANCE = 1e-11  # of the complementarity and friction problems, on their relative error
_CONSISTENT = 1e-9  # how far redundant equalities may contradict each other, relative


def solve(G: Array, u_free: Array, closed: list[tuple[int, Law]]) -> Solution:
    """Return the Solution P (m,) for G (m, m), u_free (m,) and closed = [(rows, law), ...] in
    their order.

    u_free holds the restitution, u_N + e u_N^-. Not ok: redundant equalities that contradict each
    other (SINGULAR), numbers that are not finite (NOT_FINITE), or the inner solver's own status;
    the residual is relative to the largest |u_free|.
    """
    if not (np.isfinite(G).all() and np.isfinite(u_free).all()):
        return Solution(np.zeros(len(u_free)), NOT_FINITE, float("nan"), 0, False)
    equal = _are_equalities(closed)
    E, U = np.flatnonzero(equal), np.flatnonzero(~equal)
    P, scale = np.zeros(len(u_free)), max(np.abs(u_free).max(initial=0.0), np.finfo(float).tiny)
    pinv = np.linalg.pinv(G[np.ix_(E, E)], rcond=1e-12)
    rest = pinv @ np.column_stack([G[np.ix_(E, U)], u_free[E]])
    reduced = G[np.ix_(U, U)] - G[np.ix_(U, E)] @ rest[:, :-1]
    inner = unilateral(
        reduced,
        u_free[U] - G[np.ix_(U, E)] @ rest[:, -1],
        [c for c in closed if not isinstance(c[1], Equality)],
    )
    P[U] = inner.z
    P[E] = -rest @ np.append(inner.z, 1.0)
    contradiction = float(np.abs((G @ P + u_free)[E]).max(initial=0.0)) / scale
    if not contradiction <= _CONSISTENT:
        return Solution(P, SINGULAR, contradiction, inner.iterations, False)
    return Solution(
        P, inner.status, max(inner.residual, contradiction), inner.iterations, inner.ok
    )


def unilateral(G: Array, u: Array, closed: list[tuple[int, Law]]) -> Solution:
    """Return what `solve` does for a problem without equalities: by Lemke's method, or where a law
    has tangents by the hybrid friction solver.
    """
    if not len(u):
        return Solution(np.empty(0), SOLVED, 0.0, 0, True)
    if not any(isinstance(law, WITH_TANGENTS) for _, law in closed):
        return lcp_lemke.solve(
            lcp.problem(G, u), np.zeros(len(u)), lcp_lemke.DEFAULTS._replace(tolerance=TOLERANCE)
        )
    at, mu = embed(closed)
    W, q = np.eye(3 * len(mu)) * (np.trace(G) / len(G)), np.zeros(3 * len(mu))
    W[np.ix_(at, at)], q[at] = G, u
    found = fc3d_hybrid.solve(
        fc3d.problem(W, q, mu),
        np.zeros(len(q)),
        fc3d_hybrid.DEFAULTS._replace(tolerance=TOLERANCE),
    )
    return found._replace(z=found.z[at])


def embed(closed: list[tuple[int, Law]]) -> tuple[Array, Array]:
    """Return (at, mu): the place of each row among three rows for each contact, and the contacts'
    friction.
    """
    at, mu = [], []
    for n, law in closed:
        for size in [n] if isinstance(law, WITH_TANGENTS) else [1] * n:
            at += [3 * len(mu) + k for k in range(size)]
            mu.append(law.friction)
    return np.array(at), np.array(mu)


def violation(y: Array, multiplier: Array, laws: list[tuple[int, Law]]) -> float:
    """Return how far (y, lambda) is from Equality and Complementarity: max |y|, |min(y, lambda)|,
    relative to those above 1.
    """
    wrong = np.where(_are_equalities(laws), y, np.minimum(y, multiplier))
    size = max(1.0, np.abs(y).max(initial=0.0), np.abs(multiplier).max(initial=0.0))
    return float(np.abs(wrong).max(initial=0.0) / size)


def _are_equalities(laws: list[tuple[int, Law]]) -> Array:
    """Return whether each row is one of an equality (m,)."""
    return np.array([isinstance(law, Equality) for n, law in laws for _ in range(n)], bool)
