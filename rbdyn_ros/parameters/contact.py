"""What the pendulum can meet: a floor, the ends of the rails, an obstacle. Part of the physics."""

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

from rbdyn_ros.schema import Parameter

if TYPE_CHECKING:  # the tables are read without Numba, so that --help is quick
    from rbdyn_ros.types import Contacts

_FAR = 1e9  # [m] a rail that long has no end
_KINDS = ("none", "sphere", "half_space")
IMPACT_LAWS = ("bounded_newton", "newton", "poisson", "energetic")


def _direction(normal: tuple) -> tuple:
    """The unit vector along a vector that is not zero."""
    length = math.hypot(*normal)
    if not length > 0.0:
        raise ValueError("it must point somewhere: a vector that is not zero")
    return tuple(n / length for n in normal)


def _restitution(group: str, what: str) -> Parameter:
    description = f"Sets the coefficient of restitution of {what}."
    return Parameter(f"contact.{group}.restitution", 0.0, "", description, low=0.0, high=1.0)


def _surface(group: str, what: str) -> tuple:
    return (
        Parameter(
            f"contact.{group}.friction",
            0.0,
            "",
            f"Sets the coefficient of Coulomb friction of {what}.",
            low=0.0,
        ),
        _restitution(group, what),
    )


CONTACT = (
    Parameter(
        "contact.floor.enabled", False, "", "Adds a floor that the rod's tip can hit.", "bool"
    ),
    Parameter(
        "contact.floor.height",
        -0.1,
        "m",
        "Sets the height of the floor, below the joint, which slides at 0.",
        high=0.0,
    ),
    *_surface("floor", "the floor"),
    *(
        Parameter(
            f"contact.stops.{axis}_{end}",
            sign * _FAR,
            "m",
            "Sets where the cart's rail ends; 1e9 is no end.",
        )
        for axis in "xy"
        for end, sign in (("min", -1.0), ("max", 1.0))
    ),
    _restitution("stops", "the rail ends"),
    Parameter(
        "contact.obstacle.kind",
        "none",
        "",
        "Adds an obstacle: a sphere, or a half space for the tip.",
        "string",
        choices=_KINDS,
    ),
    Parameter(
        "contact.obstacle.center",
        (1.0, 0.0, 1.0),
        "m",
        "Sets the center of the sphere, or a point of the half space's plane.",
        "float_array",
        length=(3,),
    ),
    Parameter(
        "contact.obstacle.normal",
        (0.0, 0.0, 1.0),
        "",
        "Sets the direction out of the half space.",
        "float_array",
        length=(3,),
        refine=_direction,
    ),
    Parameter(
        "contact.obstacle.radius",
        0.1,
        "m",
        "Sets the radius of the sphere.",
        low=0.0,
        low_open=True,
    ),
    *_surface("obstacle", "the obstacle"),
    Parameter(
        "contact.bias",
        0.1,
        "",
        "Sets the fraction of a penetration that a step gives back to a resting contact.",
        low=0.0,
        high=1.0,
    ),
    Parameter(
        "contact.impact_law",
        IMPACT_LAWS[0],
        "",
        "Sets the law of impacts with friction: Newton's restitution, reduced where it would gain "
        "energy (bounded_newton) or kept (newton), Poisson's of impulses, or Stronge's of the "
        "work of the normal force (energetic; where several contacts meet at once, Poisson's).",
        "string",
        choices=IMPACT_LAWS,
    ),
    Parameter(
        "contact.newton_restitution",
        False,
        "",
        "Is the former way to set contact.impact_law to newton.",
        "bool",
    ),
)


def contacts(values: Mapping, length: float) -> "Contacts":
    """What can be met, from checked values by name, by a rod of `length` [m].

    ValueError for rails of no length.
    """
    from rbdyn_ros.parameters.obstacles import obstacles
    from rbdyn_ros.types import Contacts

    value = {
        parameter.name.removeprefix("contact."): values[parameter.name] for parameter in CONTACT
    }
    ends = {
        axis: (_end(value[f"stops.{axis}_min"]), _end(value[f"stops.{axis}_max"])) for axis in "xy"
    }
    for axis, (low, high) in ends.items():
        if not low < high:
            raise ValueError(
                f"contact.stops.{axis}_min is {low:g} m; it must be < contact.stops.{axis}_max, {high:g} m"
            )
    law = value["impact_law"]
    if value["newton_restitution"]:
        if law not in (IMPACT_LAWS[0], "newton"):
            raise ValueError(
                f"contact.newton_restitution is true; contact.impact_law, {law!r}, must be "
                "'newton' or left out then"
            )
        law = "newton"
    return Contacts(
        floor=float(value["floor.enabled"]),
        floor_height=value["floor.height"],
        floor_friction=value["floor.friction"],
        floor_restitution=value["floor.restitution"],
        stop_low=(ends["x"][0], ends["y"][0]),
        stop_high=(ends["x"][1], ends["y"][1]),
        stop_restitution=value["stops.restitution"],
        obstacle=float(_KINDS.index(value["obstacle.kind"])),
        obstacle_point=value["obstacle.center"],
        obstacle_normal=value["obstacle.normal"],
        obstacle_radius=value["obstacle.radius"],
        obstacle_friction=value["obstacle.friction"],
        obstacle_restitution=value["obstacle.restitution"],
        length=length,
        bias=value["bias"],
        impact_law=float(IMPACT_LAWS.index(law)),
        obstacles=obstacles(values),
    )


def _end(place: float) -> float:
    return math.copysign(math.inf, place) if abs(place) >= _FAR else place
