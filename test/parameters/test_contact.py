"""Contacts that cannot be are refused with their name, their value and what is allowed."""

import math

import pytest

from rbdyn_ros import parameters
from rbdyn_ros.bodies.contact.restitution import LAWS
from rbdyn_ros.parameters import tables
from rbdyn_ros.parameters.contacts import CONTACT, contacts
from rbdyn_ros.pendulum.world import HALF_SPACE
from rbdyn_ros.schema import check
from rbdyn_ros.types import IMPACT_LAWS, Contacts


def lookup(name: str):
    return next(parameter for parameter in tables.OFFLINE if parameter.name == name)


def values(**changes) -> dict:
    return {p.name: p.default for p in tables.OFFLINE} | {
        name.replace("__", "."): value for name, value in changes.items()
    }


@pytest.mark.parametrize(
    "name, value, allowed",
    [
        ("contact.floor.friction", -0.1, ">= 0"),
        ("contact.obstacle.friction", math.inf, "finite"),
        ("contact.floor.restitution", 1.0000001, "1"),
        ("contact.stops.restitution", -0.2, "0"),
        ("contact.obstacle.radius", 0.0, "> 0"),
        ("contact.bias", 1.5, "1"),
        ("contact.floor.height", 0.1, "0"),
        ("contact.obstacle.normal", (0.0, 0.0, 0.0), "not zero"),
        ("contact.obstacle.kind", "wall", "half_space"),
    ],
)
def test_a_number_out_of_range_is_named(name, value, allowed):
    with pytest.raises(ValueError) as refusal:
        check(lookup(name), value, "pendulum.yaml")
    assert str(refusal.value).startswith(f"pendulum.yaml: {name} is ") and allowed in str(
        refusal.value
    )


def test_rails_of_no_length_are_refused():
    with pytest.raises(
        ValueError, match=r"contact.stops.x_min is 0.5 m; it must be < contact.stops.x_max, 0.5 m"
    ):
        contacts(values(contact__stops__x_min=0.5, contact__stops__x_max=0.5), 2.4)


def test_a_rail_as_long_as_the_default_has_no_end():
    assert contacts(values(), 2.4).stop_low == (-math.inf, -math.inf)


def test_every_parameter_arrives_at_its_place():
    """Each set to a number of its own; a field that takes another's would show."""
    numbers = {
        "contact.floor.enabled": True, "contact.floor.height": -0.21,
        "contact.floor.friction": 0.22, "contact.floor.restitution": 0.23,
        "contact.stops.x_min": -0.31, "contact.stops.x_max": 0.32, "contact.stops.y_min": -0.33,
        "contact.stops.y_max": 0.34,
        "contact.stops.restitution": 0.35, "contact.obstacle.kind": "half_space",
        "contact.obstacle.center": (0.41, 0.42, 0.43),
        "contact.obstacle.normal": (0.6, 0.0, 0.8), "contact.obstacle.radius": 0.44,
        "contact.obstacle.friction": 0.45,
        "contact.obstacle.restitution": 0.46, "contact.bias": 0.51,
        "contact.impact_law": "newton", "contact.newton_restitution": True,
    }  # fmt: skip
    assert set(numbers) == {parameter.name for parameter in CONTACT}
    assert contacts(values() | numbers, 1.9) == Contacts(
        floor=1.0, floor_height=-0.21, floor_friction=0.22, floor_restitution=0.23,
        stop_low=(-0.31, -0.33), stop_high=(0.32, 0.34), stop_restitution=0.35,
        obstacle=HALF_SPACE, obstacle_point=(0.41, 0.42, 0.43), obstacle_normal=(0.6, 0.0, 0.8),
        obstacle_radius=0.44,
        obstacle_friction=0.45, obstacle_restitution=0.46, impact_law=1.0, length=1.9,
    )  # fmt: skip


def test_the_normal_of_a_half_space_is_made_unit():
    assert check(lookup("contact.obstacle.normal"), (0.0, 3.0, 4.0), "")[1:] == pytest.approx(
        (0.6, 0.8)
    )


def test_the_rod_in_the_plant_is_the_rod_that_touches():
    assert (
        parameters.plant_params(
            values(contact__floor__enabled=True, rod__length=1.7)
        ).contacts.length
        == 1.7
    )


def test_a_parameter_of_a_former_version_is_accepted_with_a_note():
    changed = {"integrator.split_at_impact": True, "contact.bias": 0.2}
    assert contacts(values() | changed, 2.4) == contacts(values(), 2.4)
    said = parameters.notes(values() | changed)
    assert parameters.notes(values()) == [] and len(said) == len(changed)
    for name, sentence in zip(changed, said):
        assert sentence.startswith(f"{name} has no effect any more")


@pytest.mark.parametrize("place, law", list(enumerate(LAWS)))
def test_the_laws_of_impacts_are_those_of_models(place, law):
    assert IMPACT_LAWS == LAWS
    assert contacts(values(contact__impact_law=law), 2.4).impact_law == place


def test_the_former_name_of_newtons_law_contradicts_another_law():
    assert contacts(values(contact__newton_restitution=True), 2.4).impact_law == 1.0
    with pytest.raises(
        ValueError, match="contact.impact_law, 'poisson', must be 'newton' or left out"
    ):
        contacts(values(contact__newton_restitution=True, contact__impact_law="poisson"), 2.4)
