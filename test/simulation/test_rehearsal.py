"""The rehearsal of a plant before its loop runs."""

from rbdyn_ros.simulation import setup
from rbdyn_ros.simulation.rehearsal import rehearse


def test_a_rehearsal_says_why_a_tick_fails_and_leaves_contacts_alone(values):
    changed = values(
        integrator__name="quaternion_midpoint",
        contact__stops__x_min=-3.0,
        contact__floor__enabled=True,
    )
    made = setup.plant_setup(changed)
    assert rehearse(made) == ""
    memory = made.options.contact
    assert not any(memory[name].any() for name in memory.dtype.names if name != "name")
    hopeless = setup.plant_setup(
        values(integrator__step=0.1, rates__state=10.0, initial__angular_velocity=(0.0, 30.0, 0.0))
    )
    assert "did not converge" in rehearse(hopeless)
