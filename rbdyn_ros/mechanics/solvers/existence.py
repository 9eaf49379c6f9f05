"""Whether contacts with friction can have impulses: verdicts whose proofs are checked
(doc/nonsmooth.md, S.22 to S.24).

    u = D v + b,  G v = g,  u_N >= 0
    JAMMED   no v obeys this: P >= 0 with D_N^T P + G^T nu = 0 and nu.g - P.b_N > 0   (Farkas)
    EXISTS   u_N > mu |u_T| for a v with G v = g: impulses exist   (Acary, Cadoux, Lemarechal,
             Malick 2011)
    SMOOTH   the same with mu = 0 only
    UNKNOWN  none of these was found
"""

from typing import Any, NamedTuple

import numpy as np

from rbdyn_ros.types import Array

JAMMED, EXISTS, SMOOTH, UNKNOWN = "jammed", "exists", "smooth", "unknown"
DIRECTIONS = 16  # edges of the pyramid around the cone mu |u_T|
FASTER = 1e3  # times the largest velocity in b, g: that which opens all contacts may be
LEAST = 1e-9  # of the largest velocity in b, g: less is round-off, and proves nothing
TOLERANCE = 1e-10  # of the linear programs, the same
EQUILIBRIUM = 1e-6  # of the largest multiplier: what a certificate may leave, columns scaled to 1
CARRIES = 1e-7  # of the largest multiplier: smaller ones carry nothing


class ExistenceProblem(NamedTuple):
    """n contacts of three rows each (normal, tangents), m velocities, j rows of joints."""

    D: Any  # (3n, m) of scipy.sparse, as G
    b: Array  # (3n,) [m/s] of u that no v changes: walls that move, less what u_N need not reach
    mu: Array  # (n,)
    G: Any  # (j, m)
    g: Array  # (j,)


class ExistenceVerdict(NamedTuple):
    """What is known, and its proof."""

    kind: str  # JAMMED, EXISTS, SMOOTH or UNKNOWN
    v: Array  # (m,) that opens all contacts; zero if there is none
    P: Array  # (n,) of the certificate, sum P + sum |nu| = 1; zero without one
    nu: Array  # (j,) of the joints
    rate: float  # [m/s] nu.g - P.b_N: at least one contact or joint is violated that fast
    rest: float  # sum of |D_N^T P + G^T nu|, columns scaled to 1


def decide(problem: ExistenceProblem, most: float) -> ExistenceVerdict:
    """Return the verdict for velocities, of contacts and joints, up to `most` [m/s]."""
    from scipy import sparse  # takes a quarter of a second to import

    D, b, mu, G, g = problem
    none = ExistenceVerdict(
        UNKNOWN, np.zeros(D.shape[1]), np.zeros(len(mu)), np.zeros(len(g)), 0.0, 0.0
    )
    if not np.isfinite(np.concatenate([D.data, b, G.data, g])).all():
        return none
    columns, all_rows = np.zeros(D.shape[1]), sparse.vstack([D, G]).tocoo()
    np.maximum.at(columns, all_rows.col, np.abs(all_rows.data))
    scale = sparse.diags(1.0 / np.where(columns > 0.0, columns, 1.0))
    problem = ExistenceProblem((D @ scale).tocsr(), b, mu, (G @ scale).tocsr(), g)
    size = max(np.abs(b[::3]).max(initial=0.0), np.abs(g).max(initial=0.0))
    if size > 0.0:
        for P, nu in _certificates(problem, size, most):
            rest = np.abs(problem.D[::3].T @ P + problem.G.T @ nu).sum()
            rate = nu @ g - P @ b[::3]
            if rest <= EQUILIBRIUM and rate > max(LEAST * size, most * rest):
                return none._replace(kind=JAMMED, P=P, nu=nu, rate=rate, rest=rest)
    for kind, friction in ((EXISTS, mu), (SMOOTH, 0.0 * mu)):
        unit = size or 1.0
        v = _open(problem._replace(mu=friction), unit, max(most, FASTER * size))
        u = (problem.D @ v + b).reshape(-1, 3)
        opening = u[:, 0] - friction * np.hypot(u[:, 1], u[:, 2])
        if opening.min(initial=np.inf) > LEAST * unit:
            return none._replace(kind=kind, v=scale @ v)
    return none


def _certificates(problem: ExistenceProblem, size: float, most: float):
    """Yield (P, nu) from the multipliers of the least violation t: D_N v + b_N >= -t,
    |G v - g| <= t; first those in equilibrium to round-off.
    """
    from scipy import sparse

    D, b, _, G, g = problem
    rows = sparse.vstack([-D[::3], G, -G])
    rows = sparse.hstack([rows, -np.ones((rows.shape[0], 1))])
    n, j = len(b) // 3, len(g)
    bounds = [(-most / size, most / size)] * D.shape[1] + [(0.0, None)]
    found = _program(D.shape[1], rows, np.concatenate([b[::3], g, -g]) / size, bounds)
    if found is None:
        return
    y = -found.ineqlin.marginals
    raw = np.concatenate([y[:n], y[n + j :] - y[n : n + j]])
    carries = np.abs(raw) > CARRIES * np.abs(raw).max()
    A = sparse.vstack([D[::3], G]).T.tocsc()[:, carries].toarray()
    balanced = np.zeros_like(raw)
    balanced[carries] = raw[carries] - np.linalg.lstsq(A, A @ raw[carries], rcond=1e-12)[0]
    for x in (balanced, raw):
        x[:n] = np.maximum(x[:n], 0.0)
        total = np.abs(x).sum()
        if total > 0.0:
            yield x[:n] / total, x[n:] / total


def _open(problem: ExistenceProblem, size: float, most: float) -> Array:
    """Return a v with G v = g whose contacts open, u_N - mu |u_T| as large as possible up to
    `size` in a pyramid inside of the cone; zero without one.
    """
    from scipy import sparse

    D, b, mu, G, g = problem
    angles = 2.0 * np.pi * np.arange(DIRECTIONS) / DIRECTIONS
    outside = 1.0 / np.cos(np.pi / DIRECTIONS)
    rows, limits = [], []
    for angle in angles:
        for x, rows_of in ((D, rows), (b, limits)):
            across = np.cos(angle) * x[1::3] + np.sin(angle) * x[2::3]
            slid = sparse.diags(outside * mu) @ across
            rows_of.append(slid - x[::3])
    made = sparse.vstack(rows)
    made = sparse.hstack([made, np.ones((made.shape[0], 1))])
    bounds = [(-most / size, most / size)] * D.shape[1] + [(0.0, 1.0)]
    equal = sparse.hstack([G, np.zeros((len(g), 1))]), g / size
    found = _program(D.shape[1], made, -np.concatenate(limits) / size, bounds, equal, -1.0)
    if found is None:
        return np.zeros(D.shape[1])
    v = size * found.x[:-1]
    if len(g):
        v -= np.linalg.lstsq(G.toarray(), G @ v - g, rcond=None)[0]
    return v


def _program(m: int, rows, limits, bounds, equal=(None, None), cost=1.0):
    """Return the solution of the least cost t under rows (v, t) <= limits; None without one."""
    from scipy.optimize import linprog  # takes a while to import

    c = np.zeros(m + 1)
    c[-1] = cost
    options = dict.fromkeys(
        ("primal_feasibility_tolerance", "dual_feasibility_tolerance"), TOLERANCE
    )
    A, b = equal
    found = linprog(c, rows, limits, A, b, bounds, method="highs-ds", options=options)
    return found if found.status == 0 else None
