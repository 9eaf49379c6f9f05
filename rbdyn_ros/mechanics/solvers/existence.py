"""Whether contacts with friction can have impulses: verdicts whose proofs are checked
(doc/nonsmooth.md, S.22 to S.25).

    u = D v + b,  G v = g,  u_N >= 0
    JAMMED   no v obeys this: P >= 0 with D_N^T P + G^T nu = 0 and nu.g - P.b_N > 0   (Farkas)
    EXISTS   u_N > mu |u_T| for a v with G v = g: impulses exist   (Acary, Cadoux, Lemarechal,
             Malick 2011)
    LOCKED   no take-off, sticking and direction of sliding obeys the law of u = W r + q
    SMOOTH   impulses exist with mu = 0
    UNKNOWN  none of these was found
"""

from collections.abc import Iterable
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from rbdyn_ros.types import Array

JAMMED, EXISTS, LOCKED, SMOOTH, UNKNOWN = "jammed", "exists", "locked", "smooth", "unknown"
DIRECTIONS = 16  # edges of the pyramid around the cone mu |u_T|
FASTER = 1e3  # times the largest velocity in b, g: that which opens all contacts may be
LEAST = 1e-9  # of the largest velocity in b, g: less is round-off, and proves nothing
TOLERANCE = 1e-10  # of the linear programs, the same
EQUILIBRIUM = 1e-6  # of the largest multiplier: what a certificate may leave, columns scaled to 1
CARRIES = 1e-7  # of the largest multiplier: smaller ones carry nothing
# of sliding directions, at first; the width [rad] and the number of cases at which a search ends
SECTORS, NARROWEST, CASES = 6, 1e-3, 500
FEW = 4  # contacts: more have too many cases
LARGEST = 1e6  # [|q| / mean of diag W]: impulses above it are refused


class ExistenceProblem(NamedTuple):
    """n contacts of three rows each (normal, tangents), m velocities, j rows of joints."""

    D: Any  # (3n, m) of scipy.sparse, as G
    b: Array  # (3n,) [m/s] of u that no v changes: walls that move, less what u_N need not reach
    mu: Array  # (n,)
    G: Any  # (j, m)
    g: Array  # (j,)


class ExistenceVerdict(NamedTuple):
    """What is known, and its proof."""

    kind: str  # JAMMED, EXISTS, LOCKED, SMOOTH or UNKNOWN
    v: Array  # (m,) that opens all contacts; zero if there is none
    P: Array  # (n,) of the certificate, sum P + sum |nu| = 1; zero without one
    nu: Array  # (j,) of the joints
    rate: float  # [m/s] nu.g - P.b_N: at least one contact or joint is violated that fast
    rest: float  # sum of |D_N^T P + G^T nu|, columns scaled to 1


def decide(
    problem: ExistenceProblem, most: float, W: Array | None = None, q: Array | None = None
) -> ExistenceVerdict:
    """Return the verdict for velocities, of contacts and joints, up to `most` [m/s]; LOCKED is
    found if the Delassus matrix W and q are given.
    """
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
        if kind == SMOOTH and W is not None and q is not None and is_locked(W, q, mu):
            return none._replace(kind=LOCKED)
        unit = size or 1.0
        v = _open(problem._replace(mu=friction), unit, max(most, FASTER * size))
        if v is None:
            continue
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


def _open(problem: ExistenceProblem, size: float, most: float) -> Array | None:
    """Return a v with G v = g whose contacts open, u_N - mu |u_T| as large as possible up to
    `size` in a pyramid inside of the cone; None without one.
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
        return None
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


def join_names(names: Iterable[str]) -> str:
    """Return different names as "a, b and c"."""
    *others, last = dict.fromkeys(names)
    return f"{', '.join(others)} and {last}" if others else last


def describe_lock(names: Iterable[str]) -> str:
    """Return the sentence, without its full stop, of contacts that are LOCKED."""
    return (
        f"no impulse exists: friction locks {join_names(names)} (certificate: no take-off, "
        "sticking or direction of sliding obeys the law)"
    )


def is_locked(W: Array, q: Array, mu: Array) -> bool:
    """Return whether no impulses r obey the law of n contacts, u = W r + q (S.25).

    Each contact takes off, sticks, or slides in a sector of directions, which is halved until a
    linear program proves that it holds no r; where it gets too narrow, nothing is proved.
    """
    size, scale = np.abs(q).max(initial=0.0), np.trace(W) / max(len(q), 1)
    if len(mu) > FEW or not (np.isfinite(W).all() and np.isfinite(q).all()):
        return False
    if not (size > 0.0 and scale > 0.0):
        return False
    cases: list[tuple[_Mode | None, ...]] = [(None,) * len(mu)]
    for _ in range(CASES):
        if not cases:
            return True
        case = cases.pop()
        if _is_excluded(W / scale, q / size, mu, case):
            continue
        widths = [2.0 * np.pi if mode is None else mode.stop - mode.start for mode in case]
        k = int(np.argmax(widths))
        mode = case[k]
        if mode is None:
            edges = np.linspace(0.0, 2.0 * np.pi, SECTORS + 1) if mu[k] > 0.0 else []
            modes = [_Mode(False, 0.0, 0.0), _Mode(True, 0.0, 0.0)]
            modes += [_Mode(True, a, b) for a, b in pairwise(edges)]
        elif widths[k] < NARROWEST:
            return False
        else:
            middle = 0.5 * (mode.start + mode.stop)
            modes = [_Mode(True, mode.start, middle), _Mode(True, middle, mode.stop)]
        cases += [(*case[:k], mode, *case[k + 1 :]) for mode in modes]
    return False


class _Mode(NamedTuple):
    """What a contact does: it takes off, or it is closed and sticks or slides."""

    is_closed: bool
    start: float  # [rad] of the directions of its friction, equal to `stop` if it sticks
    stop: float


def _is_excluded(W: Array, q: Array, mu: Array, case: tuple[_Mode | None, ...]) -> bool:
    """Return whether no r leaves the contacts of u = W r + q in their modes, where None is any:
    the least t with A u >= -t, B r >= 0 is positive, and so is the bound by its multipliers.
    """
    A, B, most = [], [], np.full(len(q), LARGEST)
    for k, mode in enumerate(case):
        velocity, impulse = _conditions(mode, mu[k])
        place = np.eye(len(q))[3 * k : 3 * k + 3]
        A.append(velocity @ place)
        B.append(impulse @ place)
        if mode is not None and not mode.is_closed:
            most[3 * k : 3 * k + 3] = 0.0
    A, B = np.vstack(A), np.vstack(B)
    rows = np.vstack([np.hstack([-A @ W, -np.ones((len(A), 1))]), np.hstack([-B, 0.0 * B[:, :1]])])
    limits = np.concatenate([A @ q, np.zeros(len(B))])
    low, high = np.append(-most, 0.0), np.append(most, 2.0)
    found = _program(len(q), rows, limits, np.stack([low, high], axis=1))
    if found is None:
        return False
    y = np.maximum(-found.ineqlin.marginals, 0.0)
    rest = np.append(np.zeros(len(q)), 1.0) + rows.T @ y
    return np.minimum(rest * low, rest * high).sum() - y @ limits > LEAST


def _conditions(mode: _Mode | None, mu: float) -> tuple[Array, Array]:
    """Return (A, B) of a contact in a mode: A u >= 0 for its velocity, B r >= 0 for its impulse,
    in cones that hold those of the law.
    """
    normal = np.array([[1.0, 0.0, 0.0]])
    if mode is None or mode.start == mode.stop:
        angles = np.linspace(0.0, 2.0 * np.pi, SECTORS + 1)[:-1]
        cone = np.stack([mu + 0.0 * angles, -np.cos(angles), -np.sin(angles)], axis=1)
        if mode is None or not mode.is_closed:
            return normal, cone
        held = np.eye(3) if mu > 0.0 else normal
        return np.vstack([held, -held]), cone
    angles = np.array([mode.start, 0.5 * (mode.start + mode.stop), mode.stop])
    tangents = np.stack([mu + 0.0 * angles, -np.cos(angles), -np.sin(angles)], axis=1)
    (c_0, c, c_1), (s_0, s, s_1) = np.cos(angles), np.sin(angles)
    sector = np.array([[0.0, -s_0, c_0], [0.0, s_1, -c_1]])
    chord = np.array([[-mu * np.cos(angles[1] - angles[0]), c, s]])
    return np.vstack([normal, -normal, -sector]), np.vstack([tangents, sector, chord])
