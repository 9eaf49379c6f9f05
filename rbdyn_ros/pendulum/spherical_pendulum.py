"""The inverted spherical pendulum: a rod, ball-jointed to a cart that slides in a plane.

Its mechanics (momenta, energy, forces) are those of `pendulum.rod_on_cart`.
"""

import math

import numpy as np

from rbdyn_ros.geometry import unit_quaternion
from rbdyn_ros.pendulum.params import Params, check_stops, cylinder_inertia
from rbdyn_ros.pendulum.rod_on_cart import quantities
from rbdyn_ros.schema import check_record
from rbdyn_ros.types import Contacts, Input, State, System

__all__ = [
    "Params",
    "build",
    "center_of_mass",
    "cylinder_inertia",
    "no_input",
    "point",
    "quantities",
    "upright",
]


def build(params: Params) -> System:
    """Return the numbers that a step needs.

    Raise ValueError naming one that is out of its range, as in a parameter file.
    """
    params = check_record(params, "Params")
    inertia = params.rod_inertia
    if inertia is None:
        inertia = cylinder_inertia(params.rod_mass, params.rod_length, params.rod_radius)
    if not all(0.0 < moment < math.inf for moment in inertia):
        raise ValueError(
            f"rod.mass is {params.rod_mass} kg, rod.length is {params.rod_length} m and "
            f"rod.radius is {params.rod_radius} m: numbers of this size cannot be computed with; "
            f"the inertia is {inertia} kg m^2"
        )
    center = params.rod_center_of_mass
    return System(
        cart_mass=params.cart_mass,
        cart_free=0.0 if params.cart_fixed else 1.0,
        cart_damping=params.cart_damping,
        rod_mass=params.rod_mass,
        center=params.rod_length / 2.0 if center is None else center,
        inertia=inertia,
        joint_damping=params.joint_damping,
        gravity=params.gravity,
        contacts=_checked(params.contacts._replace(length=params.rod_length)),
        cart_friction=params.cart_friction,
        joint_friction=params.joint_friction,
    )


def _checked(contacts: Contacts) -> Contacts:
    """Return the contacts with integers as floats, for each other type would compile the stepper
    once more. Raise ValueError naming one that is out of its range.
    """
    contacts = check_stops(check_record(contacts, "Params"))
    numbers = (tuple(map(float, v)) if isinstance(v, tuple) else float(v) for v in contacts[:-1])
    return Contacts._make([*numbers, contacts.obstacles])


def no_input() -> Input:
    """Return the input with which nothing acts on the plant."""
    return Input(np.zeros(2), np.zeros((0, 4)), np.zeros(9))


def upright(tilt: float = 0.0, azimuth: float = 0.0) -> State:
    """Return the state of the rod at rest, `tilt` [rad] from the vertical towards `azimuth` [rad],
    with the cart at the origin.
    """
    s = math.sin(tilt / 2.0)
    q = (0.0, 0.0, math.cos(tilt / 2.0), -s * math.sin(azimuth), s * math.cos(azimuth), 0.0)
    return State(0.0, np.array(q), np.zeros(5))


def center_of_mass(system: System, q: np.ndarray) -> np.ndarray:
    """Return the position of the rod's center of mass: (x, y, 0) + R c, (3,) [m, world]."""
    return point(q, (0.0, 0.0, system.center))


def point(q: np.ndarray, p_b: tuple[float, float, float]) -> np.ndarray:
    """Return the position of the rod's point `p_b` [m, body, from the joint], (3,) [m, world]."""
    return np.array((q[0], q[1], 0.0)) + unit_quaternion.rotate(
        tuple(q[2:].tolist()), tuple(map(float, p_b))
    )
