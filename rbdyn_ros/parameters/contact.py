"""What the pendulum can meet: a floor, the ends of the rails, an obstacle. Part of the physics."""

import math
from collections.abc import Mapping
from typing import Any

from rbdyn_ros.schema import record, setting, table
from rbdyn_ros.types import IMPACT_LAWS, Contacts

_FAR = 1e9  # [m] a rail that long has no end
STOPS = tuple(
    setting(
        f"contact.stops.{axis}_{end}",
        sign * _FAR,
        "m",
        "Sets where the cart's rail ends; 1e9 is no end.",
    )
    for axis in "xy"
    for end, sign in (("min", -1.0), ("max", 1.0))
)
CONTACT = (
    *table(Contacts),
    *STOPS,
    setting(
        "contact.newton_restitution",
        False,
        "",
        "Sets contact.impact_law to newton, as parameter files of former versions do.",
    ),
)


def contacts(values: Mapping[str, Any], length: float) -> Contacts:
    """Return what can be met, from checked values by name, by a rod of `length` [m].

    ValueError for rails of no length.
    """
    from rbdyn_ros.parameters.obstacles import obstacles

    ends = [_end(values[parameter.name]) for parameter in STOPS]
    for axis, low, high in zip("xy", ends[::2], ends[1::2], strict=True):
        if not low < high:
            raise ValueError(
                f"contact.stops.{axis}_min is {low:g} m; it must be < contact.stops.{axis}_max, "
                f"{high:g} m"
            )
    law = values["contact.impact_law"]
    if values["contact.newton_restitution"]:
        if law not in (IMPACT_LAWS[0], "newton"):
            raise ValueError(
                f"contact.newton_restitution is true; contact.impact_law, {law!r}, must be "
                "'newton' or left out then"
            )
        values = {**values, "contact.impact_law": "newton"}
    return record(
        Contacts,
        values,
        stop_low=tuple(ends[::2]),
        stop_high=tuple(ends[1::2]),
        length=length,
        obstacles=obstacles(values),
    )


def _end(place: float) -> float:
    return math.copysign(math.inf, place) if abs(place) >= _FAR else place
