"""Whether a few contacts with friction in space have impulses at all (doc/nonsmooth.md, S.10).

Each contact takes off, sticks, or slides in a sector of directions. A sector is halved until a
linear program proves, by its multipliers, that it holds no r with u = W r + q; where it gets too
narrow, nothing is proved. Where all cases are excluded no impulses obey the law.
"""

from itertools import pairwise
from typing import NamedTuple

import numpy as np
from scipy.optimize import linprog

from rbdyn_ros.numerics.solvers.fc3d import Problem
from rbdyn_ros.types import Array

LEAST = 1e-9  # of |q|: less is round-off, and proves nothing
TOLERANCE = 1e-10  # of the linear programs, the same
SECTORS, NARROWEST, CASES = 6, 1e-3, 2000  # at first, [rad], and the number at which a search ends
LARGEST = 1e6  # [|q| / mean of diag W]: impulses above it are refused


class Mode(NamedTuple):
    """What a contact does: it takes off, or it is closed and sticks or slides."""

    is_closed: bool
    start: float  # [rad] of the directions of its friction, equal to `stop` if it sticks
    stop: float


def is_without_impulses(problem: Problem) -> bool:
    """Return whether it is proved that no impulses obey the law of a problem of few contacts."""
    W, q, mu = problem
    size, scale = np.abs(q).max(), np.trace(W) / len(q)
    cases: list[tuple[Mode | None, ...]] = [(None,) * len(mu)]
    for _ in range(CASES):
        if not cases:
            return True
        case = cases.pop()
        if is_excluded(W / scale, q / size, mu, case):
            continue
        widths = [2.0 * np.pi if mode is None else mode.stop - mode.start for mode in case]
        k = int(np.argmax(widths))
        mode = case[k]
        if mode is None:
            edges = np.linspace(0.0, 2.0 * np.pi, SECTORS + 1) if mu[k] > 0.0 else []
            modes = [Mode(False, 0.0, 0.0), Mode(True, 0.0, 0.0)]
            modes += [Mode(True, a, b) for a, b in pairwise(edges)]
        elif widths[k] < NARROWEST:
            return False
        else:
            middle = 0.5 * (mode.start + mode.stop)
            modes = [Mode(True, mode.start, middle), Mode(True, middle, mode.stop)]
        cases += [(*case[:k], mode, *case[k + 1 :]) for mode in modes]
    return False


def is_excluded(W: Array, q: Array, mu: Array, case: tuple[Mode | None, ...]) -> bool:
    """Return whether no r leaves the contacts of u = W r + q in their modes, where None is any:
    the least t with A u >= -t, B r >= 0 is positive, and so is the bound by its multipliers.
    """
    A, B, most = [], [], np.full(len(q), LARGEST)
    for k, mode in enumerate(case):
        velocity, impulse = conditions(mode, mu[k])
        place = np.eye(len(q))[3 * k : 3 * k + 3]
        A.append(velocity @ place)
        B.append(impulse @ place)
        if mode is not None and not mode.is_closed:
            most[3 * k : 3 * k + 3] = 0.0
    A, B = np.vstack(A), np.vstack(B)
    rows = np.vstack([np.hstack([-A @ W, -np.ones((len(A), 1))]), np.hstack([-B, 0.0 * B[:, :1]])])
    limits = np.concatenate([A @ q, np.zeros(len(B))])
    low, high = np.append(-most, 0.0), np.append(most, 2.0)
    cost = np.append(np.zeros(len(q)), 1.0)
    options = {"primal_feasibility_tolerance": TOLERANCE, "dual_feasibility_tolerance": TOLERANCE}
    bounds = np.stack([low, high], axis=1)
    found = linprog(cost, rows, limits, bounds=bounds, method="highs-ds", options=options)
    if found.status != 0:
        return False
    y = np.maximum(-found.ineqlin.marginals, 0.0)
    rest = cost + rows.T @ y
    return np.minimum(rest * low, rest * high).sum() - y @ limits > LEAST


def conditions(mode: Mode | None, mu: float) -> tuple[Array, Array]:
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
