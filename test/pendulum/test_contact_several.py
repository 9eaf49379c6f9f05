"""The tip on the floor while the cart is at its rail ends: coupled contacts, redundant rows."""

import numpy as np
import pytest
from falling import fall

from rbdyn_ros.pendulum import world
from rbdyn_ros.pendulum.spherical_pendulum import upright
from rbdyn_ros.plant.rollout import impact_columns
from rbdyn_ros.types import Contacts, State

FLOOR = Contacts(floor=1.0, floor_height=-0.1, floor_restitution=0.5)


@pytest.mark.parametrize(
    "h, mu, tilt, azimuth, v, wide",
    [
        (
            2e-2,
            1.5,
            0.173,
            -0.822,
            (-1.1, 0.5, 0.94, -3.79, 0.0),
            0.5,
        ),  # the tip sticks, the cart leans on one rail end
        (
            2e-2,
            0.3,
            0.331,
            -0.39,
            (0.97, 2.45, 0.0, 0.0, 0.0),
            0.5,
        ),  # it sticks, the cart in the corner of two: one row too many
        (1e-3, 1.5, 1.054, -1.22, (1.04, 1.68, -2.22, 2.26, 0.0), 0.5),
        (1e-3, 0.3, 0.351, -0.37, (-1.26, -2.77, 0.0, 0.0, 23.48), 0.5),
    ],
)
def test_floor_and_rail_ends_agree_however_strongly_they_are_coupled(
    h, mu, tilt, azimuth, v, wide
):
    contacts = FLOOR._replace(
        floor_restitution=0.0, floor_friction=mu, stop_low=(-wide, -wide), stop_high=(wide, wide)
    )
    start = upright(tilt, azimuth)
    start.v[:] = v
    rows, memory, _ = fall(contacts, h, 3.0, start=start, every=round(0.1 / h))
    assert {world.FLOOR} < set(impact_columns(memory.events[: memory.recorded[0]])["contact"])
    gaps = [
        min(world.gaps(contacts._replace(length=2.4), State(0.0, row[:6], row[6:])).values())
        for row in rows
    ]
    assert min(gaps[len(gaps) // 2 :]) > -1e-6


@pytest.mark.parametrize(
    "h, mu, tilt, azimuth, v, wide",
    [
        (
            *(2e-2, 1.5, 1.1531281218058005, 0.8443581516628464),
            (
                -0.5558429627022446,
                0.24094226560255916,
                -0.5283661614955831,
                -4.566374711422198,
                0.0,
            ),
            0.7972231306742394,
        ),
        (
            2e-2,
            0.0,
            1.1611504458998392,
            -1.532733340695616,
            (-1.0418135686460432, 1.6243090652815322, 0.0, 0.0, 0.0),
            0.6532433702394949,
        ),
    ],
)
def test_a_contact_that_parts_into_its_obstacle_is_held_not_met_without_end(
    h, mu, tilt, azimuth, v, wide
):
    """It rises, yet would be inside at the end with no flight between: "met more than 200 times in
    one step".
    """
    walls = FLOOR._replace(
        floor_friction=mu, stop_low=(-wide, -wide), stop_high=(wide, wide), stop_restitution=0.5
    )
    start = upright(tilt, azimuth)
    start.v[:] = v
    rows, _, _ = fall(walls, h, 4.0, start=start, every=1)
    assert np.abs(rows[-1, :2]).max() < wide + 1e-6


@pytest.mark.parametrize(
    "h, mu, tilt, azimuth, v",
    [
        (2e-2, 0.3, 0.331, -0.39, (0.97, 2.45, 0.0, 0.0, 0.0)),
        (2e-3, 1.5, 0.331, -0.39, (0.97, 2.45, 0.0, 0.0, 0.0)),
    ],
)
def test_a_tip_on_a_rough_floor_with_the_cart_in_a_corner_is_at_rest(h, mu, tilt, azimuth, v):
    """Its velocity does not oscillate from step to step, either, where the rows are dependent."""
    ends = {"stop_low": (-0.5, -0.5), "stop_high": (0.5, 0.5)}
    contacts = FLOOR._replace(floor_restitution=0.0, floor_friction=mu, **ends)
    start = upright(tilt, azimuth)
    start.v[:] = v
    rows, _, _ = fall(contacts, h, 6.0, start=start, every=1)
    assert np.abs(rows[-50:, 6:10]).max() < 1e-12
    # round-off of the spin, about an inertia of 2e-4 kg m^2
    assert np.abs(rows[-50:, 10]).max() < 1e-11 and np.ptp(rows[-50:, :6], axis=0).max() < 1e-11


def test_a_step_ends_at_the_first_of_two_gaps_that_close():
    """The cart reaches the end of its rails 7 ms before the tip, which is deeper in the floor at
    the end of the step, reaches that.
    """
    contacts = FLOOR._replace(
        floor_friction=0.1, stop_low=(-0.05, -0.05), stop_high=(0.05, 0.05), stop_restitution=0.5
    )
    attitude = (0.698971728908468, -0.030101742621211, 0.712313498225316, 0.056052542527768)
    q = np.array((-0.030408557, 0.049936510, *attitude))
    v = np.array((0.27445909, 0.17793574, -0.0777452, 3.33890677, 0.08456283))
    rows, memory, _ = fall(contacts, 0.01, 0.01, start=State(0.0, q, v))
    found = impact_columns(memory.events[: memory.recorded[0]])
    assert list(found["contact"]) == [world.STOP_Y, world.FLOOR]
    assert found["t"][0] == pytest.approx(0.0000635 / 0.178, rel=0.05)
    gaps = world.gaps(contacts._replace(length=2.4), State(0.0, rows[-1][:6], rows[-1][6:]))
    assert gaps["stops.y"] > -1e-9
