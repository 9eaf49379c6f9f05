"""Integrators by name: what is known, what is refused, and with which sentence."""

import math

import pytest
from plants import PENDULUM

from rbdyn_ros.integrators.select import names, select


def test_every_name_can_be_selected():
    assert {"rk4", "moser_veselov", "quaternion_midpoint"} <= set(names())
    for name in names():
        assert select(name).name == name


def test_composition_raises_the_order():
    orders = [
        select("quaternion_midpoint", c).order
        for c in ("none", "suzuki4", "kahan_li6", "kahan_li8")
    ]
    assert orders == [2, 4, 6, 8]


def test_options_of_the_same_form_are_of_one_class():
    """Numba takes 0.2 ms a call to tell two such classes apart."""
    classes = {type(select(name).options(PENDULUM)) for name in names()}
    forms = {(each.__name__, each._fields) for each in classes}
    assert len(forms) == len(classes)


def test_gamma_is_in_units_of_the_smallest_inertia():
    options = select("quaternion_midpoint", gamma=2.0).options(PENDULUM)
    assert options.gamma == 2.0 * 0.0002


def test_options_do_not_share_the_table_of_weights():
    options = select("moser_veselov").options(PENDULUM)
    options.weights[0] = 7.0
    assert select("moser_veselov").options(PENDULUM).weights[0] == 1.0


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (
            dict(name="rk5"),
            (
                r"integrator.name is 'rk5'; it must be one of "
                r".*moser_veselov.*quaternion_midpoint.*rk4"
            ),
        ),
        (dict(name="../rk4"), "integrator.name is '../rk4'; it must be one of"),
        (dict(name="memory"), "integrator.name is 'memory'; it must be one of"),
        (
            dict(name="moser_veselov", composition="yoshida"),
            "integrator.composition is 'yoshida'; it must be one of none, suzuki4",
        ),
        (
            dict(name="rk4", composition="suzuki4"),
            "rk4 is not symmetric; take 'none' or one of .*moser_veselov",
        ),
        (
            dict(name="rk4", tolerance=0.0),
            "integrator.tolerance is 0.0; it must be a finite number > 0",
        ),
        (dict(name="rk4", tolerance=math.nan), "integrator.tolerance is nan"),
        (
            dict(name="rk4", max_iterations=0),
            "integrator.max_iterations is 0; it must be a whole number >= 1 and <= 1000",
        ),
        (
            dict(name="rk4", gamma=-1.0),
            "integrator.gamma is -1.0; it must be a finite number >= 0",
        ),
        (dict(name="rk4", gamma=math.inf), "integrator.gamma is inf"),
    ],
)
def test_refusals_name_the_parameter_its_value_and_the_range(arguments, sentence):
    with pytest.raises(ValueError, match=sentence):
        select(**arguments)
