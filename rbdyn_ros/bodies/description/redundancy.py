"""The independent rows of a mechanism, the rows that repeat them, and rows that contradict them.

A row is redundant where its row of J is a combination of those before it, at the start and at the
configurations near it that the joints allow: a mechanism that is stretched at the start only keeps
all its rows.
"""

from typing import NamedTuple

import numpy as np

from rbdyn_ros.bodies.description import jacobian, multipliers
from rbdyn_ros.bodies.description.joint_kinds import Constraints
from rbdyn_ros.bodies.description.rigid_bodies import Bodies
from rbdyn_ros.bodies.description.rows import WORLD
from rbdyn_ros.geometry import floating_base
from rbdyn_ros.types import Array

TOLERANCE = 1e-8  # of a row's length: what round-off leaves of a combination
MET = 1e-9  # [m] or [-]: a constraint that counts as met
STILL = 1e-9  # [m/s] or [rad/s] over the largest velocity: a rate of a row that counts as none
NEARBY = 0.1  # [m] or [rad] to the configurations that are checked, too


class Redundancy(NamedTuple):
    """The independent rows, and the names of the redundant ones."""

    kept: tuple  # indices of independent rows, the first ones preferred
    dropped: tuple  # names of the rows that repeat them


def least_squares(A: Array, b: Array) -> Array:
    """Return the shortest x with the least |A x - b|; singular values up to TOLERANCE are 0. Raise
    ValueError where numbers are not finite, on which LAPACK would print its own message.
    """
    if not (np.isfinite(A).all() and np.isfinite(b).all()):
        raise ValueError(
            "the equations of the joints are not finite: masses, sizes, places or velocities are "
            "too large, or too far apart, for numbers"
        )
    return np.linalg.lstsq(A, b, rcond=TOLERANCE)[0]


def close(constraints: Constraints, q: Array, free: Array | float = 1.0) -> Array:
    """Return the configuration (n, 7) nearest to q that meets all rows, by Gauss-Newton. Raise
    ValueError naming the rows that cannot be met.

    free (6n,) is 0 where a body is held.
    """
    q = np.array(q, dtype=float)
    for _ in range(20):
        C = jacobian.values(constraints.rows, q)
        if np.abs(C).max(initial=0.0) <= 1e-14:
            return q
        e = least_squares(jacobian.jacobian(constraints.rows, q) * free, -C)
        q = floating_base.boxplus(q, e.reshape(len(q), 6))
    require_met(
        constraints,
        q,
        "no configuration near the start meets it together with the other rows; the joints "
        "contradict each other",
    )
    return q


def closed_velocity(constraints: Constraints, bodies: Bodies, q: Array, v: Array) -> Array:
    """Return the velocities (n, 6) nearest to v, by their kinetic energy, that keep all rows met
    at q:

        v + M^-1 J^T P,   J M^-1 J^T P = -J v

    P are the impulses with which the joints would act at once; none where a body is held. Raise
    ValueError naming the row that held bodies would open all the same.
    """
    J = jacobian.jacobian(constraints.rows, q)
    K = J * multipliers.inverse_mass(bodies)
    P = least_squares(K @ J.T, -J @ v.reshape(-1))
    v = v + (K.T @ P).reshape(v.shape)
    rule = "the velocities of held bodies contradict the joints; change these, or release a body"
    require_still(constraints, q, v, rule)
    return v


def require_met(
    constraints: Constraints,
    q: Array,
    advice: str = "start where the joints are closed, or close them first",
) -> None:
    """Raise ValueError naming the rows with C(q) != 0."""
    C = jacobian.values(constraints.rows, q)
    for i in np.flatnonzero(~(np.abs(C) <= MET)):
        raise ValueError(f"{constraints.names[i]}: C is {C[i]:.3g}; it must be 0: {advice}")


def require_still(constraints: Constraints, q: Array, v: Array, advice: str) -> None:
    """Raise ValueError naming a row that the velocities v (n, 6) would open."""
    rate = jacobian.jacobian(constraints.rows, q) @ v.reshape(-1)
    for i in np.flatnonzero(~(np.abs(rate) <= STILL * (1.0 + np.abs(v).max()))):
        raise ValueError(f"{constraints.names[i]}: dC/dt is {rate[i]:.3g} at the start; {advice}")


def independent_rows(constraints: Constraints, q: Array, held: Array | None = None) -> Redundancy:
    """Return the independent rows at q (n, 7), which must meet all of them; held (n, 6) is 1 where
    a body cannot move.
    """
    require_met(constraints, q)
    free = np.ones(6 * len(q)) if held is None else 1.0 - held.reshape(-1)
    kept: list = []
    for at in _around(constraints, q, free):
        kept = _basis(jacobian.jacobian(constraints.rows, at) * free, kept)
    dropped = tuple(name for i, name in enumerate(constraints.names) if i not in kept)
    return Redundancy(tuple(sorted(kept)), dropped)


def share(
    constraints: Constraints, kept: tuple[int, ...], held: Array, q: Array, wrenches: Array
) -> Array:
    """Share the `wrenches` (joints, 2, 6) of the independent rows `kept` among all rows at q (n,
    7) so that the norm of the multipliers is least (C.15).

        J^T lambda = J_k^T lambda_k,   |lambda| least

    Rows that keep a point carry newtons, rows that keep a direction newton meters, which count
    alike. The sum of all joints' loads on the free motions of each body stays the same to
    round-off; held (n, 6) is 1 where a body cannot move. The wrenches are forces or impulses.
    """
    rows, independent, owner = constraints.rows, list(kept), np.array(constraints.joint)
    J, free, first = jacobian.jacobian(rows, q), 1.0 - held.reshape(-1), {}
    for row, joint in enumerate(constraints.joint):
        first.setdefault(joint, row)
    load = np.zeros((len(q), 6))
    for joint, row in first.items():
        for side, body in enumerate((rows.a[row], rows.b[row])):
            if body != WORLD:
                load[body] += wrenches[joint, side]
    alone = np.zeros(len(J))
    carrying = (J[independent] * free).T
    alone[independent] = least_squares(carrying, free * load.reshape(-1))
    load = (J * free).T @ alone
    least = least_squares((J * free).T, load)
    moved = np.zeros_like(wrenches)
    np.add.at(moved, owner, multipliers.reactions(rows, q, least - alone))
    return wrenches + moved


def _basis(J: Array, kept: list) -> list:
    """Return `kept` with the rows of J added that are no combination of it and of each other."""
    kept, span = list(kept), np.zeros((0, J.shape[1]))  # span: orthonormal rows
    for i in (*kept, *(i for i in range(len(J)) if i not in kept)):
        rest = J[i]
        for _ in range(2):  # the second time removes round-off
            rest = rest - span.T @ (span @ rest)
        length = np.linalg.norm(rest)
        if length > TOLERANCE * np.linalg.norm(J[i]):
            span = np.vstack([span, rest / length])
            kept = kept if i in kept else [*kept, i]
    return kept


def _around(constraints: Constraints, q: Array, free: Array):
    """Yield q and two configurations near it, reached along velocities that the rows and the held
    directions allow.
    """
    yield q
    J, random = jacobian.jacobian(constraints.rows, q) * free, np.random.default_rng(0)
    for _ in range(2):
        e = free * random.uniform(-NEARBY, NEARBY, J.shape[1])
        e -= least_squares(J, J @ e)
        yield close(constraints, floating_base.boxplus(q, e.reshape(len(q), 6)), free)
