"""A stack in time, its contact forces, and the friction problem of its next step."""

from typing import NamedTuple

import numpy as np

from rbdyn_ros.experiments.scenes import Scene
from rbdyn_ros.mechanics import accelerations, projection
from rbdyn_ros.mechanics import model as models
from rbdyn_ros.mechanics.description import pairs
from rbdyn_ros.mechanics.solvers import fc3d
from rbdyn_ros.types import Array

TOUCHING = 1e-9  # [m]


class Settling(NamedTuple):
    """Rows of a run, one for each step."""

    t: Array  # (k,) [s]
    q: Array  # (k, n, 7)
    speed: Array  # (k,) largest of the bodies [m/s]
    gap: Array  # (k,) smallest of the contacts [m]
    force: Array  # (k, levels) normal force of each level [N], the mean of the step
    problems: list  # friction problems met on the way


def settled(
    stack: Scene, h: float, duration: float, keep: int = 0, on_a_level: int = 4
) -> Settling:
    """Let a stack go, with `on_a_level` contacts in each of its joints; the friction problem of
    every `keep`-th step is kept (0: none). RuntimeError if a step fails.
    """
    model, rows, problems = models.build(*stack), [], []
    level = np.arange(len(stack.pairs.kind)) // on_a_level
    for k in range(round(duration / h)):
        if not models.advance(model, h, 1):
            raise RuntimeError(
                f"the stack stops at t = {k * h:.6g} s: {models.failure(model)}; "
                f"take another step than {h:g} s"
            )
        q, v = models.state(model)
        force = np.bincount(level, models.contact_impulses(model)[:, 0] / h)
        rows.append(
            ((k + 1) * h, q, np.abs(v[:, :3]).max(), pairs.gaps(stack.pairs, q).min(), force)
        )
        if keep and k % keep == 0 and force[0] > 0.0:
            problems.append(_problem(model, h))
    return Settling(*(np.array(column) for column in zip(*rows)), problems)


def _problem(model: models.Model, h: float) -> fc3d.Problem:
    """What stops the bodies as they stand if they have fallen freely for h: W, the velocities of
    the contacts that touch, mu.
    """
    q, v = models.state(model)
    touching = np.flatnonzero(pairs.gaps(model.pairs, q) <= TOUCHING)
    v[:, :3] += h * model.bodies.gravity
    memory, still = projection.memory_of(model), np.zeros_like(v)
    found = accelerations.evaluate(memory, q, v, still, touching)
    return fc3d.problem(found.G, found.u, model.pairs.mu[touching])
