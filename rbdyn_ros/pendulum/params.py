"""The physical parameters of the pendulum as a user writes them: one declaration, which compiles
no kernel when it is read.
"""

import math
from typing import Annotated, NamedTuple

from rbdyn_ros.schema import check_record, direction, format_value, spec, unit_quaternion
from rbdyn_ros.types import PART, Contacts


def _read_distance(point: tuple[float, ...]) -> tuple[float, ...]:
    """Return (l,) from (l,) or (0, 0, l). Raise ValueError for a point off the axis."""
    if len(point) == 3 and (point[0] != 0.0 or point[1] != 0.0):
        raise ValueError(
            "it must lie on the rod's axis, [0, 0, distance]: the principal axes are those of "
            "the rod"
        )
    return point[-1:]


def _check_inertia(inertia: tuple[float, ...]) -> tuple[float, ...]:
    """Return the principal moments of a mass distribution. Raise ValueError for others.

    None of these exceeds the sum of the others (it is equal for a thin rod).
    """
    largest = max(inertia, default=0.0)
    others = math.fsum(inertia) - largest
    if largest > others * (1.0 + 1e-9):
        raise ValueError(
            f"no body has such moments: the largest, {largest:g}, must be <= the sum of the "
            f"others, {others:g}"
        )
    return inertia


SIZES = {  # shape: (how many numbers, what they are)
    "box": (3, "its edges along x, y and z, [a, b, c]"),
    "cylinder": (2, "[radius, length]; its axis is z"),
    "sphere": (1, "[radius]"),
    "wall": (0, "no size, []: it is a half space"),
}
Vector = tuple[float, float, float]


class Obstacle(NamedTuple):
    """An obstacle, at rest or moving, that the rod or the cart can meet."""

    name: str
    shape: Annotated[
        str,
        spec(
            "Sets the shape of the obstacle; a wall is a half space that the tip and the cart "
            "meet.",
            choices=tuple(SIZES),
        ),
    ] = "sphere"
    position: Annotated[
        Vector,
        spec("Places the center of the obstacle, or a point of the wall, at the start.", "m"),
    ] = (0.0, 0.0, 0.0)
    orientation: Annotated[
        tuple[float, float, float, float],
        spec(
            "Sets the orientation of a box or a cylinder as a unit quaternion w x y z from its "
            "axes to those of the world.",
            refine=unit_quaternion,
        ),
    ] = (1.0, 0.0, 0.0, 0.0)
    size: Annotated[
        tuple[float, ...],
        spec(
            "Sets the size of the obstacle: [radius] of a sphere, [a, b, c] of a box, "
            "[radius, length] of a cylinder.",
            "m",
            above=0.0,
            length=(0, 1, 2, 3),
        ),
    ] = ()
    normal: Annotated[Vector, spec("Sets the direction out of a wall.", refine=direction)] = (
        0.0,
        0.0,
        1.0,
    )
    velocity: Annotated[
        Vector,
        spec(
            "Moves the obstacle from its position with a constant velocity; a reset puts it back.",
            "m/s",
        ),
    ] = (0.0, 0.0, 0.0)
    friction: Annotated[float, spec("Sets the Coulomb friction mu of the obstacle.", low=0.0)] = (
        0.0
    )
    restitution: Annotated[
        float, spec("Sets the Newton restitution e_n of the obstacle.", **PART)
    ] = 0.0


class Params(NamedTuple):
    """The physical parameters; `None` is computed from the geometry of a solid cylinder."""

    gravity: Annotated[
        float, spec("Sets the acceleration of gravity, which points along -z.", "m/s^2", low=0.0)
    ] = 9.81
    cart_mass: Annotated[float, spec("Sets the mass of the cart.", "kg", "cart.mass", low=0.0)] = (
        2.0
    )
    cart_damping: Annotated[
        float, spec("Sets the viscous friction of the cart.", "N s/m", "cart.damping", low=0.0)
    ] = 0.0
    cart_friction: Annotated[
        float,
        spec(
            "Sets the Coulomb friction of the cart, a force against its velocity that is constant "
            "above a few mm/s and smoothed below.",
            "N",
            "cart.friction",
            low=0.0,
        ),
    ] = 0.0
    cart_fixed: Annotated[
        bool,
        spec(
            "Holds the cart in place, so that the joint becomes a fixed pivot.", "", "cart.fixed"
        ),
    ] = False
    rod_mass: Annotated[float, spec("Sets the mass of the rod.", "kg", "rod.mass", above=0.0)] = (
        1.0
    )
    rod_length: Annotated[
        float,
        spec(
            "Sets the length of the rod, from the joint to the tip.", "m", "rod.length", above=0.0
        ),
    ] = 2.4
    rod_radius: Annotated[
        float, spec("Sets the radius of the rod.", "m", "rod.radius", above=0.0)
    ] = 0.02
    rod_center_of_mass: Annotated[
        float | None,
        spec(
            "Sets the distance from the joint to the center of mass, or the point [0, 0, "
            "distance]; "
            "if empty, it is half the length.",
            "m",
            "rod.center_of_mass",
            length=(0, 1, 3),
            refine=_read_distance,
        ),
    ] = None
    rod_inertia: Annotated[
        tuple[float, ...] | None,
        spec(
            "Sets the principal moments of inertia about the center of mass, the third along the "
            "rod; if empty, they are those of a solid cylinder.",
            "kg m^2",
            "rod.inertia",
            above=0.0,
            length=(0, 3),
            refine=_check_inertia,
        ),
    ] = None
    joint_damping: Annotated[
        float,
        spec(
            "Sets the viscous friction of the ball joint, which is equal about every axis.",
            "N m s/rad",
            "joint.damping",
            low=0.0,
        ),
    ] = 0.0
    joint_friction: Annotated[
        float,
        spec(
            "Sets the Coulomb friction of the ball joint, a torque against its angular velocity "
            "that is constant above a few mrad/s and smoothed below.",
            "N m",
            "joint.friction",
            low=0.0,
        ),
    ] = 0.0
    contacts: Contacts = Contacts()  # what it can meet


def check_obstacle(obstacle: Obstacle) -> Obstacle:
    """Return an obstacle, each field in its own type. Raise ValueError for the first that is out
    of range, or a size that the shape has not.
    """
    prefix = f"obstacle.{obstacle.name}."
    obstacle = check_record(obstacle, "Obstacle", prefix)
    count, what = SIZES[obstacle.shape]
    if len(obstacle.size) != count:
        size = format_value(obstacle.size, "m")
        raise ValueError(f"{prefix}size is {size}; a {obstacle.shape} has {what}")
    return obstacle


def check_stops(contacts: Contacts) -> Contacts:
    """Return the contacts. Raise ValueError for rails of no length."""
    for axis, low, high in zip("xy", contacts.stop_low, contacts.stop_high, strict=True):
        if not low < high:
            raise ValueError(
                f"contact.stops.{axis}_min is {low:g} m; it must be < contact.stops.{axis}_max, "
                f"{high:g} m"
            )
    return contacts


def cylinder_inertia(mass: float, length: float, radius: float) -> tuple[float, float, float]:
    """Return the principal inertia of a solid cylinder about its center, axis 3 along it
    [kg m^2].
    """
    # products: a power of a float raises OverflowError
    across = mass * (3.0 * radius * radius + length * length) / 12.0
    return (across, across, 0.5 * mass * (radius * radius))
