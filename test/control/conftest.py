"""The pendulum under a law: the true nonlinear plant, the force held for the law's period."""

import math

import numpy as np
import pytest

from rbdyn_ros.integrators.select import select
from rbdyn_ros.pendulum import spherical_pendulum
from rbdyn_ros.types import State

STEP = 0.001  # [s]


class Run:
    """A row per control period: time, cart, tilt [rad], norm of the force."""

    def __init__(self, rows):
        self.t, self.x, self.y, self.tilt, self.force = np.array(rows).T

    @property
    def fell(self) -> bool:
        return bool(self.tilt.max() > math.pi / 2)

    def settling_time(self, reference=(0.0, 0.0)) -> float:
        """Since when the tilt is at most 0.5 degrees and the cart within 2 cm; inf if it is
        not.
        """
        distance = np.hypot(self.x - reference[0], self.y - reference[1])
        away = np.flatnonzero((self.tilt > math.radians(0.5)) | (distance > 0.02))
        last = away[-1] + 1 if len(away) else 0
        return self.t[last] if last < len(self.t) and not self.fell else math.inf


@pytest.fixture(scope="session")
def closed_loop():
    """closed_loop(law, params, state, ...) -> Run; ends early when the rod has fallen."""

    def run(
        law, params, state, duration=10.0, reference=(0.0, 0.0), steps=2, integrator="rk4"
    ) -> Run:
        method, system = select(integrator), spherical_pendulum.build(params)
        options, input = method.options(system), spherical_pendulum.no_input()
        q, v, reaction, reference = (
            state.q.copy(),
            state.v.copy(),
            np.zeros(3),
            np.array(reference, float),
        )
        rows = []
        for i in range(round(duration / (steps * STEP))):
            t = i * steps * STEP
            now = State(t, q, v)
            input.force[:] = law.command(t, now, reference)
            tilt = 2.0 * math.asin(min(1.0, math.hypot(q[3], q[4])))
            rows.append((t, q[0], q[1], tilt, math.hypot(*input.force)))
            if tilt > math.pi / 2:
                break
            done, *_ = method.advance(system, options, input, STEP, steps, now, reaction)
            assert done == steps
        return Run(rows)

    return run
