"""A plant is warmed up before its loop runs: its first tick is taken on a copy."""

from rbdyn_ros.simulation import setup
from rbdyn_ros.simulation.setup import warm_up


def test_the_warm_up_says_why_a_tick_fails_and_leaves_contacts_alone(values):
    changed = values(
        integrator__name="quaternion_midpoint",
        contact__stops__x_min=-3.0,
        contact__floor__enabled=True,
    )
    made = setup.plant_setup(changed)
    assert warm_up(made) == ""
    memory = made.options.contact
    assert not any(memory[name].any() for name in memory.dtype.names if name != "name")
    hopeless = setup.plant_setup(
        values(integrator__step=0.1, rates__state=10.0, initial__angular_velocity=(0.0, 30.0, 0.0))
    )
    assert "did not converge" in warm_up(hopeless)
