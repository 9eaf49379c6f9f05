"""A stack in time, its contact forces, and the friction problem of its next step."""

from typing import NamedTuple

import numpy as np

from rbdyn_ros.contacts import pairs
from rbdyn_ros.integrators.multibody import detection, impact, variational
from rbdyn_ros.integrators.multibody import plant as plants
from rbdyn_ros.models import stacks
from rbdyn_ros.types import Array

OPTIONS = plants.Options(split=True)


class Settling(NamedTuple):
    """Rows of a run, one for each step."""

    t: Array  # (k,) [s]
    q: Array  # (k, n, 7)
    speed: Array  # (k,) largest of the bodies [m/s]
    gap: Array  # (k,) smallest of the contacts [m]
    force: Array  # (k, levels) normal force of each level [N], the mean of the step
    problems: list  # friction problems met on the way


def settled(stack: stacks.Stack, h: float, duration: float, keep: int = 0, options=OPTIONS) -> Settling:
    """Let a stack go; the friction problem of every `keep`-th step is kept (0: none). RuntimeError if a step fails."""
    plant = plants.build(stack.bodies, stack.q, None, stack.pairs)
    work, q, v = plants.work(plant), stack.q.copy(), np.zeros((len(stack.q), 6))
    detection.start(plant.pairs, work, q, v)
    rows, problems = [], []
    for k in range(round(duration / h)):
        done, _, residual = variational.advance(plant, options, work, h, 1, k * h, q, v)
        if not done:
            raise RuntimeError(f"the stack stops at t = {k * h:.6g} s with the residual {residual:.2g}; take another step than {h:g} s")
        force = _forces(stack, work, h)
        rows.append(((k + 1) * h, q.copy(), np.abs(v[:, :3]).max(), pairs.gaps(plant.pairs, q).min(), force))
        if keep and k % keep == 0 and force[0] > 0.0:
            problems.append(_problem(plant, q, v, h))
    return Settling(*(np.array(column) for column in zip(*rows)), problems)


def _forces(stack: stacks.Stack, work: plants.Work, h: float) -> Array:
    """The two half-step impulses of each contact over h, summed by level."""
    count, levels = work.count[0], stack.level.max() + 1
    return np.bincount(stack.level[work.active[:count]], 2.0 * work.P[: 3 * count : 3] / h, levels)


def _problem(plant: plants.Plant, q, v, h: float):
    """What stops the bodies at q if they have fallen freely for h: W, the velocities of the contacts, mu."""
    work, falling = plants.work(plant, 0), v.copy()
    falling[:, :3] += h * plant.bodies.gravity
    impact.closed_now(plant, work, q, falling)
    problem, _ = impact.problem(plant, work, q, falling, 0.0)
    return problem
