"""Sliding and sticking: Coulomb's law on the accelerations of contacts that stay closed.

    sliding    du_N/dt = 0,   lambda_T = -mu lambda_N tau,   tau = u_T/|u_T|                 (N.30)
    sticking   du/dt = 0,     |lambda_T| <= mu lambda_N

A phase keeps its rows S of du/dt = G lambda + a at zero by multipliers x along its directions,
lambda = E x: S G E x = -S a. It holds while the law itself, solved on the accelerations, gives the
same: with the sliding contacts as complementarity in their normal rows and the sticking ones in
their cones,

    0 <= x_N  _|_  du_N/dt >= 0,    K_mu in lambda  _|_  du/dt + mu |du_T/dt| e_N in K_mu*.  (N.31)

More contacts than needed share their load in many ways; the law has a solution if any of them is
possible.
"""

from typing import NamedTuple

import numpy as np

from rbdyn_ros.network import one_step
from rbdyn_ros.network.dynamics import OfModel, OfNetwork
from rbdyn_ros.network.laws import WITH_TANGENTS, Complementarity, Equality
from rbdyn_ros.numerics.solvers.solution import Solution
from rbdyn_ros.types import Array

SLOW = 1e-9  # [m/s] a smaller sliding speed is none
# [m/s] a sliding speed below which tau stays: it would turn at the rate mu g/|u_T|, too stiff to
# follow
TURNING = 1e-5
# [m/s^2] an acceleration with which a contact separates or begins to slide; above the solver's
# round-off
PARTING = 1e-8


System = OfModel | OfNetwork


class ActiveLaws(NamedTuple):
    """The solution of the law for the closed interactions."""

    solution: Solution
    pressing: dict  # interaction -> lambda_N [N]; none for equalities
    opening: dict  # interaction with friction -> du_N/dt [m/s^2]
    slipping: dict  # sticking interaction -> (du_T/dt [m/s^2], lambda_T [N])


def has_tangents(system: System, k: int) -> bool:
    """Return whether interaction k has friction."""
    return isinstance(system.laws[k], WITH_TANGENTS)


def direction(u_T: Array, ahead: Array) -> Array:
    """Return tau, or `ahead`, that of the phase's beginning, where the contact is about to slide
    or a trial step has overshot its stop.
    """
    return u_T / np.linalg.norm(u_T) if u_T @ ahead > TURNING else ahead


def reduction(
    system: System, closed: list[int], sliding: dict[int, Array], u: Array
) -> tuple[Array, Array]:
    """Return (S as row numbers, E): rows that are held and directions of their multipliers, for
    the velocities u (N.30).
    """
    kept, at, E = [], 0, np.eye(len(u))
    for k in closed:
        n = system.sizes[k]
        if k in sliding:
            E[at + 1 : at + n, at] = -system.laws[k].friction * direction(
                u[at + 1 : at + n], sliding[k]
            )
        kept += range(at, at + (1 if k in sliding else n))
        at += n
    return np.array(kept, int), E[:, kept]


def multipliers(G: Array, a: Array, kept: Array, E: Array) -> Array:
    """Return the lambda that hold the rows of a phase."""
    return E @ (-np.linalg.pinv(G[kept] @ E, rcond=1e-12) @ a[kept])


def solve_laws(
    system: System,
    closed: list[int],
    sliding: dict[int, Array],
    G: Array,
    a: Array,
    kept: Array,
    E: Array,
) -> ActiveLaws:
    """Return the solution of the law (N.31) on the accelerations."""
    rows = [1 if k in sliding else system.sizes[k] for k in closed]
    W = G[kept] @ E
    found = one_step.solve(
        W, a[kept], [(n, _law(system, k, sliding)) for n, k in zip(rows, closed)]
    )
    cuts = np.cumsum(rows)[:-1]
    forces, moves = (
        dict(zip(closed, np.split(x, cuts))) for x in (found.z, W @ found.z + a[kept])
    )
    rubbing = [k for k in closed if has_tangents(system, k)]
    pressing = {
        k: float(x[0]) for k, x in forces.items() if not isinstance(system.laws[k], Equality)
    }
    slipping = {k: (moves[k][1:], forces[k][1:]) for k in rubbing if k not in sliding}
    return ActiveLaws(found, pressing, {k: float(moves[k][0]) for k in rubbing}, slipping)


def is_staying_closed(want: ActiveLaws, k: int) -> bool:
    """Return whether the contact k remains closed: it presses or, with friction, shares a load
    that others carry.
    """
    return want.pressing[k] > 0.0 or want.opening.get(k, np.inf) <= 0.5 * PARTING


def find_starting_slips(want: ActiveLaws) -> dict[int, Array]:
    """Return the contacts that begin to slide, with their directions: against friction, which is
    better known than a small acceleration.
    """
    begun = {
        k: (a, force)
        for k, (a, force) in want.slipping.items()
        if np.linalg.norm(a) > 0.5 * PARTING
    }
    ahead = {k: -force if force.any() else a for k, (a, force) in begun.items()}
    return {k: x / np.linalg.norm(x) for k, x in ahead.items()}


def margin(want: ActiveLaws) -> float:
    """Return a margin [m/s^2] that is positive while nothing separates and nothing begins to
    slide.
    """
    moving = [*want.opening.values(), *(np.linalg.norm(a) for a, _ in want.slipping.values())]
    return PARTING - max(moving)


def _law(system: System, k: int, sliding: dict):
    law = system.laws[k]
    if isinstance(law, Equality) or (isinstance(law, WITH_TANGENTS) and k not in sliding):
        return law
    return Complementarity()
