"""Obstacles by name: `obstacles` lists them, `obstacle.NAME.*` says what each of them is."""

import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from rbdyn_ros.schema import Parameter, direction, shown, unit_quaternion

if TYPE_CHECKING:  # the tables are read without Numba, so that --help is quick
    from rbdyn_ros.types import Array

_SIZES = {  # shape: (how many numbers, what they are)
    "box": (3, "its edges along x, y and z, [a, b, c]"),
    "cylinder": (2, "[radius, length]; its axis is z"),
    "sphere": (1, "[radius]"),
    "wall": (0, "no size, []: it is a half space"),
}
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,31}")
_LIST, _ONE = "obstacles", "obstacle."


def _names(names: tuple) -> tuple:
    """The names of obstacles, each once."""
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


def table(names: Iterable) -> tuple:
    """The parameters of the obstacles of these names."""
    return tuple(parameter for name in names for parameter in _table(f"{_ONE}{name}."))


def _table(group: str) -> tuple:
    def vector(name: str, default: tuple, unit: str, description: str, **more) -> Parameter:
        return Parameter(
            group + name, default, unit, description, "float_array", length=(len(default),), **more
        )

    return (
        Parameter(
            f"{group}shape",
            "sphere",
            "",
            "Sets the shape of the obstacle; a wall is a half space that the tip and the cart "
            "meet.",
            "string",
            choices=tuple(_SIZES),
        ),
        vector(
            "position",
            (0.0, 0.0, 0.0),
            "m",
            "Places the center of the obstacle, or a point of the wall, at the start.",
        ),
        vector(
            "orientation",
            (1.0, 0.0, 0.0, 0.0),
            "",
            "Turns the axes of a box or a cylinder to those of the world, "
            "by a unit quaternion w x y z.",
            refine=unit_quaternion,
        ),
        Parameter(
            f"{group}size",
            (),
            "m",
            "Sets the size of the obstacle: [radius] of a sphere, [a, b, c] of a box, "
            "[radius, length] of a cylinder.",
            "float_array",
            low=0.0,
            low_open=True,
            length=(0, 1, 2, 3),
        ),
        vector(
            "normal", (0.0, 0.0, 1.0), "", "Sets the direction out of a wall.", refine=direction
        ),
        vector(
            "velocity",
            (0.0, 0.0, 0.0),
            "m/s",
            "Moves the obstacle on from its position with a constant velocity; "
            "a reset puts it back.",
        ),
        Parameter(
            f"{group}friction", 0.0, "", "Sets the Coulomb friction mu of the obstacle.", low=0.0
        ),
        Parameter(
            f"{group}restitution",
            0.0,
            "",
            "Sets the Newton restitution e_n of the obstacle.",
            low=0.0,
            high=1.0,
        ),
    )


def find(name: str) -> Parameter | None:
    """The parameter obstacle.NAME.FIELD, whatever the NAME; None if it is none."""
    parts = name.split(".")
    if len(parts) != 3 or f"{parts[0]}." != _ONE or not _NAME.fullmatch(parts[1]):
        return None
    return next((p for p in _table(f"{_ONE}{parts[1]}.") if p.name == name), None)


def known(name: str) -> list:
    """The names of the parameters of the obstacle to which `name` seems to belong."""
    parts = name.split(".")
    if len(parts) < 2 or f"{parts[0]}." != _ONE:
        return []
    return [parameter.name for parameter in _table(f"{_ONE}{parts[1]}.")]


def require_listed(name: str, names: tuple, source: str) -> None:
    """ValueError if `name` is a parameter of an obstacle that is not among `names`."""
    if name.startswith(_ONE) and name.split(".")[1] not in names:
        which = name.split(".")[1]
        why = f"but obstacles, {shown(names)}, does not name {which}"
        raise ValueError(f"{source}: {name} is given, {why}; add it there")


def obstacles(values: Mapping) -> "Array":
    """The candidates of the obstacles, from checked values by name.

    ValueError for a size that the shape has not.
    """
    from rbdyn_ros.mechanics.pendulum.obstacles import Obstacle, candidates
    from rbdyn_ros.types import NO_OBSTACLES

    names = values.get(_LIST, ())
    if not names:
        return NO_OBSTACLES
    made = []
    for name in names:
        value = {key: values[f"{_ONE}{name}.{key}"] for key in Obstacle._fields if key != "name"}
        count, what = _SIZES[value["shape"]]
        if len(value["size"]) != count:
            size = shown(value["size"], "m")
            raise ValueError(f"{_ONE}{name}.size is {size}; a {value['shape']} has {what}")
        made.append(Obstacle(name, **value))
    return candidates(tuple(made))
