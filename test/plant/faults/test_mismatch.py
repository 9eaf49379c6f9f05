"""The plant that is and the plant that is believed in."""

import pytest

from rbdyn_ros.pendulum.spherical_pendulum import Params, build
from rbdyn_ros.plant.faults.fault_options import Faults, Mismatch, actual


def test_a_perfect_model_is_the_plant():
    declared = Params()
    assert actual(declared, Faults()) is declared


@pytest.mark.parametrize(
    "name, number",
    [
        ("gravity", lambda s: s.gravity),
        ("cart_mass", lambda s: s.cart_mass),
        ("cart_damping", lambda s: s.cart_damping),
        ("rod_mass", lambda s: s.rod_mass),
        ("center_of_mass", lambda s: s.center),
        ("inertia", lambda s: s.inertia[0]),
        ("joint_damping", lambda s: s.joint_damping),
    ],
)
def test_each_number_differs_by_its_part(name, number):
    declared = Params(
        cart_damping=0.5, joint_damping=0.005, rod_center_of_mass=1.0, rod_inertia=(0.5, 0.5, 0.01)
    )
    wrong = Faults(mismatch=Mismatch(**{name: 0.2}))
    true = actual(declared, wrong)
    assert number(build(true)) == pytest.approx(1.2 * number(build(declared)))
    same = {field for field in Params._fields if getattr(true, field) == getattr(declared, field)}
    assert len(same) == len(Params._fields) - 1


def test_a_longer_rod_takes_its_center_and_its_inertia_along():
    true = build(actual(Params(), Faults(mismatch=Mismatch(rod_length=0.1))))
    assert true == build(Params(rod_length=2.4 * 1.1))
