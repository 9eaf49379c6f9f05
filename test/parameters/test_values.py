"""From checked values to the nouns: plant, start, input, integrator; and the shipped files."""

import sys
from pathlib import Path

import numpy as np
import pytest

from rbdyn_ros import parameters
from rbdyn_ros.parameters import tables, yaml_file
from rbdyn_ros.parameters.yaml_file import assignment, offline_values
from rbdyn_ros.pendulum import spherical_pendulum
from rbdyn_ros.plant.setup import plant_setup
from rbdyn_ros.types import Contacts

CONFIG = Path(__file__).parents[2] / "config"
PRODUCT = Path(__file__).parents[2] / "rbdyn_ros"


def values(*assignments):
    return offline_values([], map(assignment, assignments))


def test_the_tables_and_the_model_have_the_same_defaults():
    assert parameters.plant_params(values()) == spherical_pendulum.Params()


def test_every_field_of_the_plant_comes_from_its_own_parameter():
    words = [
        "gravity=1",
        "cart.mass=2",
        "cart.damping=3",
        "cart.friction=4",
        "cart.fixed=true",
        "rod.mass=5",
        "rod.length=6",
        "rod.radius=7",
    ]
    words += ["rod.center_of_mass=[0,0,8]", "rod.inertia=[9,10,11]", "joint.damping=12"]
    words += ["joint.friction=13"]
    params = parameters.plant_params(values(*words))
    assert params[:-1] == (
        *(1.0, 2.0, 3.0, 4.0, True, 5.0, 6.0, 7.0, 8.0),
        *((9.0, 10.0, 11.0), 12.0, 13.0),
    )
    assert params.contacts == Contacts(length=6.0)


def test_the_geometry_of_the_default_rod():
    system = spherical_pendulum.build(parameters.plant_params(values()))
    assert (
        system.inertia == pytest.approx((0.4801, 0.4801, 0.0002), rel=1e-12)
        and system.center == 1.2
    )


def test_the_start():
    words = [
        "initial.orientation=[0,1,0,0]",
        "initial.angular_velocity=[1,2,3]",
        "initial.cart_position=[4,5]",
        "initial.cart_velocity=[6,7]",
    ]
    state = parameters.initial_state(values(*words))
    np.testing.assert_array_equal(state.q, [4, 5, 0, 1, 0, 0])
    np.testing.assert_array_equal(state.v, [6, 7, 1, 2, 3])


def test_a_fixed_cart_has_no_velocity():
    with pytest.raises(
        ValueError, match=r"initial.cart_velocity is \[1.0, 0.0\] m/s and cart.fixed is true"
    ):
        parameters.initial_state(values("cart.fixed=true", "initial.cart_velocity=[1,0]"))


def test_sines_by_axis():
    sines = parameters.plant_input(
        values("input.force_x=[1,2,3,4,5,6]", "input.force_y=[7,8,9]")
    ).sines
    np.testing.assert_array_equal(sines, [[0, 1, 2, 3], [0, 4, 5, 6], [1, 7, 8, 9]])
    assert parameters.plant_input(values()).sines.shape == (0, 4)


def test_the_integrator():
    chosen = parameters.integrator(
        values("integrator.name=moser_veselov", "integrator.composition=suzuki4")
    )
    assert (chosen.name, chosen.composition, chosen.order) == ("moser_veselov", "suzuki4", 4)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("rod.mass", "--set rod.mass: a value is missing; write NAME=VALUE"),
        ("rod.mass=", "--set rod.mass=: rod.mass is null; it must be"),
        ("rod.mass=[", r"--set rod.mass=\[: '\[' is not a value"),
        ("rod.mass=-1", "--set rod.mass=-1: rod.mass is -1 kg; it must be a finite number > 0"),
        (
            "rdo.mass=1",
            r"--set rdo.mass=1: rdo.mass is not a known parameter; did you mean rod.mass\?",
        ),
        (
            "rates.tf=1",
            (
                "--set rates.tf=1: rates.tf cannot be set; it is a parameter of the nodes and has "
                "no effect without them"
            ),
        ),
    ],
)
def test_assignments_that_cannot_be(text, sentence):
    with pytest.raises(ValueError, match=f"^{sentence}"):
        values(text)


def test_overrides_win_over_files_and_the_last_one_over_the_others(tmp_path):
    (tmp_path / "a.yaml").write_text("gravity: 1\nrod.mass: 2\n")
    result = offline_values([tmp_path / "a.yaml"], map(assignment, ["gravity=3", "gravity=4"]))
    assert (result["gravity"], result["rod.mass"]) == (4.0, 2.0)


def test_a_loop_without_nodes_has_one_plant(tmp_path):
    file = tmp_path / "both.yaml"
    of_both = (
        "/**/pendulum_controller: {{ros__parameters: {{period: 0.01, rod.mass: 1.0}}}}\n"
        "/pendulum_simulator: {{ros__parameters: {{cart.travel: 1.5, rod.mass: {}}}}}\n"
    )
    file.write_text(of_both.format("1.0"))
    found = {name: value for name, (value, _) in yaml_file.read_loop([file]).items()}
    assert found == {"period": 0.01, "rod.mass": 1.0, "cart.travel": 1.5}
    file.write_text(of_both.format("1.2"))
    why = r"both.yaml:1: rod.mass is 1.0 for the controller, and 1.2 for the simulator"
    with pytest.raises(ValueError, match=why):
        yaml_file.read_loop([file])


FILES = sorted({*CONFIG.glob("*.yaml")} - {CONFIG / "ros2_control.yaml"})  # nodes of others


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_every_shipped_file_passes_the_reader(file):
    assert parameters.read_files([file], nodes=tuple(tables.NODES))


def test_pendulum_yaml_is_the_physics_and_nothing_else():
    physics = {parameter.name for parameter in tables.PLANT}
    shipped = parameters.read_files([CONFIG / "pendulum.yaml"])
    assert set(shipped) <= physics
    assert (shipped["cart.damping"][0], shipped["joint.damping"][0]) == (0.5, 0.005)
    assert not physics & set(parameters.read_files([CONFIG / "simulation.yaml"]))


def holds(value: object, number: float) -> bool:
    """Whether a value is the number, or a record, list or mapping with it inside."""
    if isinstance(value, dict):
        value = tuple(value.values())
    if isinstance(value, (list, tuple)):
        return any(holds(one, number) for one in value)
    return isinstance(value, float) and value == number


def test_the_mass_of_the_rod_passes_one_way_from_yaml_to_the_step(tmp_path):
    """Counted are the files of the functions that return it, alone or in what they return."""
    mass, passed = 1.0625, []
    file = tmp_path / "pendulum.yaml"
    file.write_text(f"rod:\n  mass: {mass}\n")

    def look(frame, event, returned):
        source = Path(frame.f_code.co_filename)
        if event == "return" and source.is_relative_to(PRODUCT) and holds(returned, mass):
            passed.append(str(source.relative_to(PRODUCT)))

    defaults = {p.name: p.default for p in tables.NODES["pendulum_simulator"]}
    sys.setprofile(look)
    try:
        given = parameters.read_files([file])
        plant = plant_setup(defaults | {name: value for name, (value, _) in given.items()})
    finally:
        sys.setprofile(None)
    assert plant.system.rod_mass == mass
    assert list(dict.fromkeys(passed)) == [
        "parameters/yaml_loader.py",
        "parameters/yaml_file.py",
        "schema.py",
        "parameters/simulation.py",
        "pendulum/spherical_pendulum.py",
        "plant/setup.py",
    ]
