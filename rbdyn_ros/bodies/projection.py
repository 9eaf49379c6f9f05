"""Projection of a model's places on its joints and out of overlaps, with |Q| = 1 kept.

Least in the bodies' kinetic metric, q = q_0 (+) w with

    0 = C(q_0) + A w,     0 <= g_N(q_0) + D_N w  _|_  P >= 0,     M w = A^T nu + D_N^T P     (N.18)

repeated with new gradients until |C| and the overlaps are below the tolerance. w is a displacement
along the bodies' velocities and (+) the exponential: every C is evaluated at quaternions of norm
1, which is the row |Q| - 1 of the notes. Normalized once afterwards, they would leave the joints
again. Source: the Siconos developer's notes, chapter 11.
"""

from typing import NamedTuple

import numpy as np

from rbdyn_ros.bodies import accelerations
from rbdyn_ros.bodies import columns as c
from rbdyn_ros.bodies import model as models
from rbdyn_ros.bodies.arena import Arena
from rbdyn_ros.bodies.description import contact_pairs
from rbdyn_ros.geometry import quaternion
from rbdyn_ros.numerics.solvers import lcp, lcp_lemke
from rbdyn_ros.types import Array

NO_PAIR = np.empty(0, np.int64)


class Projected(NamedTuple):
    """The result of a projection; when `ok` is false, the last iterate."""

    q: Array  # (n, 7)
    iterations: int
    residual: float  # largest violation, in the units of the rows
    ok: bool


def project(model: models.Model, tolerance: float = 1e-12, max_iterations: int = 20) -> Projected:
    """Move the model to the nearest places where its joints are closed and nothing overlaps; when
    there are none within `max_iterations`, it stays. Velocities do not change, open contacts stay
    open.
    """
    before, q = models.places(model), models.places(model)
    found = Projected(q, 0, np.inf, False)
    for iteration in range(max_iterations + 1):
        gaps = contact_pairs.gaps(model.pairs, q)
        chosen = np.flatnonzero(gaps < 0.0)
        at = _at(memory_of(model), q, chosen)
        residual = max(at.opening, -gaps.min(initial=0.0))
        found = Projected(q, iteration, float(residual), bool(residual <= tolerance))
        if found.ok or iteration == max_iterations:
            break
        w = at.closing
        if len(chosen):
            G, u = at.G[::3, ::3], at.gap + at.closing_gap
            solved = lcp_lemke.solve(lcp.problem(G, u), np.zeros(len(u)), lcp_lemke.DEFAULTS)
            if not solved.ok:
                break
            w = w + solved.z @ at.carried[::3]
        q = move(q, w)
    if found.ok:
        _place(model, before, found.q)
    return found


def close_joints(
    memory: Arena, q: Array, v: Array, tolerance: float = 1e-14
) -> tuple[Array, Array]:
    """Return (q (n, 7), v (n, 6)) with the joints of the arena closed and obeyed. The arena is
    left there.
    """
    for _ in range(5):
        q = move(q, np.zeros(v.size))
        at = _at(memory, q, NO_PAIR, v)
        if at.opening <= tolerance:
            break
        q = move(q, at.closing)
    return q, at.v.reshape(-1, 6)


def memory_of(model: models.Model) -> Arena:
    """Return a copy of the model's arena."""
    return Arena(model.arena.f.copy(), model.arena.z.copy())


def move(q: Array, w: Array) -> Array:
    """Return q (+) w = (x + w_x, Q o exp(w_Q)), the rotation vector w_Q in body axes, |Q| = 1."""
    w = w.reshape(-1, 6)
    Q = quaternion.product(q[:, 3:], quaternion.exp(w[:, 3:]))
    return np.hstack([q[:, :3] + w[:, :3], quaternion.normalize(Q)])


def _at(memory: Arena, q: Array, chosen: Array, v: Array | None = None):
    """Return the `Accelerations` at q and v, by default 0, without a load."""
    still = np.zeros((len(q), 6))
    return accelerations.evaluate(memory, q, still if v is None else v, still, chosen)


def _place(model: models.Model, before: Array, q: Array) -> None:
    """Set the places of the model's bodies to q; the next step looks at its contacts again."""
    rows, contacts = models.part(model, "bodies"), models.part(model, "pairs")
    rows[:, c.X : c.X + 3], rows[:, c.Q : c.Q + 4] = q[:, :3], q[:, 3:]
    rows[:, c.R : c.R + 9] = quaternion.to_matrix(q[:, 3:]).reshape(-1, 9)
    way = np.linalg.norm(q[:, :3] - before[:, :3], axis=1)
    turned = 4.0 * np.linalg.norm(q[:, 3:] - before[:, 3:], axis=1)
    rows[:, c.WAY] += way + turned * rows[:, c.REACH]
    contacts["up_to_date"] = 0.0
    models.part(model, "clock")[c.STARTED] = 0.0
