"""A plant is warmed up before its loop runs: its first tick is taken on a copy."""

import numpy as np

from rbdyn_ros.plant import setup
from rbdyn_ros.plant.setup import warm_up


def test_the_warm_up_says_why_a_tick_fails_and_leaves_contacts_alone(values):
    changed = values(
        integrator__name="quaternion_midpoint",
        contact__stops__x_min=-3.0,
        contact__floor__enabled=True,
    )
    made = setup.plant_setup(changed)
    assert warm_up(made) == ""
    memory, fresh = (s.options.contact for s in (made, setup.plant_setup(changed)))
    for name in ("last", "since", "work", "force", "impulse", "closed", "events", "recorded"):
        np.testing.assert_array_equal(getattr(memory, name), getattr(fresh, name))
    np.testing.assert_array_equal(memory.arena.f, fresh.arena.f)
    hopeless = setup.plant_setup(
        values(integrator__step=0.1, rates__state=10.0, initial__angular_velocity=(0.0, 30.0, 0.0))
    )
    assert "did not converge" in warm_up(hopeless)
