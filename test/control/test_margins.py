"""How much delay, gain and push the balancing laws stand: rows S7 to S9 of the standard suite."""

import math
from collections import deque

import numpy as np
import pytest

from rbdyn_ros.control.laws import lqr, nested_lqr
from rbdyn_ros.pendulum import spherical_pendulum

PLANT = spherical_pendulum.Params(cart_damping=0.5, joint_damping=0.005)
UNLIMITED = 1e9  # [N]


class Distorted:
    """A law whose force comes `periods` late and `gain` times as strong."""

    def __init__(self, law, periods=0, gain=1.0):
        self.law, self.gain, self.waiting = law, gain, deque([np.zeros(2)] * periods)

    def command(self, t, state, reference):
        self.waiting.append(self.gain * self.law.command(t, state, reference))
        return self.waiting.popleft()


def designed(law, **options):
    return law.design(spherical_pendulum, PLANT, law.Options(**options))


def decays(run) -> bool:
    """Whether the last tenth is calmer than the first."""
    tenth = len(run.t) // 10
    return not run.fell and bool(run.tilt[-tenth:].max() < run.tilt[:tenth].max())


@pytest.mark.parametrize("milliseconds, stable", [(94, True), (102, True), (106, False)])
def test_the_delay_margin_is_that_of_the_theory(closed_loop, milliseconds, stable):
    """102.7 ms, from the phase of the sampled loop."""
    law = Distorted(designed(lqr, force_limit=UNLIMITED), periods=milliseconds // 2)
    assert decays(closed_loop(law, PLANT, spherical_pendulum.upright(0.001), 40.0)) is stable


@pytest.mark.parametrize(
    "gain, stable", [(0.28, False), (0.35, True), (40.0, True), (100.0, False)]
)
def test_the_gain_margin_is_that_of_the_theory(closed_loop, gain, stable):
    """0.307 to 86.5."""
    law = Distorted(designed(lqr, force_limit=UNLIMITED), gain=gain)
    assert decays(closed_loop(law, PLANT, spherical_pendulum.upright(0.001), 20.0)) is stable


@pytest.mark.parametrize(
    "law, recovers, falls",
    [(lqr, 0.78, 0.82), (nested_lqr, 1.25, 1.33)],
    ids=("lqr", "nested_lqr"),
)
def test_the_largest_push_on_the_tip(closed_loop, law, recovers, falls):
    """The linear plant allows 1.32 N s at 20 N, whatever the law."""

    def after(impulse):
        state = spherical_pendulum.upright()
        state.v[0], state.v[3] = (
            -0.222 * impulse,
            1.389 * impulse,
        )  # of rod and cart, from the momentum balance
        return closed_loop(designed(law), PLANT, state, 30.0)

    assert after(recovers).settling_time() < 30.0
    assert after(falls).tilt.max() > math.radians(80.0)
