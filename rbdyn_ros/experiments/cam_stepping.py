"""The cam follower by time-stepping: its state once per revolution, and its impacts."""

from typing import NamedTuple

import numpy as np

from rbdyn_ros.mechanics.network import cam_follower, moreau_jean_linear
from rbdyn_ros.types import Array


class Stepped(NamedTuple):
    """A run in the shifted form, told in the follower's own coordinates."""

    h: float  # [s]
    strobes: Array  # (turns + 1, 2) u, v, between two nodes by a straight line
    impacts: Array  # (n, 2) cam angle [rad], V^- relative to the cam
    penetration: float  # deepest [m]
    t: Array  # the first revolutions in full
    u: Array


def follow(params: cam_follower.Params, u: float, v: float, h: float, turns: int) -> Stepped:
    """From (u, v) at t = 0 by steps of h [s], in general no whole part of a revolution: else the
    orbit may lock to them.
    """
    turn, w = cam_follower.revolution(params), cam_follower.rate(params)
    linear = moreau_jean_linear.prepare(
        params.mass, params.damping, params.stiffness, [[1.0]], 0.0, params.restitution, h
    )
    c, dc, _ = cam_follower.motion(w, 0.0)
    y, V = np.array([u - c]), np.array([v - dc])
    total, chunk, done = int(np.ceil(turns * turn / h)), int(np.ceil(20.0 * turn / h)), 0
    strobes, impacts, deepest, first = [np.array([[u, v]])], [], 0.0, None
    while done < total:
        n = min(chunk, total - done)
        times = h * np.arange(done, done + n + 1)
        positions, velocities, impulses = (
            np.empty((n + 1, 1)),
            np.empty((n + 1, 1)),
            np.empty((n, 1)),
        )
        positions[0], velocities[0] = y, V
        forces = cam_follower.cam_force(params, times)
        if (
            moreau_jean_linear.advance(
                linear, forces, y, V, positions[1:], velocities[1:], impulses
            )
            < n
        ):
            raise ValueError(
                f"a step of {h:g} s is not solved at {params.rpm} rpm; take a smaller one"
            )
        state = cam_follower.motions(w, times)[:, :2] + np.hstack([positions, velocities])
        due = turn * np.arange(np.floor(times[0] / turn) + 1, np.floor(times[-1] / turn) + 1)
        strobes.append(np.column_stack([np.interp(due, times, state[:, i]) for i in (0, 1)]))
        hit = np.flatnonzero((impulses[:, 0] > 0.0) & (velocities[:-1, 0] < 0.0))
        impacts.append(np.column_stack([w * times[hit + 1], velocities[hit, 0]]))
        deepest = max(deepest, -positions.min())
        first = (times, state[:, 0]) if first is None else first
        done += n
    return Stepped(h, np.vstack(strobes), np.vstack(impacts), deepest, *first)
