"""The contacts as part of the physics: a floor, the ends of the rails, an obstacle, and obstacles
by name: `obstacles` lists them, `obstacle.NAME.*` describes each of them.
"""

import math
import re
from collections.abc import Iterable, Mapping
from typing import Any

from rbdyn_ros import schema
from rbdyn_ros.pendulum.params import Obstacle, check_stops
from rbdyn_ros.schema import Parameter, format_value, record, setting
from rbdyn_ros.types import IMPACT_LAWS, NO_OBSTACLES, Array, Contacts

_FAR = 1e9  # [m] a rail that long has no end
STOPS = tuple(
    setting(
        f"contact.stops.{axis}_{end}",
        sign * _FAR,
        "m",
        f"Sets where the cart's rail ends towards {word}{axis}; {sign:g}e9 is no end.",
    )
    for axis in "xy"
    for end, sign, word in (("min", -1.0, "-"), ("max", 1.0, "+"))
)
CONTACT = (
    *schema.table(Contacts),
    *STOPS,
    setting(
        "contact.bias",
        0.1,
        "",
        "Has no effect: no step leaves a penetration. It is accepted for parameter files of "
        "former versions, with a note.",
        low=0.0,
        high=1.0,
    ),
    setting(
        "contact.newton_restitution",
        False,
        "",
        "Sets contact.impact_law to newton, as parameter files of former versions do.",
    ),
)


def contacts(values: Mapping[str, Any], length: float) -> Contacts:
    """Return what can be met, from checked values by name, by a rod of `length` [m].

    Raise ValueError for rails of no length.
    """
    ends = [_end(values[parameter.name]) for parameter in STOPS]
    law = values["contact.impact_law"]
    if values["contact.newton_restitution"]:
        if law not in (IMPACT_LAWS[0], "newton"):
            raise ValueError(
                f"contact.newton_restitution is true; contact.impact_law, {law!r}, must be "
                "'newton' or left out then"
            )
        values = {**values, "contact.impact_law": "newton"}
    low, high = tuple(ends[::2]), tuple(ends[1::2])
    met = record(Contacts, values, stop_low=low, stop_high=high, length=length)
    return check_stops(met)._replace(obstacles=obstacles(values))


def _end(place: float) -> float:
    return math.copysign(math.inf, place) if abs(place) >= _FAR else place


_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,31}")
_LIST, _ONE = "obstacles", "obstacle."


def _names(names: tuple) -> tuple:
    """Return the names of obstacles, each once. Raise ValueError for a wrong one."""
    for name in names:
        if not _NAME.fullmatch(name):
            raise ValueError(
                f"{name!r} is no name: it must begin with a letter, "
                "and have letters, digits and _ only, at most 32"
            )
        if names.count(name) > 1:
            raise ValueError(f"{name} is in it twice; each obstacle has a name of its own")
    return names


OBSTACLES = Parameter(
    _LIST,
    (),
    "",
    "Names the obstacles that the rod can meet; obstacle.NAME.* describes each of them.",
    "string_array",
    read_only=True,
    refine=_names,
)


def table(names: Iterable[str]) -> tuple[Parameter, ...]:
    """Return the parameters of the obstacles of these names."""
    return tuple(
        parameter for name in names for parameter in schema.table(Obstacle, f"{_ONE}{name}.")
    )


def find(name: str) -> Parameter | None:
    """Return the parameter obstacle.NAME.FIELD, whatever the NAME; None if it is none."""
    found = parameters_like(name).get(name)
    return found if found and _NAME.fullmatch(name.split(".")[1]) else None


def parameters_like(name: str) -> dict[str, Parameter]:
    """Return the parameters, by name, of the obstacle to which `name` seems to belong."""
    group, *rest = name.split(".")
    if not rest or f"{group}." != _ONE:
        return {}
    return schema.by_name(schema.table(Obstacle, f"{_ONE}{rest[0]}."))


def require_listed(name: str, names: tuple[str, ...], source: str) -> None:
    """Raise ValueError if `name` is a parameter of an obstacle that is not among `names`."""
    if name.startswith(_ONE) and name.split(".")[1] not in names:
        which = name.split(".")[1]
        why = f"but obstacles, {format_value(names)}, does not name {which}"
        raise ValueError(f"{source}: {name} is given, {why}; add it there")


def obstacles(values: Mapping[str, Any]) -> Array:
    """Return the candidates of the obstacles, from checked values by name.

    Raise ValueError for a size that the shape has not.
    """
    names = values.get(_LIST, ())
    if not names:
        return NO_OBSTACLES
    from rbdyn_ros.pendulum.obstacles import candidates

    made = (schema.record(Obstacle, values, f"{_ONE}{name}.", name=name) for name in names)
    return candidates(tuple(made))
