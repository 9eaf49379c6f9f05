"""Linear-quadratic regulator on the tangent plane of the sphere.

Per axis, with the log-map tilt th of `mechanics.pendulum.tilt` and e = (x - reference, x', th, th'),

    u = -K e,   K minimises  sum_k  h (e.Q e + R u^2)   subject to   e_{k+1} = A e_k + B u_k,

where A, B are those of the stepper itself over the control period h (`control.step_linearisation`), and Q is diagonal.
The law is linear in th, not in the projection sin th, which is too weak beyond 30 degrees.

Two norms are cut at the force limit. That of (u_x, u_y): equally strong in every direction, where a cut per axis is
not. And before it that of the first term K_1 (x - reference), so that a far reference cannot outvote the tilt and topple
the rod; it costs nothing near the reference. The law remembers nothing.
"""

from typing import NamedTuple

import numpy as np

from rbdyn_ros.control.admission import admitted
from rbdyn_ros.control.feedback import NEEDS, feedback, regulator
from rbdyn_ros.control.options import checked
from rbdyn_ros.schema import Parameter
from rbdyn_ros.types import Array, State

KINDS = ("balance",)  # what it is meant for, in the words of evaluation.suite


class Options(NamedTuple):
    """The weights, and what the plant allows."""

    position_weight: float = 40.0  # [1/m^2]
    velocity_weight: float = 10.0  # [s^2/m^2]
    tilt_weight: float = 100.0  # [1/rad^2]
    tilt_rate_weight: float = 10.0  # [s^2/rad^2]
    force_weight: float = 0.1  # [1/N^2]
    period: float = 0.002  # h [s]
    force_limit: float = 20.0  # [N]


def _weight(option: str, unit: str, of: str, low_open: bool = False) -> Parameter:
    default = Options._field_defaults[option]
    return Parameter(
        f"lqr.{option}",
        default,
        unit,
        f"Sets the cost of the square of {of}.",
        low=0.0,
        low_open=low_open,
    )


PARAMETERS = (
    _weight("position_weight", "1/m^2", "the cart's distance from the reference", low_open=True),
    _weight("velocity_weight", "s^2/m^2", "the cart's velocity"),
    _weight("tilt_weight", "1/rad^2", "the tilt"),
    _weight("tilt_rate_weight", "s^2/rad^2", "the tilt's rate"),
    _weight("force_weight", "1/N^2", "the force", low_open=True),
)


class Lqr:
    """u = -K e, its norm cut at the limit."""

    def __init__(self, gains: Array, force_limit: float):
        self.gains = gains  # K (4,) [N/m, N s/m, N/rad, N s/rad]
        self.force_limit = force_limit  # [N]

    def command(self, t: float, state: State, reference: Array) -> Array:
        """Force on the cart (2,) [N, world].

        ValueError names what is not finite, of another shape or not unit.
        """
        return np.array(feedback(*admitted(state, reference), self.gains, self.force_limit))

    def reset(self) -> None:
        """Nothing is remembered."""


def design(model, params, options: Options) -> Lqr:
    """The regulator for the plant that `model` builds from `params`.

    ValueError if an option is out of range, or if no gains stabilise: the cart is fixed, the rod has no lever.
    """
    *weights, force_weight, h, force_limit = checked(options, PARAMETERS)
    try:
        K, _ = regulator(model.build(params), weights, force_weight, h)
    except ValueError as error:
        raise ValueError(f"controller lqr: {error}; {NEEDS}") from error
    return Lqr(K, force_limit)
