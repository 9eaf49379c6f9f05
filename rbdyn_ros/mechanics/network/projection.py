"""Projection of positions on the constraints, with |Q| = 1 among them.

The q nearest to q_0 in first order with HE(q) = 0, HI(q) >= 0: q = q_0 + grad HE Lambda_E + grad
HI Lambda_I,

    0 = HE(q_0) + grad^T HE (q - q_0),     0 <= HI(q_0) + grad^T HI (q - q_0)  _|_  Lambda_I >= 0            (N.18)

repeated with new gradients until |HE| and the negative part of HI are below the tolerance. Without
the rows |Q| - 1 the correction stretches the quaternion, and normalising afterwards leaves the
constraints again: the rows belong in HE. Source: the Siconos developer's notes, chapter 11.
"""

from typing import NamedTuple

import numpy as np

from rbdyn_ros.mechanics.network import one_step
from rbdyn_ros.mechanics.network.laws import Complementarity, Equality
from rbdyn_ros.mechanics.network.second_order import Network, joined


class Projected(NamedTuple):
    """Where the positions ended; when `ok` is false, at the last iterate."""

    q: tuple
    iterations: int
    residual: float  # largest violation, in the units of the rows
    ok: bool


def project(
    net: Network,
    t: float,
    q: tuple,
    tolerance: float = 1e-12,
    max_iterations: int = 20,
    unit: bool = True,
) -> Projected:
    """The positions q (a tuple) moved onto the constraints of the network at t; velocities are not
    touched.

    `unit`: with the rows |Q| - 1. Penetrating contacts are pushed out, open ones stay.
    """
    starts = np.concatenate([[0], np.cumsum([len(x) for x in q])]).astype(int)
    for iteration in range(max_iterations + 1):
        values, gradient, closed = _rows(net, t, q, starts, unit)
        residual = float(np.abs(values).max(initial=0.0))
        if residual <= tolerance or iteration == max_iterations:
            return Projected(q, iteration, residual, residual <= tolerance)
        found = one_step.solve(gradient @ gradient.T, values, closed)
        if not found.ok:
            return Projected(q, iteration, residual, False)
        d = gradient.T @ found.z
        q = tuple(x + d[a:b] for x, a, b in zip(q, starts, starts[1:]))


def _rows(net: Network, t: float, q: tuple, starts, unit: bool) -> tuple:
    """(values, gradients, laws) of the violated rows."""
    values, gradients, closed = [np.empty(0)], [np.empty((0, starts[-1]))], []

    def take(value, blocks: list, law) -> None:
        row = np.zeros((len(value), starts[-1]))
        for i, block in blocks:
            row[:, starts[i] : starts[i + 1]] = block
        values.append(value)
        gradients.append(row)
        closed.append((len(value), law))

    for one in net.interactions:
        y, g = one.relation.value(t, joined(q, one)), one.relation.gradient(t, joined(q, one))
        cuts = np.cumsum([len(q[i]) for i in one.systems])[:-1]
        if isinstance(one.law, Equality):
            take(y, list(zip(one.systems, np.split(g, cuts, axis=1))), Equality())
        elif y[0] < 0.0:
            take(y[:1], list(zip(one.systems, np.split(g[:1], cuts, axis=1))), Complementarity())
    for i, system in enumerate(net.systems):
        size, g = system.norms(q[i])
        if unit and len(size):
            take(size, [(i, g)], Equality())
    return np.concatenate(values), np.vstack(gradients), closed
