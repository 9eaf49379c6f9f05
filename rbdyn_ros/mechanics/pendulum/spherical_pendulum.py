"""The inverted spherical pendulum: a rod, ball-jointed to a cart that slides in a plane.

Its mechanics (momenta, energy, forces) are those of `mechanics.pendulum.rod_on_cart`.
"""

import math

import numpy as np

from rbdyn_ros.geometry import unit_quaternion
from rbdyn_ros.mechanics.pendulum.params import Params, cylinder_inertia
from rbdyn_ros.mechanics.pendulum.rod_on_cart import quantities
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

    Raise ValueError naming one with which the equations of motion would be singular.
    """
    inertia = params.rod_inertia
    if inertia is None:
        inertia = cylinder_inertia(params.rod_mass, params.rod_length, params.rod_radius)
    center = params.rod_center_of_mass
    system = System(
        cart_mass=float(params.cart_mass),
        cart_free=0.0 if params.cart_fixed else 1.0,
        cart_damping=float(params.cart_damping),
        rod_mass=float(params.rod_mass),
        center=float(params.rod_length / 2.0 if center is None else center),
        inertia=tuple(float(i) for i in inertia),
        joint_damping=float(params.joint_damping),
        gravity=float(params.gravity),
        contacts=_convert_to_floats(params.contacts._replace(length=params.rod_length)),
    )
    _check(system)
    return system


def _convert_to_floats(contacts: Contacts) -> Contacts:
    """Return the contacts with integers as floats, for each other type would compile the stepper
    once more.
    """
    numbers = (tuple(map(float, v)) if isinstance(v, tuple) else float(v) for v in contacts[:-1])
    return Contacts._make([*numbers, contacts.obstacles])


def _check(system: System) -> None:
    """Raise ValueError for a number that is not finite or makes the mass matrix singular."""
    if len(system.inertia) != 3:
        raise ValueError(
            f"rod.inertia is {system.inertia} kg m^2; it must be three principal moments"
        )
    positive = {"rod.mass": system.rod_mass} | {
        f"rod.inertia[{i}]": moment for i, moment in enumerate(system.inertia)
    }
    not_negative = {
        "cart.mass": system.cart_mass,
        "cart.damping": system.cart_damping,
        "joint.damping": system.joint_damping,
    }
    any_sign = {"gravity": system.gravity, "rod.center_of_mass": system.center}
    for name, value in (positive | not_negative | any_sign).items():
        if not math.isfinite(value):
            raise ValueError(f"{name} is {value}; it must be finite")
        if value < 0.0 and name not in any_sign or value == 0.0 and name in positive:
            raise ValueError(
                f"{name} is {value}; it must be {'> 0' if name in positive else '>= 0'}"
            )


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
