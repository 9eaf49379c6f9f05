"""The tables themselves, and the answer to a name that nobody knows."""

import pytest
from descriptions import is_sentence

from rbdyn_ros.parameters import tables
from rbdyn_ros.schema import check, describe_allowed

ALL = [parameter for table in tables.TITLED.values() for parameter in table]


@pytest.mark.parametrize("parameter", ALL, ids=lambda parameter: parameter.name)
def test_every_default_passes_its_own_check(parameter):
    assert check(parameter, parameter.default, "default") == parameter.default


@pytest.mark.parametrize("parameter", ALL, ids=lambda parameter: parameter.name)
def test_every_parameter_is_described_in_sentences(parameter):
    """They begin with a verb: "Sets the mass of the cart."."""
    assert is_sentence(parameter.description)
    assert describe_allowed(parameter)


@pytest.mark.parametrize("node", tables.NODES)
def test_no_node_has_two_parameters_of_one_name(node):
    assert len(tables.all_parameters(node)) == len(tables.NODES[node])


def test_no_parameter_is_also_a_group():
    names = {parameter.name for parameter in ALL}
    assert not [name for name in names if any(other.startswith(f"{name}.") for other in names)]


def test_an_unknown_name_gets_the_nearest_known_one():
    with pytest.raises(
        ValueError,
        match=r"here: rod\.mas is not a known parameter; did you mean rod\.mass\? list all with "
        r".*parameters",
    ):
        tables.lookup("rod.mas", "here")


def test_an_option_of_a_law_is_sent_to_its_section():
    with pytest.raises(
        ValueError, match=r"policy\.file is not a known parameter; an option of a control law "
    ):
        tables.lookup("policy.file", "here")


def test_a_name_of_another_node_is_unknown_to_this_one():
    assert tables.lookup("armed", "here").name == "armed"
    with pytest.raises(ValueError, match="armed is not a known parameter"):
        tables.lookup("armed", "here", "pendulum_simulator")


def test_a_group_is_not_a_parameter():
    with pytest.raises(
        ValueError,
        match=r"here: cart is a group of parameters, not one: cart\.mass, cart\.damping",
    ):
        tables.lookup("cart", "here")


@pytest.mark.parametrize("node", tables.NODES)
def test_no_two_parameters_of_a_node_have_the_same_description(node):
    described = [parameter.description for parameter in tables.NODES[node]]
    assert len(set(described)) == len(described)
