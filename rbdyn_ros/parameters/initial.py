"""Where the plant starts."""

import math
from collections.abc import Mapping

import numpy as np

from rbdyn_ros.schema import Parameter, shown
from rbdyn_ros.types import State

_TOLERANCE = 1e-6  # of the norm of a quaternion that was written with seven digits


def _unit(quaternion: tuple) -> tuple:
    """q / |q| of a quaternion whose norm is 1 up to the digits with which it was written."""
    norm = math.hypot(*quaternion)
    if abs(norm - 1.0) > _TOLERANCE:
        advice = "divide it by its norm" if norm > 0.0 else "upright is [1, 0, 0, 0]"
        raise ValueError(f"its norm is {norm:.9g} and must be 1 within {_TOLERANCE:g}: {advice}")
    return tuple(component / norm for component in quaternion)


INITIAL = (
    Parameter(
        "initial.orientation",
        (1.0, 0.0, 0.0, 0.0),
        "",
        "Sets the rod's first orientation as a unit quaternion w x y z from body to world axes; "
        "upright is [1, 0, 0, 0].",
        "float_array",
        length=(4,),
        refine=_unit,
    ),
    Parameter(
        "initial.angular_velocity",
        (0.0, 0.0, 0.0),
        "rad/s",
        "Sets the rod's first angular velocity, in body axes.",
        "float_array",
        length=(3,),
    ),
    Parameter(
        "initial.cart_position",
        (0.0, 0.0),
        "m",
        "Sets the cart's first position, x and y.",
        "float_array",
        length=(2,),
    ),
    Parameter(
        "initial.cart_velocity",
        (0.0, 0.0),
        "m/s",
        "Sets the cart's first velocity, along x and y.",
        "float_array",
        length=(2,),
    ),
)


def initial_state(values: Mapping) -> State:
    """The state at t = 0 from checked values by name.

    ValueError if a cart that is fixed has a velocity.
    """
    if values["cart.fixed"] and any(values["initial.cart_velocity"]):
        velocity = shown(values["initial.cart_velocity"], "m/s")
        raise ValueError(
            f"initial.cart_velocity is {velocity} and cart.fixed is true; "
            "a fixed cart has velocity [0, 0]: change one of them"
        )
    q = values["initial.cart_position"] + values["initial.orientation"]
    v = values["initial.cart_velocity"] + values["initial.angular_velocity"]
    return State(0.0, np.array(q), np.array(v))
