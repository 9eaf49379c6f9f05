"""A stack in time, its contact forces, and the friction problem of its next step."""

from typing import NamedTuple

import numpy as np

from rbdyn_ros.bodies import rigid_bodies
from rbdyn_ros.contacts import world
from rbdyn_ros.geometry import quaternion
from rbdyn_ros.mechanics import model as models
from rbdyn_ros.mechanics.description import pairs
from rbdyn_ros.models import stacks
from rbdyn_ros.solvers import fc3d
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


def settled(stack: stacks.Stack, h: float, duration: float, keep: int = 0) -> Settling:
    """Let a stack go; the friction problem of every `keep`-th step is kept (0: none). RuntimeError
    if a step fails.
    """
    model = models.build(
        stack.bodies, stack.q, rigid_bodies.motion(stack.bodies), None, stack.pairs
    )
    rows, problems = [], []
    for k in range(round(duration / h)):
        if not models.advance(model, h, 1):
            raise RuntimeError(
                f"the stack stops at t = {k * h:.6g} s: {models.failure(model)}; "
                f"take another step than {h:g} s"
            )
        q, v = models.state(model)
        force = np.bincount(stack.level, models.contact_impulses(model)[:, 0] / h)
        rows.append(
            ((k + 1) * h, q, np.abs(v[:, :3]).max(), pairs.gaps(stack.pairs, q).min(), force)
        )
        if keep and k % keep == 0 and force[0] > 0.0:
            problems.append(_problem(stack, q, v, h))
    return Settling(*(np.array(column) for column in zip(*rows)), problems)


def _problem(stack: stacks.Stack, q: Array, v: Array, h: float) -> fc3d.Problem:
    """What stops the bodies at q if they have fallen freely for h: W, the velocities of the
    contacts that touch, mu.
    """
    inverse = np.column_stack(
        [1.0 / stack.bodies.mass] * 3 + [1.0 / stack.bodies.inertia]
    ).reshape(-1)
    falling, rows, mu = v.copy(), [], []
    falling[:, :3] += h * stack.bodies.gravity
    for i in range(len(stack.pairs.kind)):
        touch = pairs.touch(stack.pairs, i, q)
        if touch.gap <= TOUCHING:
            rows.append(_directions(stack, q, i, touch))
            mu.append(stack.pairs.mu[i])
    D = np.vstack(rows)
    return fc3d.problem(D * inverse @ D.T, D @ falling.reshape(-1), np.array(mu))


def _directions(stack: stacks.Stack, q: Array, i: int, touch: pairs.Touch) -> Array:
    """D (3, 6n) of contact i: its velocity is D v."""
    T, D = np.array(world.frame(touch.normal)), np.zeros((3, len(q), 6))
    for body, point, sign in (
        (stack.pairs.a[i], touch.on_a, 1.0),
        (stack.pairs.b[i], touch.on_b, -1.0),
    ):
        if body >= 0:
            R = quaternion.to_matrix(q[body, 3:])
            D[:, body] = sign * np.hstack([T, np.cross(np.array(point), T @ R)])
    return D.reshape(3, -1)
