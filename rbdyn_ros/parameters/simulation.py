"""A simulation without nodes: the plant and what it can meet, where it starts, what acts on it,
and its integrator.
"""

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import numpy as np

from rbdyn_ros.integrators.choice import Choice
from rbdyn_ros.parameters.contacts import contacts
from rbdyn_ros.pendulum.params import Params
from rbdyn_ros.plant.faults.fault_options import Faults, Mismatch, actual
from rbdyn_ros.schema import format_value, record, setting, spec, table, unit_quaternion
from rbdyn_ros.types import Contacts, Input, State, Vector

if TYPE_CHECKING:  # the tables are read without Numba, so that --help is quick
    from rbdyn_ros.integrators.select import Integrator

_SINES = (
    "Pushes the cart along {} by a sum of sines a sin(w t + p), given as a flat list of a [N], "
    "w [rad/s], p [rad] for each."
)
_TRIPLES = range(0, 3001, 3)


# what the drive and the rails allow: the simulator enforces it, and laws are designed with it
_LIMITS = (
    setting("cart.force_limit", 20.0, "N", "Limits the norm of a commanded force.", low=0.0),
    setting(
        "cart.travel",
        2.0,
        "m",
        "Limits how far the cart may move from the origin along x and along y.",
        above=0.0,
    ),
)


class Start(NamedTuple):
    """The initial state of the plant."""

    orientation: Annotated[
        tuple[float, float, float, float],
        spec(
            "Sets the rod's initial orientation as a unit quaternion w x y z from body to world "
            "axes; upright is [1, 0, 0, 0].",
            refine=unit_quaternion,
        ),
    ] = (1.0, 0.0, 0.0, 0.0)
    angular_velocity: Annotated[
        Vector,
        spec("Sets the rod's initial angular velocity, in body axes.", "rad/s"),
    ] = (0.0, 0.0, 0.0)
    cart_position: Annotated[
        tuple[float, float], spec("Sets the cart's initial position, x and y.", "m")
    ] = (0.0, 0.0)
    cart_velocity: Annotated[
        tuple[float, float], spec("Sets the cart's initial velocity, along x and y.", "m/s")
    ] = (0.0, 0.0)


class Sines(NamedTuple):
    """The force that acts on the cart from the start, known in advance."""

    force_x: Annotated[tuple[float, ...], spec(_SINES.format("x"), length=_TRIPLES)] = ()
    force_y: Annotated[tuple[float, ...], spec(_SINES.format("y"), length=_TRIPLES)] = ()


PLANT = table(Params) + _LIMITS
INITIAL = table(Start, "initial.")
INPUT = table(Sines, "input.")
INTEGRATOR = (
    *table(Choice, "integrator."),
    setting(
        "integrator.split_at_impact",
        False,
        "",
        "Has no effect: every step splits at impacts. It is accepted for parameter files of "
        "former versions, with a note.",
        read_only=True,
    ),
)
# those that are accepted for one release more
_FORMER = {"integrator.split_at_impact": False, "contact.bias": 0.1}


def plant_params(values: Mapping[str, Any]) -> Params:
    """Return the physics of checked values by name; an empty center of mass or inertia is left to
    the geometry.

    A controller reads no contacts: it is designed for the pendulum that meets nothing.
    """
    met = contacts(values, values["rod.length"]) if "contact.impact_law" in values else Contacts()
    return record(Params, values, contacts=met)


def actual_plant(values: Mapping[str, Any]) -> Params:
    """Return the plant that is simulated: the declared one, but for `faults.mismatch`."""
    declared, mismatch = plant_params(values), record(Mismatch, values, "faults.mismatch.")
    return actual(declared, Faults(mismatch=mismatch)) if any(mismatch) else declared


def notes(values: Mapping[str, Any]) -> list[str]:
    """Return a sentence about each parameter that is set and has no effect any more."""
    return [
        f"{name} has no effect any more, and the next release will not know it; leave it out"
        for name, default in _FORMER.items()
        if values.get(name, default) != default
    ]


def initial_state(values: Mapping[str, Any]) -> State:
    """Return the state at t = 0 of checked values by name.

    Raise ValueError if a cart that is fixed has a velocity.
    """
    start = record(Start, values, "initial.")
    if values["cart.fixed"] and any(start.cart_velocity):
        raise ValueError(
            f"initial.cart_velocity is {format_value(start.cart_velocity, 'm/s')} and cart.fixed "
            "is true; a fixed cart has velocity [0, 0]: change one of them"
        )
    q, v = start.cart_position + start.orientation, start.cart_velocity + start.angular_velocity
    return State(0.0, np.array(q), np.array(v))


def require_within_travel(what: str, point: Sequence[float], travel: float) -> None:
    """Raise ValueError where the cart cannot go to the point (x, y, ...) [m] called `what`."""
    x, y = point[:2]
    if max(abs(x), abs(y)) > travel:
        raise ValueError(
            f"{what} is ({x:g}, {y:g}) m; it must be within cart.travel, {travel:g} m"
        )


def attitude(tilt: float, azimuth: float = 0.0) -> tuple[float, float, float, float]:
    """Return the quaternion (4,) wxyz of a rod that leans by `tilt` [rad] towards `azimuth` [rad],
    without spin.

    q = (cos tilt/2, -sin azimuth sin tilt/2, cos azimuth sin tilt/2, 0)
    """
    s = math.sin(0.5 * tilt)  # 0.0 - x is no -0.0
    return (math.cos(0.5 * tilt), 0.0 - math.sin(azimuth) * s, math.cos(azimuth) * s, 0.0)


def start_values(q: Sequence[float], v: Sequence[float]) -> dict[str, list[float]]:
    """Return the parameters of a start at q (6,), v (5,), by their names."""
    parts = {
        "cart_position": q[:2],
        "orientation": q[2:],
        "cart_velocity": v[:2],
        "angular_velocity": v[2:],
    }
    return {f"initial.{name}": list(part) for name, part in parts.items()}


def plant_input(values: Mapping[str, Any]) -> Input:
    """Return what acts on the plant: the sines, no held force, no disturbance."""
    sines = [
        (axis, *flat[i : i + 3])
        for axis, flat in enumerate(record(Sines, values, "input."))
        for i in range(0, len(flat), 3)
    ]
    return Input(np.zeros(2), np.array(sines, dtype=float).reshape(-1, 4), np.zeros(9))


def integrator(values: Mapping[str, Any]) -> "Integrator":
    """Return the stepper. Raise ValueError if it does not admit the composition."""
    from rbdyn_ros.integrators.select import select

    return select(**record(Choice, values, "integrator.")._asdict())
