"""The parameters of the faults: each reaches its number."""

import pytest

from rbdyn_ros.parameters.simulation import actual_plant
from rbdyn_ros.parameters.yaml_file import assignment, offline_values
from rbdyn_ros.plant.faults.fault_options import FAULTS, SEED, Faults, faults
from rbdyn_ros.schema import check

DEFAULTS = {parameter.name: parameter.default for parameter in FAULTS}


def numbers(options) -> list:
    """Every number of nested tuples."""
    return (
        [n for value in options for n in numbers(value)]
        if isinstance(options, tuple)
        else [options]
    )


def test_by_default_nothing_is_wrong():
    assert faults(DEFAULTS) == Faults() and not any(numbers(Faults()))


@pytest.mark.parametrize("parameter", FAULTS, ids=lambda parameter: parameter.name)
def test_each_parameter_reaches_a_number_of_its_own(parameter):
    value = check(
        parameter,
        [0.25] * len(parameter.default) if parameter.kind == "float_array" else 0.25,
        "test",
    )
    made = faults({**DEFAULTS, parameter.name: value})
    assert [n for n in numbers(made) if n] == numbers((value,))
    *_, group, name = parameter.name.split(".")
    assert (
        getattr(made, f"{group}_{name}")
        if group in ("command", "state")
        else getattr(getattr(made, group), name)
    ) == value


@pytest.mark.parametrize(
    "name, value, sentence",
    [
        (
            "faults.command.drop",
            1.5,
            "faults.command.drop is 1.5; it must be a finite number >= 0 and <= 1",
        ),
        ("faults.command.delay", -0.001, "faults.command.delay is -0.001 s; it must be"),
        ("faults.noise.angle", float("nan"), "faults.noise.angle is nan rad"),
        ("faults.bias.angle", [0.1], "a list of 3 finite numbers"),
        (
            "faults.mismatch.rod_mass",
            -1.0,
            "faults.mismatch.rod_mass is -1.0; it must be a finite number >= -0.9",
        ),
        ("seed", -1, "seed is -1; it must be a whole number >= 0"),
    ],
)
def test_what_cannot_be_is_refused_with_a_sentence(name, value, sentence):
    parameter = next(p for p in (SEED, *FAULTS) if p.name == name)
    with pytest.raises(ValueError) as error:
        check(parameter, value, "here")
    assert sentence in str(error.value)


def test_a_simulation_without_nodes_has_the_actual_plant_and_no_other_faults(tmp_path):
    file = tmp_path / "worn.yaml"
    file.write_text("faults: {mismatch: {rod_mass: 0.5}, command: {drop: 0.5}}")
    values = offline_values([file])
    assert actual_plant(values).rod_mass == 1.5 and "faults.command.drop" not in values
    with pytest.raises(
        ValueError, match="faults.command.drop cannot be set; it is a parameter of the nodes"
    ):
        offline_values([], [assignment("faults.command.drop=0.5")])
