"""The shape of a pendulum and of what it can meet, from the same numbers as its physics."""

import math

import numpy as np

from rbdyn_ros.geometry import conversion
from rbdyn_ros.parameters.simulation import attitude
from rbdyn_ros.pendulum import obstacles, world
from rbdyn_ros.pendulum.params import Params
from rbdyn_ros.types import Array, Contacts, Vector
from rbdyn_ros.view.source import GRAVITY, UPRIGHT, Quaternion, Shape, Solid

STOP_HEIGHT, STOP_WIDTH = 0.3, 0.02  # [m] of a drawn rail end
_LONGEST = 8.0  # [m] of a rail end whose other axis has none


def shape(params: Params, travel: float, force_limit: float, elapsed: float = 0.0) -> Shape:
    """Return the drawn shape of `params` whose obstacles have moved for `elapsed` [s]."""
    center = params.rod_center_of_mass
    return Shape(
        params.rod_length,
        params.rod_radius,
        params.rod_length / 2.0 if center is None else center,
        0.0 if params.cart_fixed else travel,
        params.rod_mass * (params.gravity or GRAVITY),
        force_limit,
        solids(params.contacts, elapsed),
    )


def solids(contacts: Contacts, elapsed: float) -> tuple[Solid, ...]:
    """Return what the pendulum can meet, `elapsed` [s] after the obstacles left their places."""
    found = []
    if contacts.floor:
        found.append(Solid("floor", "plane", (0.0, 0.0, contacts.floor_height)))
    found += _rail_ends(contacts)
    point = _vector(contacts.obstacle_point)
    if contacts.obstacle == world.SPHERE:
        found.append(Solid("obstacle", "sphere", point, size=(contacts.obstacle_radius, 0.0, 0.0)))
    elif contacts.obstacle == world.HALF_SPACE:
        found.append(Solid("obstacle", "plane", point, rotation_to(contacts.obstacle_normal)))
    rows: dict[str, Solid] = {}  # an obstacle may have two rows, of which the first is shown
    for row in contacts.obstacles:
        if (name := str(row["name"])) not in rows:
            rows[name] = _obstacle(row, elapsed)
    return (*found, *rows.values())


def rotation_to(normal) -> Quaternion:
    """Return the shortest rotation (wxyz) that turns the vertical to a unit vector (3,)."""
    x, y, z = _vector(normal)
    return attitude(math.atan2(math.hypot(x, y), z), math.atan2(y, x))


def _rail_ends(contacts: Contacts) -> list[Solid]:
    """Return a bar at each end of a rail, as long as the other rail is."""
    found = []
    for axis, name in enumerate("xy"):
        other = 1 - axis
        low, high = contacts.stop_low[other], contacts.stop_high[other]
        is_bounded = math.isfinite(low) and math.isfinite(high)
        middle, length = (0.5 * (low + high), high - low) if is_bounded else (0.0, _LONGEST)
        for end, sign, at in (
            ("min", -1.0, contacts.stop_low[axis]),
            ("max", 1.0, contacts.stop_high[axis]),
        ):
            if math.isfinite(at):
                place, size = [0.0, 0.0, 0.0], [STOP_WIDTH, STOP_WIDTH, STOP_HEIGHT]
                place[axis], place[other] = at + sign * 0.5 * STOP_WIDTH, middle
                size[other] = length
                found.append(
                    Solid(f"stops.{name}_{end}", "box", _vector(place), size=_vector(size))
                )
    return found


def _obstacle(row: Array, elapsed: float) -> Solid:
    """Return the solid of a row of `Contacts.obstacles`."""
    name, kind, size = f"obstacle.{row['name']}", int(row["kind"]), row["size"].tolist()
    place = _vector(obstacles.center(row, elapsed))
    if kind in (obstacles.WALL_TIP, obstacles.WALL_CART):
        return Solid(name, "plane", place, rotation_to(row["axes"][0]))
    if kind == obstacles.SPHERE:
        return Solid(name, "sphere", place, UPRIGHT, (size[0], 0.0, 0.0))
    turn = conversion.convert(np.ascontiguousarray(row["axes"].T), "matrix", "quaternion")
    w, x, y, z = map(float, turn)
    if kind in (obstacles.CYLINDER, obstacles.CYLINDER_TIP):
        return Solid(name, "cylinder", place, (w, x, y, z), (size[0], 2.0 * size[2], 0.0))
    return Solid(name, "box", place, (w, x, y, z), tuple(2.0 * half for half in size))


def _vector(components) -> Vector:
    x, y, z = map(float, components)
    return x, y, z
