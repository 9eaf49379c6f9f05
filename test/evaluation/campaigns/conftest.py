"""Starts of any kind, and what becomes of one by the rollout: the full rod, Runge and Kutta, the
law asked in Python.
"""

import math

import numpy as np
import pytest

from rbdyn_ros.evaluation.campaigns.episode import OUT_OF_BOUNDS, SETTLED, TIMEOUT
from rbdyn_ros.integrators.select import select
from rbdyn_ros.pendulum import spherical_pendulum
from rbdyn_ros.plant import closed_loop
from rbdyn_ros.plant.faults.fault_options import Faults
from rbdyn_ros.types import State


def start(tilt, azimuth, rate=(0.0, 0.0, 0.0), cart=(0.0, 0.0, 0.0, 0.0)) -> np.ndarray:
    """A row of q and v (11,): tilt and azimuth [rad], body rates [rad/s], x y x' y' of the
    cart.
    """
    q = spherical_pendulum.upright(tilt, azimuth).q
    return np.array((*cart[:2], *q[2:], *cart[2:], *rate))


@pytest.fixture(scope="session")
def rollout():
    """rollout(law, params, start, episode) -> (ended, since, farthest, effort, lasted) of one
    start.
    """

    def outcome(law, params, row, episode) -> tuple:
        law.reset()
        faults = Faults(command_delay=episode.delay * episode.period)
        conditions = closed_loop.Conditions(
            travel=episode.travel,
            step=episode.period / episode.steps,
            faults=faults,
            call_timeout=closed_loop.FIRST,
        )
        state = State(0.0, row[:6].copy(), row[6:].copy())
        run = closed_loop.run(
            params, select("rk4"), law, state, episode.duration, episode.period, conditions
        )
        assert not run.fault
        return scored(run, episode)

    return outcome


def scored(run, episode) -> tuple:
    """The score of a run's rows."""
    tilt = 2.0 * np.arcsin(np.minimum(1.0, np.hypot(run.q[:, 3], run.q[:, 4])))
    r = np.hypot(run.q[:, 0], run.q[:, 1])
    rests = (tilt <= episode.tilt) & (r <= episode.radius)
    since, n, ended = 0, 0, TIMEOUT
    for i in range(1, len(run.t)):
        n = i
        since = since if rests[i] else i
        if r[i] > episode.travel:
            ended = OUT_OF_BOUNDS
            break
        if (i - since) * episode.period >= episode.hold - 1e-9:
            ended = SETTLED
            break
    effort = float((run.force[:n] ** 2).sum()) * episode.period
    return ended, since * episode.period, r[1 : n + 1].max(), effort, n * episode.period


@pytest.fixture(scope="session")
def starts():
    """Ten starts, spinning, in every direction, some hopeless."""
    rng = np.random.default_rng(3)
    tilts = math.radians(1.0) * np.array((0.0, 2.0, 5.0, 9.0, 14.0, 18.0, 20.0, 24.0, 60.0, 170.0))
    return np.array(
        [
            start(t, rng.uniform(0, 6), rng.normal(0, 0.1, 3) + (0, 0, 5), rng.normal(0, 0.1, 4))
            for t in tilts
        ]
    )
