"""The force that acts on the cart from the start, known in advance: sums of sines."""

from collections.abc import Mapping

import numpy as np

from rbdyn_ros.schema import Parameter
from rbdyn_ros.types import Input

_SINES = (
    "Pushes the cart along {} by a sum of sines a sin(w t + p), given as a flat list of a [N], "
    "w [rad/s], p [rad] for each."
)
_TRIPLES = dict(kind="float_array", length=range(0, 3001, 3))

INPUT = (
    Parameter("input.force_x", (), "", _SINES.format("x"), **_TRIPLES),
    Parameter("input.force_y", (), "", _SINES.format("y"), **_TRIPLES),
)


def plant_input(values: Mapping) -> Input:
    """What acts on the plant from checked values by name.

    The sines, no held force, no disturbance.
    """
    axes = (values["input.force_x"], values["input.force_y"])
    sines = [
        (axis, *flat[i : i + 3]) for axis, flat in enumerate(axes) for i in range(0, len(flat), 3)
    ]
    return Input(np.zeros(2), np.array(sines, dtype=float).reshape(-1, 4), np.zeros(9))
