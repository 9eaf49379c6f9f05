"""The rod on a fixed cart meets a floor: its tip cannot move along the rod, W has rank 2."""

import numpy as np
import pytest
from falling import fall

from rbdyn_ros.pendulum import world
from rbdyn_ros.pendulum.spherical_pendulum import Params, build, point, quantities, upright
from rbdyn_ros.types import Contacts

FLOOR = Contacts(floor=1.0, floor_height=-0.1, floor_restitution=0.5)
G = 9.81


@pytest.mark.parametrize("h, mu", [(1e-3, 0.3), (2e-2, 0.02), (5e-3, 1.5)])
def test_a_rod_on_a_fixed_cart_falls_slides_and_rests_with_friction(h, mu):
    """The tip cannot move along the rod, so W has rank 2; the rounds of a step did not agree."""
    start, params = upright(0.2, 0.8), Params(cart_fixed=True)
    start.v[2:] = (0.4, -0.3, 0.0)
    contacts = FLOOR._replace(floor_friction=mu, floor_restitution=0.0)
    rows, memory, _ = fall(contacts, h, 4.0, start=start, params=params, every=1)
    system = build(params._replace(contacts=contacts))
    energy = np.array([quantities(system, row[:6], row[6:])[0] for row in rows])
    assert np.diff(energy).max() < max(1e-6, 0.2 * h * h)  # what the smooth motion swings by
    resting = rows[-1]
    assert abs(point(resting[:6], (0.0, 0.0, 2.4))[2] + 0.1) < 1e-12
    f = memory.force[world.FLOOR]
    assert np.hypot(f[0], f[1]) <= mu * f[2] * (1.0 + 1e-9)
    if mu > 0.1:
        assert (
            energy[-1] == pytest.approx(-0.05 * G, abs=1e-9) and np.abs(resting[6:]).max() < 1e-9
        )


@pytest.mark.parametrize("mu", [0.02, 0.3, 1.5])
def test_a_rod_on_a_fixed_cart_lies_still_from_the_first_step(mu):
    contacts = FLOOR._replace(floor_friction=mu, floor_restitution=0.5)
    start = upright(np.arccos(-0.1 / 2.4), 0.7)
    rows, memory, _ = fall(
        contacts, 2e-3, 1.0, start=start, params=Params(cart_fixed=True), every=1
    )
    np.testing.assert_allclose(
        rows, np.r_[start.q, np.zeros(5)] * np.ones((len(rows), 1)), atol=1e-12
    )
    assert memory.force[world.FLOOR, 2] > 4.0
