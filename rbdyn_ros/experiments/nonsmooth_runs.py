"""Runs that the experiments with contacts share: time-stepping into arrays, and colors for the
curves.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from rbdyn_ros.mechanics import model as models
from rbdyn_ros.mechanics import moreau_jean as of_models
from rbdyn_ros.mechanics.network import moreau_jean, moreau_jean_linear, second_order
from rbdyn_ros.mechanics.network.second_order import MechanicalNetwork
from rbdyn_ros.numerics.arguments import vector
from rbdyn_ros.types import Array

EXACT, COARSE, FINE, EVENTS = "#222222", "#d1495b", "#1f6fb4", "#2a9d6f"


class March(NamedTuple):
    """The states at the ends of the steps; the first row is the start."""

    t: Array  # (k + 1,)
    q: Array  # (k + 1, n_q) of the first system
    v: Array  # (k + 1, n)
    impulses: Array  # (k, m), all interactions side by side; moreau_jean_linear: its contacts


def march(
    net: MechanicalNetwork, q: tuple[Array, ...], v: tuple[Array, ...], h: float, steps: int
) -> March:
    """Simulate `steps` steps of moreau_jean. Raise ValueError where none can begin, and with the
    stepper's sentence if one fails.
    """
    second_order.check_start(net, 0.0, q, v)
    rows_q, rows_v, rows_p = [q[0]], [v[0]], []
    for k in range(steps):
        step = moreau_jean.step(net, k * h, q, v, h)
        if not step.ok:
            raise ValueError(step.message)
        q, v = step.q, step.v
        rows_q.append(q[0])
        rows_v.append(v[0])
        rows_p.append(np.concatenate(step.impulses))
    return March(h * np.arange(steps + 1), np.array(rows_q), np.array(rows_v), np.array(rows_p))


def march_model(model: models.Model, h: float, steps: int) -> March:
    """Simulate the same of a model, compiled; the impulses are those of its pairs, summed up:
    along the normal, and the vector on their first body.
    """
    rows_q, rows_v = [models.places(model)], [of_models.velocities(model)]
    rows_p = []
    for k in range(steps):
        if not of_models.advance(model, h, 1):
            reason = of_models.failure(model)
            raise ValueError(f"the step to t = {(k + 1) * h:g} s is not solved: {reason}")
        rows_q.append(models.places(model))
        rows_v.append(of_models.velocities(model))
        rows_p.append(models.contact_impulses(model))
    q, v = (np.array(rows).reshape(steps + 1, -1) for rows in (rows_q, rows_v))
    return March(h * np.arange(steps + 1), q, v, np.array(rows_p).reshape(steps, -1))


def march_linear(
    linear: moreau_jean_linear.LinearSystem, forces: Array, q: ArrayLike, v: ArrayLike
) -> March:
    """Simulate len(forces) - 1 steps of moreau_jean_linear. Raise ValueError if one fails."""
    size = len(linear.C)
    n, q, v = len(forces) - 1, vector(q, "q", size), vector(v, "v", size)
    positions, velocities = np.empty((n + 1, len(q))), np.empty((n + 1, len(q)))
    positions[0], velocities[0] = q, v
    impulses = np.empty((n, len(linear.b)))
    done = moreau_jean_linear.advance(
        linear, forces, q, v, positions[1:], velocities[1:], impulses
    )
    if done < n:
        raise ValueError(
            f"step {done} is not solved or its force is not finite; take a smaller step than "
            f"{linear.h:g} s"
        )
    return March(linear.h * np.arange(n + 1), positions, velocities, impulses)
