"""The spherical pendulum: geometry to numbers, its starts, its points, its refusals."""

import math

import numpy as np
import pytest
from plants import spinning

from rbdyn_ros.geometry import unit_quaternion
from rbdyn_ros.pendulum.spherical_pendulum import (
    Params,
    build,
    center_of_mass,
    cylinder_inertia,
    no_input,
    point,
    quantities,
    upright,
)
from rbdyn_ros.types import OBSTACLE, Contacts


def test_default_rod_is_the_cylinder_of_the_reference_data():
    system = build(Params())
    assert system.inertia == pytest.approx((0.4801, 0.4801, 0.0002), rel=1e-12)
    assert system.center == 1.2


def test_cylinder_inertia_by_quadrature():
    """I = integral of (r^2 - x_i^2) dm over a solid cylinder, Gauss-Legendre along it and in
    rings.
    """
    m, length, radius = 2.0, 1.5, 0.3
    nodes, weights = np.polynomial.legendre.leggauss(8)
    z, ring = 0.5 * length * nodes, 0.5 * radius * (nodes + 1.0)
    rho = m / (np.pi * radius**2 * length)
    dm = rho * np.outer(0.5 * length * weights, 0.5 * radius * weights * 2.0 * np.pi * ring)
    axial = (dm * ring**2).sum()
    across = (
        dm * (z[:, None] ** 2 + 0.5 * ring**2)
    ).sum()  # the mean of y^2 on a ring is ring^2/2
    assert cylinder_inertia(m, length, radius) == pytest.approx((across, across, axial))


def numbers(value):
    """Every number of a nested tuple."""
    return [n for item in value for n in numbers(item)] if isinstance(value, tuple) else [value]


def test_every_number_of_a_system_is_a_float():
    """An integer would compile every kernel once more."""
    system = build(
        Params(gravity=10, cart_mass=2, rod_mass=1, rod_inertia=(1, 1, 1), rod_center_of_mass=1)
    )
    *contacts, obstacles = system.contacts
    assert all(type(n) is float for n in numbers((*system._replace(contacts=()), *contacts)))
    assert obstacles.dtype == OBSTACLE


@pytest.mark.parametrize(
    ("tilt", "azimuth"), [(0.1, 0.0), (0.5, 1.0), (3.0, -2.5), (math.pi, 0.3)]
)
def test_upright_tilts_towards_the_azimuth(tilt, azimuth):
    state = upright(tilt, azimuth)
    n = unit_quaternion.rotate(tuple(state.q[2:].tolist()), (0.0, 0.0, 1.0))
    s = math.sin(tilt)
    assert n == pytest.approx(
        (s * math.cos(azimuth), s * math.sin(azimuth), math.cos(tilt)), abs=1e-15
    )
    assert not state.v.any() and not state.q[:2].any()


def test_points_of_the_rod():
    state, system = spinning(), build(Params())
    assert point(state.q, (0, 0, 0)) == pytest.approx([0.1, -0.2, 0.0])
    tip = point(state.q, (0.0, 0.0, 2.4))
    assert tip == pytest.approx(2.0 * center_of_mass(system, state.q) - [0.1, -0.2, 0.0])


def test_energy_of_a_rod_at_rest_is_its_height():
    system = build(Params())
    E, Lz, Px, Py, p3 = quantities(system, upright().q, upright().v)
    assert E == pytest.approx(9.81 * 1.2) and (Lz, Px, Py, p3) == (0.0, 0.0, 0.0, 0.0)


def test_no_input_is_nothing():
    input = no_input()
    assert not input.force.any() and input.sines.shape == (0, 4) and not input.disturbance.any()


@pytest.mark.parametrize(
    ("params", "sentence"),
    [
        (Params(rod_mass=-1.0), "Params: rod.mass is -1.0 kg; it must be a finite number > 0"),
        (Params(rod_mass=0.0), "rod.mass is 0.0 kg; it must be a finite number > 0"),
        (Params(rod_mass=math.nan), "rod.mass is nan kg; it must be a finite number > 0"),
        (Params(rod_length=-2.4), "rod.length is -2.4 m; it must be a finite number > 0"),
        (
            Params(rod_length=1e200),
            r"rod.length is 1e\+200 m .* cannot be computed with; .* is \(inf, inf, 0",
        ),
        (Params(rod_radius=0.0), "rod.radius is 0.0 m; it must be a finite number > 0"),
        (Params(rod_radius=1e-200), r"is 1e-200 m: .* cannot be computed with; .*, 0.0\) kg m\^2"),
        (Params(cart_mass=-2.0), "cart.mass is -2.0 kg; it must be a finite number >= 0"),
        (Params(cart_mass=math.inf), "cart.mass is inf kg; it must be a finite number >= 0"),
        (Params(cart_damping=-0.1), "cart.damping is -0.1 N s/m; it must be a finite number >= 0"),
        (Params(cart_fixed="no"), "cart.fixed is 'no'; it must be true or false"),
        (Params(joint_damping=math.nan), "joint.damping is nan N m s/rad; it must be a finite"),
        (Params(gravity=math.nan), "gravity is nan m/s.2; it must be a finite number >= 0"),
        (Params(gravity=-9.81), "gravity is -9.81 m/s.2; it must be a finite number >= 0"),
        (
            Params(rod_inertia=(0.4, math.nan, 0.1)),
            r"rod.inertia is \[0.4, nan, 0.1\] kg m\^2; it",
        ),
        (
            Params(rod_inertia=(0.4, 0.4, 0.0)),
            r"rod.inertia is \[0.4, 0.4, 0.0\] kg m\^2; it must",
        ),
        (Params(rod_inertia=(0.4, 0.4)), r"rod.inertia is \[0.4, 0.4\] kg m\^2; it must be .* 3"),
        (Params(rod_inertia=(1, 1, 5)), "no body has such moments: the largest, 5, must be <= "),
        (Params(rod_center_of_mass=math.inf), "rod.center_of_mass is inf m; it must be"),
    ],
)
def test_refusals_name_the_number(params, sentence):
    with pytest.raises(ValueError, match=sentence):
        build(params)


@pytest.mark.parametrize(
    ("contacts", "sentence"),
    [
        (Contacts(floor=2.0), "Params: contact.floor.enabled is 2.0; it must be true or false"),
        (Contacts(floor_height=0.1), "contact.floor.height is 0.1 m; it must be .* <= 0"),
        (Contacts(floor_friction=-0.1), "contact.floor.friction is -0.1; it must be .* >= 0"),
        (Contacts(stop_restitution=1.1), "contact.stops.restitution is 1.1; it must be .* <= 1"),
        (Contacts(stop_low=(1, -1), stop_high=(0, 1)), "stops.x_min is 1 m; it must be < .*, 0 m"),
        (Contacts(stop_high=(1.0, math.nan)), "contact.stops.y_min is -inf m; it must be <"),
        (Contacts(obstacle=3.0), "contact.obstacle.kind is 3.0; it must be one of none, sphere"),
        (Contacts(obstacle_normal=(0, 0, 0)), "contact.obstacle.normal is .*: a vector that is"),
        (Contacts(obstacle_radius=math.nan), "contact.obstacle.radius is nan m; it must be"),
        (
            Contacts(impact_law=-1.0),
            "contact.impact_law is -1.0; it must be one of bounded_newton",
        ),
    ],
)
def test_refusals_name_the_contact(contacts, sentence):
    with pytest.raises(ValueError, match=sentence):
        build(Params(contacts=contacts))


def test_contacts_keep_their_numbers():
    """Flags and choices are numbers in the record, words in a file."""
    given = Contacts(1, -1, 0.5, obstacle=2, obstacle_normal=(0, 0, 2), impact_law=3)
    expected = Contacts(1.0, -1.0, 0.5, obstacle=2.0, impact_law=3.0)
    contacts = build(Params(contacts=given)).contacts
    assert contacts[:-1] == expected[:-1] and isinstance(contacts.floor, float)


def test_massless_and_fixed_carts_are_regular():
    assert build(Params(cart_mass=0.0)).cart_mass == 0.0
    assert build(Params(cart_fixed=True)).cart_free == 0.0
