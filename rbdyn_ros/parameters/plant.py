"""The physics: gravity, cart, rod and joint. Read by the simulator, by the controllers' design and by the URDF."""

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

from rbdyn_ros.parameters.contact import contacts
from rbdyn_ros.schema import Parameter

if TYPE_CHECKING:  # the tables are read without Numba, so that --help is quick
    from rbdyn_ros.mechanics.pendulum.spherical_pendulum import Params


def _on_axis(point: tuple) -> tuple:
    """(l,) from (l,) or (0, 0, l)."""
    if len(point) == 3 and (point[0] != 0.0 or point[1] != 0.0):
        raise ValueError(
            "it must lie on the rod's axis, [0, 0, distance]: the principal axes are those of "
            "the rod"
        )
    return point[-1:]


def _of_a_body(inertia: tuple) -> tuple:
    """Principal moments of a mass distribution.

    None exceeds the sum of the others (it is equal for a thin rod).
    """
    largest = max(inertia, default=0.0)
    others = math.fsum(inertia) - largest
    if largest > others * (1.0 + 1e-9):
        raise ValueError(
            f"no body has such moments: the largest, {largest:g}, must be <= the sum of the "
            f"others, {others:g}"
        )
    return inertia


PLANT = (
    Parameter(
        "gravity",
        9.81,
        "m/s^2",
        "Sets the acceleration of gravity, which points along -z.",
        low=0.0,
    ),
    Parameter("cart.mass", 2.0, "kg", "Sets the mass of the cart.", low=0.0),
    Parameter("cart.damping", 0.0, "N s/m", "Sets the viscous friction of the cart.", low=0.0),
    Parameter(
        "cart.fixed",
        False,
        "",
        "Holds the cart in place, so that the joint becomes a fixed pivot.",
        "bool",
    ),
    Parameter("cart.force_limit", 20.0, "N", "Limits the norm of a commanded force.", low=0.0),
    Parameter(
        "cart.travel",
        2.0,
        "m",
        "Limits how far the cart may move from the origin along x and along y.",
        low=0.0,
        low_open=True,
    ),
    Parameter("rod.mass", 1.0, "kg", "Sets the mass of the rod.", low=0.0, low_open=True),
    Parameter(
        "rod.length",
        2.4,
        "m",
        "Sets the length of the rod, from the joint to the tip.",
        low=0.0,
        low_open=True,
    ),
    Parameter("rod.radius", 0.02, "m", "Sets the radius of the rod.", low=0.0, low_open=True),
    Parameter(
        "rod.center_of_mass",
        (),
        "m",
        "Sets the distance from the joint to the center of mass, or the point [0, 0, distance]; "
        "if empty, it is half the length.",
        "float_array",
        length=(0, 1, 3),
        refine=_on_axis,
    ),
    Parameter(
        "rod.inertia",
        (),
        "kg m^2",
        "Sets the principal moments of inertia about the center of mass, the third along the "
        "rod; if empty, they are those of a solid cylinder.",
        "float_array",
        low=0.0,
        low_open=True,
        length=(0, 3),
        refine=_of_a_body,
    ),
    Parameter(
        "joint.damping",
        0.0,
        "N m s/rad",
        "Sets the viscous friction of the ball joint, which is equal about every axis.",
        low=0.0,
    ),
)


def plant_params(values: Mapping) -> "Params":
    """The physics from checked values by name; an empty centre of mass or inertia is left to the geometry.

    A controller reads no contacts: it is designed for the pendulum that meets nothing.
    """
    from rbdyn_ros.mechanics.pendulum.spherical_pendulum import Params
    from rbdyn_ros.types import Contacts

    center, inertia = values["rod.center_of_mass"], values["rod.inertia"]
    return Params(
        gravity=values["gravity"],
        cart_mass=values["cart.mass"],
        cart_damping=values["cart.damping"],
        cart_fixed=values["cart.fixed"],
        rod_mass=values["rod.mass"],
        rod_length=values["rod.length"],
        rod_radius=values["rod.radius"],
        rod_center_of_mass=center[0] if center else None,
        rod_inertia=inertia or None,
        joint_damping=values["joint.damping"],
        contacts=contacts(values, values["rod.length"])
        if "contact.bias" in values
        else Contacts(),
    )
