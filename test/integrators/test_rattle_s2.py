"""RATTLE on the sphere: the map of Moser and Veselov for a rod that does not spin, and momenta
that rounding does not pump.
"""

import numpy as np
import pytest
from measure import advanced
from plants import PENDULUM, PLANTS

from rbdyn_ros.integrators.select import select
from rbdyn_ros.pendulum.spherical_pendulum import no_input, quantities, upright
from rbdyn_ros.types import State, System


def swinging(system: System) -> State:
    """Off the vertical and moving, without spin."""
    state = upright(0.3, 0.4)
    state.v[2:4] = 0.5, 0.7
    state.v[:2] = system.cart_free * np.array([0.4, -0.3])
    return state


PUSH = no_input()._replace(
    force=np.array([0.5, 0.2]),
    sines=np.array([[0.0, 3.0, 2.0, 0.0], [1.0, 2.0, 3.0, 1.0]]),
    disturbance=np.array([0.3, -0.2, 0.1, 0.0, 0.0, 0.0, 0.0, 0.0, 2.0]),
)
ROUND = [name for name, system in PLANTS.items() if system.inertia[0] == system.inertia[1]]


@pytest.mark.parametrize("composition", ["none", "kahan_li8"])
@pytest.mark.parametrize("plant", ROUND)
def test_is_the_map_of_moser_and_veselov(plant, composition):
    system = PLANTS[plant]._replace(joint_damping=0.0)
    state = swinging(system)
    ours, theirs = (
        advanced(select(name, composition), system, state, PUSH, 0.01, 200)
        for name in ("rattle_s2", "moser_veselov")
    )
    assert np.abs(ours[0] - theirs[0]).max() < 1e-9
    assert np.abs(ours[1] - theirs[1]).max() < 1e-8


def test_energy_and_momentum_do_not_drift_over_a_thousand_seconds():
    """1.7 million stages: velocities in place of momenta, or K^-1 and K in turn, lose 3e-9 J and
    1e-10 N s here.
    """
    state = swinging(PENDULUM)
    q, v = advanced(select("rattle_s2", "kahan_li8"), PENDULUM, state, no_input(), 0.01, 100_000)[
        :2
    ]
    change = np.subtract(quantities(PENDULUM, q, v), quantities(PENDULUM, state.q, state.v))
    assert abs(change[0]) < 1e-10
    assert np.abs(change[2:4]).max() < 1e-11


def test_spin_is_refused():
    state = swinging(PENDULUM)
    state.v[4] = 1.0
    with pytest.raises(ValueError, match="without spin"):
        select("rattle_s2").check(PENDULUM, state, no_input())
